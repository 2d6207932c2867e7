"""What the rows of several databases are made with: people, days, and text as typed by hand."""

import tomllib
from datetime import date, datetime, timedelta
from pathlib import Path

from drawing import Draw

PEOPLE = tomllib.loads((Path(__file__).resolve().parent / "people.toml").read_text(encoding="utf-8"))
Row = tuple[object, ...]
Rows = dict[str, list[Row]]


def person(draw: Draw) -> str:
    """A full name."""
    return f"{draw.one(PEOPLE['first'])} {draw.one(PEOPLE['last'])}"


def people(draw: Draw, n: int, of: str = "") -> list[str]:
    """That many different full names; the databases of train and validation have names `of` their own."""
    names = PEOPLE[of] if of else PEOPLE
    return draw.some([f"{first} {last}" for first in names["first"] for last in names["last"]], n)


def day(draw: Draw, first: str, last: str) -> str:
    """A day between two days, both included."""
    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return (start + timedelta(days=draw.integer((0, (end - start).days)))).isoformat()


def later(when: str, days: int) -> str:
    """A day some days after another."""
    return (date.fromisoformat(when) + timedelta(days=days)).isoformat()


def days_between(first: str, last: str) -> int:
    """How many days later the second day is."""
    return (date.fromisoformat(last) - date.fromisoformat(first)).days


def moment(draw: Draw, on: str, hours: tuple[int, int]) -> str:
    """A time of a day, from the first hour to the end of the last."""
    seconds = draw.integer((hours[0] * 3600, hours[1] * 3600 + 3599))
    return str(datetime.fromisoformat(on) + timedelta(seconds=seconds))


def typed(draw: Draw, text: str) -> str:
    """A text as someone types it in a hurry: case and outer blanks vary."""
    case = draw.weighted({"kept": 0.55, "lower": 0.2, "upper": 0.25})
    text = {"kept": text, "lower": text.lower(), "upper": text.upper()}[case]
    return draw.weighted({"": 0.7, " ": 0.15, "  ": 0.15}) + text + (" " if draw.chance(0.2) else "")


def skewed(draw: Draw, n: int) -> int:
    """A whole number from 0 to n - 1; small ones are likelier."""
    return int(n * draw.between(0.0, 1.0) ** 1.6)
