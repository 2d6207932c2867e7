"""Writes `world.json`: 6 cities with 40 restaurants each; the same bytes every time.

`python data/booking/make_world.py` writes beside itself, `--output DIR` elsewhere, `--check` compares and exits with 1
where the file differs. Words are in vocabulary.toml.
"""

import argparse
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "webshop"))  # where the drawing is that these scripts use, too

from drawing import Draw  # noqa: E402

SEED = 20260302
PER_CITY = 40
N_WITH_HEAD = 14
"""Restaurants of a city whose names begin with the same word: a search for it has two pages."""
N_NEAR = 8
"""Pairs of near names in a city: "Lanterna" and "Lanterna Bar"."""
HOURS = ((12 * 60, 22 * 60), (17 * 60, 22 * 60 + 30), (11 * 60 + 30, 21 * 60 + 30), (18 * 60, 23 * 60))
SEATINGS = (("indoor", "outdoor"), ("indoor", "bar"), ("indoor", "outdoor", "window"), ("indoor", "window", "booth"))
VOCABULARY: dict[str, Any] = tomllib.loads((HERE / "vocabulary.toml").read_text(encoding="utf-8"))


def slug_of(name: str) -> str:
    """Return a name as a part of an address."""
    return "-".join(re.findall(r"[a-z0-9]+", name.lower()))


def names_in(city: str) -> list[str]:
    """Return the names of a city's restaurants, each once."""
    draw = Draw(SEED, "names", city)
    seconds = draw.some(VOCABULARY["seconds"], len(VOCABULARY["seconds"]))
    frequent, *others = draw.some(VOCABULARY["heads"], 3)
    names = [f"{frequent} {one}" for one in seconds[:N_WITH_HEAD]]
    near = seconds[N_WITH_HEAD : N_WITH_HEAD + N_NEAR]
    names += near
    names += [draw.one(VOCABULARY["forms"][1:]).format(one) for one in near]
    for one in seconds[N_WITH_HEAD + N_NEAR :]:
        form = f"{draw.one(others)} {{}}" if draw.chance(0.5) else draw.one(VOCABULARY["forms"])
        names.append(form.format(one))
    return names[:PER_CITY]


def restaurant(name: str, city: str) -> dict[str, Any]:
    """Return a restaurant's record."""
    slug = f"{slug_of(name)}-{slug_of(city)}"
    draw = Draw(SEED, "restaurant", slug)
    cuisine = draw.one(list(VOCABULARY["cuisines"]))
    closed = draw.integer((0, 6)) if draw.chance(0.3) else None
    hours = draw.one(HOURS)
    return {
        "slug": slug,
        "name": name,
        "city": slug_of(city),
        "cuisine": cuisine,
        "area": draw.one(VOCABULARY["areas"]),
        "street": f"{draw.integer((1, 90))} {draw.one(VOCABULARY['streets'])}",
        "about": VOCABULARY["cuisines"][cuisine],
        "price": draw.integer((1, 4)),
        "rating": round(draw.between(3.1, 4.9), 1),
        "hours": [None if day == closed else list(hours) for day in range(7)],
        "interval": 15 if draw.chance(0.5) else 30,
        "seatings": list(draw.one(SEATINGS)),
    }


def world() -> str:
    """Return the file's text."""
    cities = VOCABULARY["cities"]
    restaurants = [restaurant(name, city) for city in cities for name in names_in(city)]
    head = {"seed": SEED, "cities": [{"slug": slug_of(name), "name": name} for name in cities]}
    lines = ",\n".join(json.dumps(one, ensure_ascii=False) for one in restaurants)
    return json.dumps(head, ensure_ascii=False)[:-1] + f', "restaurants": [\n{lines}\n]}}\n'


def main() -> int:
    """Write or compare the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args()
    path = given.output / "world.json"
    if given.check:
        same = path.read_text(encoding="utf-8") == world()
        print(f"{path.name}: {'the same' if same else 'differs'}")
        return 0 if same else 1
    path.write_text(world(), encoding="utf-8")
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
