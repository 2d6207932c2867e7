"""Writes the bundled pages of Sketch2Code; the same bytes every time, with the standard library only.

`python data/sketch2code/make_pages.py` writes them beside itself, `--output DIR` elsewhere, `--check` compares and
exits with 1 where a file differs. Words are in worlds/*.toml, parts in parts.py, kinds of page in selling.py and
reading.py. Sketches are drawn afterwards, by draw_sketches.py.
"""

import argparse
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import reading
import selling
from parts import Site, document

HERE = Path(__file__).resolve().parent
SEED = 5
Kind = Callable[[Site, int], tuple[str, str]]

PAGES: Mapping[Kind, tuple[str, str, str]] = {
    reading.article: ("library", "garden", "bicycles"),
    reading.blog: ("bakery", "hiking", "ceramics"),
    reading.front: ("hiking", "library", "garden"),
    reading.gallery: ("ceramics", "hiking", "garden"),
    reading.guide: ("bakery", "bicycles", "garden"),
    reading.profile: ("hiking", "ceramics", "library"),
    reading.questions: ("bicycles", "garden", "ceramics"),
    reading.search: ("library", "hiking", "garden"),
    reading.team: ("bakery", "bicycles", "hiking"),
    reading.timetable: ("library", "bakery", "hiking"),
    selling.contact: ("garden", "bakery", "library"),
    selling.dashboard: ("bakery", "library", "bicycles"),
    selling.landing: ("bicycles", "bakery", "garden"),
    selling.pricing: ("library", "hiking", "ceramics"),
    selling.product: ("ceramics", "bakery", "bicycles"),
    selling.shop: ("bicycles", "ceramics", "garden"),
    selling.signup: ("library", "hiking", "ceramics"),
}
"""Kind of page -> whose page it is, in each of its three layouts."""


def make_pages() -> dict[str, str]:
    """File name -> page."""
    worlds = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in (HERE / "worlds").glob("*.toml")}
    return {
        f"{kind.__name__}-{world}.html": make_page(kind, variant, worlds[world])
        for kind, names in PAGES.items()
        for variant, world in enumerate(names)
    }


def make_page(kind: Kind, variant: int, world: dict[str, Any]) -> str:
    """Return a page of a kind, in one of its layouts."""
    rng = Random(f"{SEED} {kind.__name__} {variant}")
    site = Site(world, rng, gap=rng.choice((24, 32, 40)))
    title, body = kind(site, variant)
    return document(site, title, body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare the pages; the exit status is 1 if a compared one differs."""
    parser = argparse.ArgumentParser(description="Write the bundled pages of Sketch2Code.")
    parser.add_argument("--output", type=Path, default=HERE, help="folder to write to or compare with")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    options = parser.parse_args(arguments)
    differing = []
    for name, page in make_pages().items():
        path, content = options.output / name, page.encode("utf-8")
        if not options.check:
            path.write_bytes(content)
        elif not path.exists() or path.read_bytes() != content:
            differing.append(name)
    if differing:
        print(f"differs from what the script makes: {', '.join(differing)}; run it without --check")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
