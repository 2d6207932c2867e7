"""From a sketch to a page: `IAD/Sketch2Code-v0`, its renderer and its scorer.

`env` is the environment. `tab` and `renderer` compute boxes from HTML in a browser. `layout` scores boxes without a
browser. `visual` has the metrics of Design2Code. `sketcher` draws sketches of pages that have none.
"""
