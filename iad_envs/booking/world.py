"""The restaurants of the site: what they are, when they are open, and which of their tables are free.

A table is a day, a time, a kind of seating and a size. Whether it is free is decided by a hash of all of these, so the
world needs no storage and never changes. What an episode books, holds or loses is in its state.
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from iad_envs.booking.moments import N_DAYS, NOW, date_of
from iad_envs.errors import DataNotFound

FILE = "world.json"
SEATINGS: Mapping[str, str] = {
    "indoor": "Indoors",
    "outdoor": "Outdoors",
    "bar": "At the bar",
    "window": "By the window",
    "booth": "In a booth",
}
"""Kinds of seating, and their labels."""


class Restaurant(NamedTuple):
    """A restaurant.

    Attributes:
        slug: Its id, which is a part of its address.
        name: Its name. Restaurants in other cities may have the same one.
        city: Slug of its city.
        cuisine, area, street, about: What its page says.
        price: 1 to 4.
        rating: 1.0 to 5.0. Results are ordered by it.
        hours: For each weekday from Monday the first and last time of a table in minutes, or None if it is closed.
        interval: Minutes between two times: 15 or 30.
        seatings: Kinds of seating it has.
    """

    slug: str
    name: str
    city: str
    cuisine: str
    area: str
    street: str
    about: str
    price: int
    rating: float
    hours: tuple[tuple[int, int] | None, ...]
    interval: int
    seatings: tuple[str, ...]


class BookingWorld:
    """All cities and restaurants. Read-only, so any number of episodes and threads may use it.

    Args:
        seed: Seed of the free tables.
        cities: Slug -> name.
        restaurants: All restaurants.
    """

    def __init__(self, seed: int, cities: Mapping[str, str], restaurants: Sequence[Restaurant]) -> None:
        self.seed = seed
        self.cities = dict(cities)
        self.restaurants = {one.slug: one for one in restaurants}
        by_rating = sorted(restaurants, key=lambda one: (-one.rating, one.slug))
        self._in_city = {city: tuple(one for one in by_rating if one.city == city) for city in cities}
        self._words = {one.slug: words_of(f"{one.name} {one.cuisine}") for one in restaurants}
        self.search = lru_cache(maxsize=4096)(self._search)
        self.tables = lru_cache(maxsize=8192)(self._tables)

    def _search(self, query: str, city: str) -> tuple[Restaurant, ...]:
        """Return the restaurants of a city with a word of the query in name or cuisine, best rated first.

        An empty query finds all.
        """
        wanted = words_of(query)
        there = self._in_city[city]
        return tuple(one for one in there if not wanted or wanted & self._words[one.slug])

    def _tables(self, slug: str, day: int, party: int) -> Mapping[int, tuple[str, ...]]:
        """Return the free tables for a party on a day: time in minutes -> kinds of seating, in the world itself."""
        restaurant = self.restaurants[slug]
        hours = restaurant.hours[date_of(day).weekday()] if 0 <= day < N_DAYS else None
        size = next((size for size in (2, 4, 6, 8) if size >= party), 0)  # the smallest table that fits
        if hours is None or not size or party < 1:
            return {}
        first, last = hours
        drawn = {
            seating: blake2b(f"{self.seed} {slug} {day} {seating} {size}".encode()).digest()
            for seating in restaurant.seatings
        }
        found = {}
        for number, minute in enumerate(range(first, last + 1, restaurant.interval)):
            if day == 0 and minute < NOW:
                continue
            share = 0.4 if 18 * 60 + 30 <= minute <= 20 * 60 + 30 else 0.62  # fewer are free at the busiest time
            free = tuple(seating for seating, drawing in drawn.items() if drawing[number] < share * 256)
            if free:
                found[minute] = free
        return found


def named_seatings(text: str) -> frozenset[str]:
    """Return the kinds of seating that a text names. "Bar" alone is a part of restaurants' names."""
    words_of_kinds = {
        "indoor": "indoors?|inside",
        "outdoor": "outdoors?|outside|terrace|patio|open air",
        "bar": "at the bar|bar (?:seats?|stools?|seating)|counter",
        "window": "(?:by|at|near) (?:the|a) window|window (?:seats?|tables?|seating)",
        "booth": "booths?",
    }
    named = (name for name, words in words_of_kinds.items() if re.search(rf"\b(?:{words})\b", text, re.IGNORECASE))
    return frozenset(named)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text in lower case without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return frozenset(re.findall(r"[a-z0-9]+", "".join(one for one in plain if not unicodedata.combining(one))))


@lru_cache(maxsize=8)
def load_world(folder: Path) -> BookingWorld:
    """Load a data folder's world once per process.

    Raises:
        DataNotFound: There is no such file, or it is no world.
    """
    path = folder / FILE
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
        restaurants = []
        for one in read["restaurants"]:
            hours = tuple(given and (given[0], given[1]) for given in one["hours"])
            restaurants.append(Restaurant(**{**one, "hours": hours, "seatings": tuple(one["seatings"])}))
        return BookingWorld(read["seed"], {one["slug"]: one["name"] for one in read["cities"]}, restaurants)
    except FileNotFoundError:
        raise DataNotFound(f"expected {path}, found none; check data_dir") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataNotFound(f"expected {path} to hold cities and restaurants, got {error!r:.200}") from error
