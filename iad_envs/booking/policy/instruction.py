"""Reads instructions and pages of the booking site, using only what an agent may see.

The rule-based agent, the proxy verifier and the features share this code.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from iad_envs.booking.moments import TODAY, WEEKDAYS, clock, find_day, iso, read_day, read_time
from iad_envs.booking.world import SEATINGS, named_seatings
from iad_policy.prompts.rendering import Seen, page_of
from iad_policy.types import State

FIELDS = ("first-name", "last-name", "phone", "email")
"""Fields of the visitor's details that a reservation needs."""
WITHIN = 120
"""Minutes within which another time may be taken."""

_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


@dataclass(frozen=True, slots=True)
class BookingInstruction:
    """A parsed instruction. What it doesn't say is "", 0 or -1.

    Attributes:
        restaurant, city: Their names.
        day: The date as `2026-06-17`.
        minute: Minutes after midnight.
        party: Number of people.
        seating: Id of the kind of seating.
        details: Field of the details page -> value.
        moves: Whether a reservation is to be moved.
    """

    restaurant: str
    city: str
    day: str
    minute: int
    party: int
    seating: str
    details: Mapping[str, str]
    moves: bool


@lru_cache(maxsize=4096)
def read_instruction(text: str) -> BookingInstruction:
    """Parse an instruction."""
    name = r"\b[A-Z][\w'’]*(?:(?: &)? [A-Z][\w'’]*){0,7}"
    place = re.search(
        rf"\b(?:[Rr]estaurant|at|[Ff]ind|[Rr]ebook|[Bb]ook)\s+(?P<name>{name})(?:\s+in\s+|,\s*|\s*\()(?P<city>{name})",
        text,
    ) or re.search(rf"(?P<name>{name})(?:\s+in\s+|\s*\()(?P<city>{name})", text)  # no word before them says so
    restaurant, city = (place["name"], place["city"]) if place else ("", "")
    times = _times(text)
    return BookingInstruction(
        restaurant=restaurant,
        city=city,
        day=_day(text),
        minute=_wanted_time(times, text),
        party=_party(text),
        seating=named_seating(text.replace(restaurant, " ") if restaurant else text, tuple(SEATINGS)),
        details={name: value for name, value in zip(FIELDS, _details(text), strict=True) if value},
        moves=len(times) > 1 or re.search(r"(?i)\b(?:move|change|rebook|reschedule|rather come)\b", text) is not None,
    )


def _details(text: str) -> tuple[str, str, str, str]:
    """Return the guest's first name, last name, phone and email."""
    number = r"(?:\+?\d{1,2}[ -])?(?:\(?\d{3}\)?[ -])?\d{3}[ -]?\d{4}(?![\w-])"
    phone = re.search(rf"(?<![\w@.-]){number}", text)
    email = re.search(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+", text)
    whole_name = r"(?<![\w'’-])([A-Z][\w'’-]+) ([A-Z][\w'’-]+)"
    beside = "and|my|phone|tel|number|is|e-?mail|mail|address"
    forms = (  # the strictest first
        rf"{whole_name}[,;]?\s*(?:(?:and )?(?:phone|email):?)?\s*(?:{number}|\S{{1,80}}@\S)",
        rf"\b[Ff]irst name:? ([A-Z][\w'’-]+)\W+[Ll]ast name:? ([A-Z][\w'’-]+)|\b[Nn]ame: {whole_name}",
        rf"{whole_name}[ ,;:.(/–-]{{1,4}}(?:(?:{beside})[ .:,]{{1,3}}){{0,4}}(?:{number}|\S{{1,80}}@)",
    )
    person = next(filter(None, (re.search(form, text) for form in forms)), None)
    first, last = [part for part in person.groups() if part] if person else ("", "")
    return first, last, phone[0].strip() if phone else "", email[0] if email else ""


def instruction_of(state: State) -> BookingInstruction:
    """Return the parsed instruction of a state."""
    return read_instruction(state.info["instruction"])


def named_seating(text: str, offered: Sequence[str]) -> str:
    """Return the first of the offered kinds of seating that a text names, or ""."""
    named = named_seatings(text)
    return next((name for name in offered if name in named), "")


def wanted_seating(state: State, offered: Sequence[str]) -> str:
    """Return the offered kind of seating that the instruction or an answer of the user names, or ""."""
    wanted = instruction_of(state).seating
    if wanted in offered:
        return wanted
    return next(filter(None, (named_seating(answer, offered) for answer in reversed(answers(state)))), "")


def answers(state: State) -> list[str]:
    """Return the user's answers so far, oldest first."""
    seen = [page["answer"] for page in pages_of(state) if "answer" in page]
    return [text for place, text in enumerate(seen) if text and (place == 0 or seen[place - 1] != text)]


def pages_of(state: State) -> list[Mapping[str, Any]]:
    """Return the pages so far as data, oldest first."""
    seen: Sequence[Seen] = (*state.history, state)
    return list(map(page_of, seen))


def listed(page: Mapping[str, Any]) -> dict[str, str]:
    """Return the restaurants that a page links to: id of the link -> name."""
    return {one["id"]: one["label"].partition(",")[0] for one in page["elements"] if one["id"].startswith("r-")}


def has_reservation(page: Mapping[str, Any]) -> bool:
    """Whether the user has a reservation that is not cancelled."""
    return any(not one["is_cancelled"] for one in page["reservations"])


def looked_for(page: Mapping[str, Any]) -> dict[str, str]:
    """Return the date, time and party for which a restaurant's page shows tables."""
    query = parse_qs(urlsplit(page["path"]).query)
    return {name: query[name][0] for name in ("date", "time", "party") if name in query}


def wish_of(wanted: BookingInstruction) -> dict[str, str]:
    """Return the values of date, time and party as the fields have them; those that are not said are left out."""
    found = {
        "date": wanted.day,
        "time": clock(wanted.minute) if wanted.minute >= 0 else "",
        "party": str(wanted.party) if wanted.party else "",
    }
    return {name: value for name, value in found.items() if value}


def minute_of(text: str) -> int:
    """Return the minutes after midnight of `1930`, `19:30` or `7:30 PM`, -1 if it is no time."""
    minute = read_time(f"{text[:2]}:{text[2:]}" if text.isdecimal() and len(text) == 4 else text)
    return -1 if minute is None else minute


def iso_of(text: str) -> str:
    """Return the date of a text such as `Monday, 2 March 2026` as `2026-03-02`, "" if there is none."""
    day = read_day(text)
    return "" if day is None else iso(day)


def same_words(one: str, other: str) -> bool:
    """Whether two names are the same but for case and blanks."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def is_detail(name: str, given: str, wanted: str) -> bool:
    """Whether a detail is the wanted one. Of phone numbers only the digits count."""
    if name == "phone":
        return re.sub(r"\D", "", given) == re.sub(r"\D", "", wanted)
    return same_words(given, wanted)


def _party(text: str) -> int:
    if found := re.search(r"\b(\d{1,2})\s+(?:people|persons?|guests?)\b", text):
        return int(found[1])
    number = rf"\d{{1,2}}|{'|'.join(_NUMBERS)}"
    found = re.search(
        rf"\b(?:(?:party|group|table)\s+(?:of|for)|dinner\s+for|lunch\s+for|people:)\s+(?P<behind>{number})\b"
        rf"|\b(?P<before>{number})\s+(?:people|persons?|guests?|seats|of\s+us)\b",
        text,
        re.IGNORECASE,
    )
    said = (found["behind"] or found["before"]).lower() if found else "0"
    return int(said) if said.isdecimal() else _NUMBERS.index(said) + 1


def _times(text: str) -> list[tuple[int, int]]:
    """Return the times in a text, as minutes after midnight, with their places."""
    found = []
    times = r"\b(0?[1-9]|1[0-2])(?::([0-5]\d))?\s*([AaPp])\.?[Mm]\b|\b([01]?\d|2[0-3]):([0-5]\d)\b"
    for match in re.finditer(times, text):
        if match[3]:
            hour = int(match[1]) % 12 + (12 if match[3].lower() == "p" else 0)
            found.append((hour * 60 + int(match[2] or 0), match.start()))
        else:
            found.append((int(match[4]) * 60 + int(match[5]), match.start()))
    return found


def _wanted_time(times: Sequence[tuple[int, int]], text: str) -> int:
    """Return the time that is asked for. Of several it is the new one."""
    if not times:
        return -1
    if len(times) == 1:
        return times[0][0]
    is_new = re.compile(r"(?:\bto|\bbut|\bcome at|:)\s*$").search
    is_old = re.compile(
        r"(?:\bin place of|\binstead of|\bwas(?: for| at)?|\bnot|\bis at|\bfrom|\b\d{4} at|\bweek at|\btoday at"
        r"|\wday at|\btomorrow at)\s*$"
    ).search
    before = [(minute, text[max(0, place - 20) : place]) for minute, place in times]
    new = [minute for minute, words in before if is_new(words)]
    not_old = [minute for minute, words in before if not is_old(words)]
    return next(iter((*new, *not_old, times[-1][0])))


def _day(text: str) -> str:
    """Return the day that is asked for. A date that is written out comes before one that is told from today."""
    day = find_day(text)
    if day is not None:
        return iso(day)
    weekday = "|".join(WEEKDAYS)
    found = re.search(
        rf"\b(?:(?P<after>day after tomorrow)|(?P<tomorrow>tomorrow)|(?P<n>two|three|four) weeks from today"
        rf"|this (?P<this>{weekday})|(?P<next>{weekday}) next week|next week,? (?:on )?(?P<late>{weekday}))\b",
        text,
        re.IGNORECASE,
    )
    if found is None:
        return ""
    if found["tomorrow"]:
        return iso(1)
    if found["after"]:
        return iso(2)
    if found["n"]:
        return iso(7 * (_NUMBERS.index(found["n"].lower()) + 1))
    wanted = WEEKDAYS.index((found["next"] or found["late"] or found["this"]).capitalize())
    return iso(wanted - TODAY.weekday() + (0 if found["this"] else 7))
