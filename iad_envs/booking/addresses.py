"""Converts places to addresses and back. Addresses hold what is looked for, never who looks for it."""

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from iad_envs.booking.actions import MAX_FIELD
from iad_envs.booking.moments import MAX_PARTY, N_DAYS, clock, iso, read_day, read_time
from iad_envs.booking.state import Place, Wish
from iad_envs.booking.world import BookingWorld

SITE = "tablefind.example"
_FIXED = {"/": "home", "/hold": "hold", "/mine": "mine", "/mine/cancel": "cancel"}


class NoSuchPlace(ValueError):
    """There is no page at this address. The error text says what was expected."""


def path_of(place: Place) -> str:
    """Return the path and query of a place."""
    if place.kind == "results":
        page = {"page": place.number} if place.number > 1 else {}
        return f"/search?{urlencode({'q': place.query, 'city': place.city, **page}, errors='replace')}"
    if place.kind == "restaurant":
        wish = {"date": iso(place.day), "time": clock(place.minute), "party": place.party}
        return f"/r/{quote(place.slug)}?{urlencode(wish, safe=':')}"
    if place.kind == "confirmation":
        return f"/confirmed/{place.number}"
    return next(path for path, kind in _FIXED.items() if kind == place.kind)


def place_at(world: BookingWorld, address: str, wish: Wish, city: str) -> Place:
    """Return the place at an address of the site.

    Args:
        world: The world.
        address: A path with or without the site's name, or `home`.
        wish: Fills in what the address of a restaurant leaves out.
        city: Fills in what the address of a search leaves out.

    Raises:
        NoSuchPlace: It is no address of this site.
    """
    given = address.strip()
    if given.casefold() == "home":
        return Place()
    named = re.compile(rf"\A(?:https?://)?{re.escape(SITE)}(?=[/?#]|$)", re.IGNORECASE | re.ASCII)
    path, _, query = (named.sub("", given, count=1) or "/").partition("#")[0].partition("?")
    unsafe = r"[\s\x00-\x1f\x7f-\x9f]|%[01]|%7f|%c2%[89]"
    unsafe_in_path = rf"{unsafe}|\\|%2f|%5c|\.\.|^//"  # somebody may search for these
    is_unsafe = re.search(unsafe_in_path, path, re.IGNORECASE) or re.search(unsafe, query, re.IGNORECASE)
    if not path.startswith("/") or is_unsafe or len(given) > 6000:
        raise NoSuchPlace(f"expected home or a path of {SITE}, such as /mine, got {given!r:.80}")
    try:
        parts = dict(parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=8))
    except ValueError:
        raise NoSuchPlace(f"expected the address of a page, got {given!r:.80}") from None
    return place_of(world, path, parts, wish=wish, city=city)


def place_of(world: BookingWorld, path: str, parts: Mapping[str, str], *, wish: Wish, city: str) -> Place:
    """Return the place at a path and a query that are read already. See `place_at`.

    Raises:
        NoSuchPlace: It is no address of this site.
    """
    if path in _FIXED and not parts:
        return Place(_FIXED[path])
    if path == "/search" and parts.keys() <= {"q", "city", "page"}:
        city, number, query = parts.get("city", city), parts.get("page", "1"), parts.get("q", "")
        if city not in world.cities:
            raise NoSuchPlace(f"expected a city, one of {', '.join(world.cities)}, got {city!r:.60}")
        if not re.fullmatch(r"[1-9][0-9]?", number):
            raise NoSuchPlace(f"expected a page of results from 1 to 99, got {number!r:.60}")
        if len(query) > MAX_FIELD:
            raise NoSuchPlace(f"expected a search of at most {MAX_FIELD} characters, got {len(query)}")
        return Place("results", query=" ".join(query.split()), city=city, number=int(number))
    if (found := re.fullmatch(r"/r/([a-z0-9-]+)", path)) and parts.keys() <= {"date", "time", "party"}:
        slug = found[1]
        if slug not in world.restaurants:
            raise NoSuchPlace(f"expected a restaurant of this site, got {slug!r:.60}; search for one")
        day = read_day(parts["date"]) if "date" in parts else wish.day
        minute = read_time(parts["time"]) if "time" in parts else wish.minute
        party = int(parts["party"]) if parts.get("party", "").isdecimal() else None if "party" in parts else wish.party
        if day is None or not 0 <= day < N_DAYS or minute is None or party is None or not 1 <= party <= MAX_PARTY:
            raise NoSuchPlace(
                f"expected a date such as {iso(15)} within {N_DAYS} days, a time such as 19:00, and a party of 1 to "
                f"{MAX_PARTY}, got {parts!s:.80}"
            )
        return Place("restaurant", slug, day=day, minute=minute, party=party)
    if (found := re.fullmatch(r"/confirmed/([1-9][0-9]{0,5})", path)) and not parts:
        return Place("confirmation", number=int(found[1]))
    raise NoSuchPlace(f"expected the address of a page, got {path!r:.80}; links lead to others")
