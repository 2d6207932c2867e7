"""From a sketch to a page: `IAD/Sketch2Code-v0`, its renderer and its scorer.

`layout` scores boxes and needs no browser; `devtools`, `tab` and `renderer` make boxes of HTML; `visual` has the
metrics of Design2Code; `sketcher` draws sketches of pages that have none; `env` is the environment.
"""
