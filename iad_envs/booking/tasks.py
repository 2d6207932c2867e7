"""Tasks: what the user wants, what decides about it, and what stands in the way. They hold the gold."""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from iad_envs.booking.moments import clock, iso, read_day, read_time
from iad_envs.booking.state import Guest, Reservation, Rival, Scene, SiteTable
from iad_envs.errors import DataNotFound

FILE = "tasks.jsonl"
KINDS = (
    "other_city",
    "nearest",
    "hidden_seating",
    "given_seating",
    "same_name",
    "relative_date",
    "second_page",
    "contested",
    "move",
)
"""Complications of a task."""


class BookingTask(NamedTuple):
    """A task, with gold.

    Attributes:
        task_id, split, difficulty, instruction: As in every environment.
        kinds: Its complications, of `KINDS`.
        city: Slug of the city that the site is set to at the start.
        restaurant: Slug of the wanted restaurant.
        day, minute, party: When, and for how many.
        seating: The wanted kind of seating, "" if any is right.
        user: The user's details.
        gold_slots: Times in minutes of which each is right.
        answers: What the user answers, by topic.
        rivals: Tables that others take.
        own: The reservation to move, or None.
    """

    task_id: str
    split: str
    difficulty: str
    instruction: str
    kinds: tuple[str, ...]
    city: str
    restaurant: str
    day: int
    minute: int
    party: int
    seating: str
    user: Guest
    gold_slots: tuple[int, ...]
    answers: Mapping[str, str]
    rivals: tuple[Rival, ...] = ()
    own: Reservation | None = None

    @property
    def scene(self) -> Scene:
        """What the engine needs to know: no gold."""
        return Scene(self.instruction, self.rivals)

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """The user's reservations at the start."""
        return () if self.own is None else (self.own,)

    def as_record(self) -> dict[str, Any]:
        """Return the line of `tasks.jsonl`."""
        return {
            "id": self.task_id,
            "split": self.split,
            "kinds": list(self.kinds),
            "difficulty": self.difficulty,
            "instruction": self.instruction,
            "city": self.city,
            "restaurant": self.restaurant,
            "day": iso(self.day),
            "time": clock(self.minute),
            "party": self.party,
            "seating": self.seating,
            "user": {name: value for name, value in self.user._asdict().items() if name != "note"},
            "gold_slots": [clock(minute) for minute in self.gold_slots],
            "answers": dict(self.answers),
            "rivals": [{**_table_record(one.table), "step": one.step} for one in self.rivals],
            "own": None if self.own is None else {**_table_record(self.own.table), "party": self.own.party},
        }


def task_of(record: Mapping[str, Any]) -> BookingTask:
    """Return the task of a line of `tasks.jsonl`.

    Raises:
        KeyError, ValueError, TypeError: It is none.
    """
    user = Guest(**record["user"])
    own = record["own"]
    return BookingTask(
        task_id=record["id"],
        split=record["split"],
        difficulty=record["difficulty"],
        instruction=record["instruction"],
        kinds=tuple(record["kinds"]),
        city=record["city"],
        restaurant=record["restaurant"],
        day=_day(record["day"]),
        minute=_minute(record["time"]),
        party=record["party"],
        seating=record["seating"],
        user=user,
        gold_slots=tuple(map(_minute, record["gold_slots"])),
        answers=MappingProxyType(record["answers"]),
        rivals=tuple(Rival(_table(one), one["step"]) for one in record["rivals"]),
        own=None if own is None else Reservation(1, _table(own), own["party"], user),
    )


@lru_cache(maxsize=8)
def load_tasks(folder: Path) -> Mapping[str, BookingTask]:
    """Load a data folder's tasks once per process.

    Raises:
        DataNotFound: There is no such file, or a line is no task.
    """
    path = folder / FILE
    found: dict[str, BookingTask] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise DataNotFound(f"expected {path}, found none; check data_dir") from None
    for number, line in enumerate(lines, start=1):
        try:
            task = task_of(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataNotFound(f"expected line {number} of {path} to be a task, got {error!r:.200}") from error
        found[task.task_id] = task
    return MappingProxyType(found)


def _table(record: Mapping[str, Any]) -> SiteTable:
    return SiteTable(record["restaurant"], _day(record["day"]), _minute(record["time"]), record["seating"])


def _table_record(table: SiteTable) -> dict[str, Any]:
    return {
        "restaurant": table.slug,
        "day": iso(table.day),
        "time": clock(table.minute),
        "seating": table.seating,
    }


def _day(text: str) -> int:
    found = read_day(text)
    if found is None:
        raise ValueError(f"expected a date such as 2026-06-17, got {text!r}")
    return found


def _minute(text: str) -> int:
    found = read_time(text)
    if found is None:
        raise ValueError(f"expected a time such as 19:00, got {text!r}")
    return found
