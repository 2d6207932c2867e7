"""Writes `tasks.jsonl`; the same bytes every time.

`python data/booking/make_tasks.py` writes beside itself, `--output DIR` elsewhere, `--check` compares and exits with 1
where the file differs. `--kind contested --tasks 100 --seed 7 --output DIR` writes fresh tasks with this complication,
and the world beside them.

A task is drawn anew unless its gold scores 1 with two actions to spare, and unless a path that ignores what makes it
hard fails.
"""

import argparse
import json
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "webshop"))  # where the drawing is that these scripts use, too
sys.path.append(str(HERE.parents[1]))

from drawing import Draw  # noqa: E402
from plain_paths import faults  # noqa: E402
from wording import Wanted, answers_of, instruction_of  # noqa: E402

from iad_envs.booking.engine import APART, BookingEngine  # noqa: E402
from iad_envs.booking.pages import PAGE_SIZE  # noqa: E402
from iad_envs.booking.scoring import gold_actions  # noqa: E402
from iad_envs.booking.state import Guest, Reservation, Rival, SiteTable  # noqa: E402
from iad_envs.booking.tasks import FILE, KINDS, BookingTask  # noqa: E402
from iad_envs.booking.world import FILE as WORLD_FILE  # noqa: E402
from iad_envs.booking.world import BookingWorld, Restaurant, load_world  # noqa: E402

SEED = 20261122
SPLITS = {"train": 600, "dev": 100, "test": 200}
SHARES = {"easy": 0.35, "medium": 0.35, "hard": 0.3}
PLACES = {"test": (0, 1, 2, 3), "dev": (4, 5), "train": (6, 7, 8, 9, 10, 11)}
"""Of each dozen restaurants, those of a split."""
RELATIVE_DAYS = (1, 2, 3, 4, 5, *range(7, 14), 14, 21)
WITHIN = 120
"""Minutes within which the nearest time is right."""
FIRST_RIVAL, LAST_RIVAL = 10, 20
SPARE = 3
"""A rival takes the wanted table so many actions after the shortest way to it has held it."""
ALONE = frozenset(
    {
        frozenset(pair)
        for pair in (
            ("hidden_seating", "given_seating"),
            ("second_page", "same_name"),
            ("move", "contested"),
            ("move", "nearest"),
        )
    }
)
"""Complications that don't go together."""
COMBINATIONS = tuple(
    kinds
    for n in (2, 3)
    for kinds in combinations(KINDS, n)
    if not any(frozenset(pair) in ALONE for pair in combinations(kinds, 2))
)
PEOPLE: dict[str, Any] = tomllib.loads((HERE / "vocabulary.toml").read_text(encoding="utf-8"))["people"]


class Places(NamedTuple):
    """The restaurants of a split, by what they are good for."""

    plain: Sequence[Restaurant]
    same_name: Sequence[Restaurant]
    second_page: Sequence[Restaurant]


def places_of(world: BookingWorld, split: str) -> Places:
    """Return the restaurants of a split."""
    every = Draw(SEED, "splits").some(sorted(world.restaurants), len(world.restaurants))
    late = [one for one in every if _rank(world, world.restaurants[one]) >= PAGE_SIZE]
    early = [one for one in every if one not in set(late)]
    own = [
        world.restaurants[slug]
        for slugs in (late, early)
        for place, slug in enumerate(slugs)
        if place % 12 in PLACES[split]
    ]
    plain = [one for one in own if _rank(world, one) < PAGE_SIZE]
    return Places(
        plain,
        [one for one in plain if _has_namesake(world, one)],
        [one for one in own if _rank(world, one) >= PAGE_SIZE],
    )


def _rank(world: BookingWorld, one: Restaurant) -> int:
    """Return a restaurant's place among the results of its name."""
    return world.search(one.name, one.city).index(one)


def _has_namesake(world: BookingWorld, one: Restaurant) -> bool:
    """Whether a restaurant with a near name is listed before."""
    words = set(one.name.lower().split())
    before = world.search(one.name, one.city)[: _rank(world, one)]
    return any(words < set(other.name.lower().split()) or words > set(other.name.lower().split()) for other in before)


def kinds_of(difficulty: str, number: int, draw: Draw) -> tuple[str, ...]:
    """Return the complications of the n-th task of a difficulty."""
    if difficulty == "easy":
        return ("given_seating",) if number % 7 in (1, 3, 5, 6) else ()
    if difficulty == "medium":
        others = [kind for kind in KINDS if kind != "given_seating"]
        return (others[number % len(others)],)
    first = KINDS[number % len(KINDS)]
    return draw.one([kinds for kinds in COMBINATIONS if first in kinds])


def drawn_task(engine: BookingEngine, places: Places, kinds: Sequence[str], draw: Draw, *, name: str) -> BookingTask:
    """Draw a task. It may be unfit."""
    world, split = engine.world, name.partition("-")[0]
    fit = places.same_name if "same_name" in kinds else places.second_page if "second_page" in kinds else places.plain
    where = draw.one(fit)
    day = draw.one(RELATIVE_DAYS) if "relative_date" in kinds else draw.integer((3, 110))
    party = draw.one((1, 2, 2, 3, 4, 4, 5, 6, 7, 8))
    evening = [17 * 60 + 30 + 15 * place for place in range(14)] + [12 * 60 + 30 * place for place in range(4)]
    minute = draw.one([minute for minute in evening if minute % where.interval == 0])
    seating = draw.one(where.seatings)
    is_seated = bool({"hidden_seating", "given_seating"} & set(kinds))
    hidden = seating if "hidden_seating" in kinds else ""
    user = _person(split, draw)
    old = minute + draw.one((-90, -60, 60, 90)) if "move" in kinds else -1
    said = seating if "given_seating" in kinds else ""
    says_nearest = "nearest" in kinds or draw.chance(0.3)
    is_relative = "relative_date" in kinds
    wanted = Wanted(
        where.name,
        world.cities[where.city],
        day,
        minute,
        party,
        said,
        user,
        is_relative=is_relative,
        says_nearest=says_nearest,
        old=old,
    )
    free = world.tables(where.slug, day, party)
    elsewhere = [city for city in world.cities if city != where.city]
    own = Reservation(1, SiteTable(where.slug, day, old, draw.one(where.seatings)), party, user) if old >= 0 else None
    task = BookingTask(
        task_id=name,
        split=split,
        difficulty="",
        instruction=instruction_of(wanted, draw),
        kinds=tuple(kinds),
        city=draw.one(elsewhere) if "other_city" in kinds else where.city,
        restaurant=where.slug,
        day=day,
        minute=minute,
        party=party,
        seating=seating if is_seated else "",
        user=user,
        gold_slots=nearest(free, minute),
        answers=answers_of(wanted, hidden),
        own=own,
    )
    return task._replace(rivals=tuple(_rivals(engine, task, draw)))


def nearest(free: Any, minute: int) -> tuple[int, ...]:
    """Return the free times that are nearest to a time, at most two hours off: one, or two that are equally near."""
    near = [one for one in free if abs(one - minute) <= WITHIN]
    least = min((abs(one - minute) for one in near), default=0)
    return tuple(one for one in near if abs(one - minute) == least)


def _rivals(engine: BookingEngine, task: BookingTask, draw: Draw) -> Iterator[Rival]:
    """Yield who else wants tables there."""
    if not task.gold_slots or not fits(engine, task):
        return
    if {"contested", "move"} & set(task.kinds):
        actions = gold_actions(engine, task)
        held = next(place for place, action in enumerate(actions, start=1) if action.startswith("CLICK [slot-"))
        step = max(FIRST_RIVAL, held + SPARE)
        for minute in task.gold_slots:
            yield Rival(SiteTable(task.restaurant, task.day, minute), step)
    elif draw.chance(0.3):
        others = [
            one for one in engine.world.tables(task.restaurant, task.day, task.party) if one not in task.gold_slots
        ]
        if others:
            yield Rival(SiteTable(task.restaurant, task.day, draw.one(others)), draw.integer((FIRST_RIVAL, LAST_RIVAL)))


def fits(engine: BookingEngine, task: BookingTask) -> bool:
    """Whether the world's tables are as the complications say."""
    free = engine.world.tables(task.restaurant, task.day, task.party)
    is_asked_free = task.minute in free
    if not task.gold_slots or is_asked_free == ("nearest" in task.kinds):
        return False
    if task.seating and not all(task.seating in free[one] and len(free[one]) > 1 for one in task.gold_slots):
        return False
    if task.own is None:
        return True
    hours = engine.world.restaurants[task.restaurant].hours
    old = task.own.table.minute
    opened = hours[(task.day + 0) % 7]  # today is a Monday
    return opened is not None and opened[0] <= old <= opened[1] and abs(old - task.minute) < APART


def make_tasks(engine: BookingEngine, split: str, n: int) -> Iterator[BookingTask]:
    """Yield the tasks of a split."""
    places = places_of(engine.world, split)
    number = 0
    for difficulty, share in SHARES.items():
        for place in range(round(share * n)):
            kinds = kinds_of(difficulty, place, Draw(SEED, split, "kinds", number))
            task = accepted(engine, places, kinds, (SEED, split, number), name=f"{split}-{number:03d}")
            yield task._replace(difficulty=difficulty)
            number += 1


def make_fresh(engine: BookingEngine, kind: str, n: int, seed: int) -> Iterator[BookingTask]:
    """Yield test tasks with one complication from another seed."""
    places = places_of(engine.world, "test")
    for number in range(n):
        task = accepted(engine, places, (kind,), ("fresh", seed, number), name=f"test-{kind}-{number:03d}")
        yield task._replace(difficulty="medium")


def accepted(
    engine: BookingEngine, places: Places, kinds: Sequence[str], key: tuple[object, ...], *, name: str
) -> BookingTask:
    """Return the first drawn task that is as it should be."""
    for attempt in range(2000):
        task = drawn_task(engine, places, kinds, Draw(*key, attempt), name=name)
        if fits(engine, task) and not faults(engine, task):
            return task
    raise SystemExit(f"no task with {', '.join(kinds)} was found for {name}; change the seed or the world")


def _person(split: str, draw: Draw) -> Guest:
    first, last = draw.one(PEOPLE[f"first_{split}"]), draw.one(PEOPLE[f"last_{split}"])
    phone = f"555-01{draw.integer((0, 99)):02d}"
    return Guest(first, last, phone, f"{first}.{last}@example.org".lower())


def as_text(tasks: Sequence[BookingTask]) -> str:
    """Return the lines of a file."""
    return "".join(f"{json.dumps(task.as_record(), ensure_ascii=False)}\n" for task in tasks)


def main() -> int:
    """Write or compare the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=HERE)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--tasks", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    engine = BookingEngine(load_world(HERE))
    path = given.output / FILE
    if given.kind:
        given.output.mkdir(parents=True, exist_ok=True)
        shutil.copy(HERE / WORLD_FILE, given.output)
        path.write_text(as_text(list(make_fresh(engine, given.kind, given.tasks, given.seed))), encoding="utf-8")
        print(f"wrote {path}")
        return 0
    text = as_text([task for split, n in SPLITS.items() for task in make_tasks(engine, split, n)])
    if given.check:
        same = path.read_text(encoding="utf-8") == text
        print(f"{path.name}: {'the same' if same else 'differs'}")
        return 0 if same else 1
    path.write_text(text, encoding="utf-8")
    print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
