"""Reads instructions and pages of the booking site, using only what an agent may see.

The rule-based agent, the proxy verifier and the features share this code.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

from iad_envs.booking.moments import MONTHS, WEEKDAYS
from iad_envs.booking.seating import named_seatings
from iad_envs.booking.world import SEATINGS
from iad_policy.types import State

_MONTHS = tuple(name[:3].lower() for name in MONTHS)
_WEEKDAYS = tuple(map(str.lower, WEEKDAYS))
FIELDS = ("first-name", "last-name", "phone", "email")
"""Fields of the visitor's details that a reservation needs."""
WITHIN = 120
"""Minutes within which another time may be taken."""

_NAME = r"\b[A-Z][\w'’]*(?:(?: &)? [A-Z][\w'’]*){0,7}"
_PLACE = re.compile(
    rf"\b(?:[Rr]estaurant|at|[Ff]ind|[Rr]ebook|[Bb]ook)\s+(?P<name>{_NAME})(?:\s+in\s+|,\s*|\s*\()(?P<city>{_NAME})"
)
_ANYWHERE = re.compile(rf"(?P<name>{_NAME})(?:\s+in\s+|\s*\()(?P<city>{_NAME})")
"""Matches a restaurant and its city where no word before them says so."""
_TIME = re.compile(r"\b(0?[1-9]|1[0-2])(?::([0-5]\d))?\s*([AaPp])\.?[Mm]\b|\b([01]?\d|2[0-3]):([0-5]\d)\b")
_PARTY = re.compile(r"\b(\d{1,2})\s+(?:people|persons?|guests?)\b")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")
_PARTY_IN_WORDS = re.compile(
    rf"\b(?:(?:party|group|table)\s+(?:of|for)|dinner\s+for|lunch\s+for|people:)\s+(?P<behind>\d{{1,2}}|{'|'.join(_NUMBERS)})\b"
    rf"|\b(?P<before>\d{{1,2}}|{'|'.join(_NUMBERS)})\s+(?:people|persons?|guests?|seats|of\s+us)\b",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"\b({'|'.join(_MONTHS)})[a-z]*\.?\s+(\d{{1,2}})(?!\d)(?:st|nd|rd|th)?(?:,?\s+(\d{{4}}))?", re.IGNORECASE
)
_DAY_FIRST = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({'|'.join(_MONTHS)})[a-z]*\.?(?:,?\s+(\d{{4}}))?", re.IGNORECASE
)
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_RELATIVE = re.compile(
    rf"\b(?:(?P<after>day after tomorrow)|(?P<tomorrow>tomorrow)|(?P<n>two|three|four) weeks from today"
    rf"|this (?P<this>{'|'.join(_WEEKDAYS)})|(?P<next>{'|'.join(_WEEKDAYS)}) next week"
    rf"|next week,? (?:on )?(?P<late>{'|'.join(_WEEKDAYS)}))\b",
    re.IGNORECASE,
)
_WEEKS = {"two": 2, "three": 3, "four": 4}
_NUMBER = r"(?:\+?\d{1,2}[ -])?(?:\(?\d{3}\)?[ -])?\d{3}[ -]?\d{4}(?![\w-])"
_PHONE = re.compile(rf"(?<![\w@.-]){_NUMBER}")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_WHOLE_NAME = r"(?<![\w'’-])([A-Z][\w'’-]+) ([A-Z][\w'’-]+)"
_PERSON = re.compile(rf"{_WHOLE_NAME}[,;]?\s*(?:(?:and )?(?:phone|email):?)?\s*(?:{_NUMBER}|\S{{1,80}}@\S)")
_BESIDE = "and|my|phone|tel|number|is|e-?mail|mail|address"
_LOOSE_PERSON = re.compile(
    rf"{_WHOLE_NAME}[ ,;:.(/–-]{{1,4}}(?:(?:{_BESIDE})[ .:,]{{1,3}}){{0,4}}(?:{_NUMBER}|\S{{1,80}}@)"
)
_NAMED = re.compile(
    r"\b[Ff]irst name:? ([A-Z][\w'’-]+)\W+[Ll]ast name:? ([A-Z][\w'’-]+)"
    rf"|\b[Nn]ame: {_WHOLE_NAME}"
)
_NEW_TIME = re.compile(r"(?:\bto|\bbut|\bcome at|:)\s*$")
_OLD_TIME = re.compile(
    r"(?:\bin place of|\binstead of|\bwas(?: for| at)?|\bnot|\bis at|\bfrom|\b\d{4} at|\bweek at|\btoday at|\w+day at"
    r"|\btomorrow at)\s*$"
)
_MOVES = re.compile(r"\b(?:move|change|rebook|reschedule|rather come)\b", re.IGNORECASE)


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
def read_instruction(text: str, today: str) -> BookingInstruction:
    """Parse an instruction. `today` is the date that the site's pages show, such as `Monday, 2 March 2026`."""
    place = _PLACE.search(text) or _ANYWHERE.search(text)
    restaurant, city = (place["name"], place["city"]) if place else ("", "")
    times = _times(text)
    moves = len(times) > 1 or _MOVES.search(text) is not None
    rest = text.replace(restaurant, " ") if restaurant else text
    return BookingInstruction(
        restaurant=restaurant,
        city=city,
        day=_day(text, today),
        minute=_wanted_time(times, text),
        party=_party(text),
        seating=named_seating(rest, tuple(SEATINGS)),
        details=_details(text),
        moves=moves,
    )


def instruction_of(state: State) -> BookingInstruction:
    """Return the parsed instruction of a state."""
    return read_instruction(state.info["instruction"], state.info["facts"]["today"])


def named_seating(text: str, offered: Sequence[str]) -> str:
    """Return the first of the offered kinds of seating that a text names, or ""."""
    named = named_seatings(text)
    return next((name for name in offered if name in named), "")


def wanted_seating(state: State, offered: Sequence[str]) -> str:
    """Return the offered kind of seating that the instruction or an answer of the user names, or ""."""
    wanted = instruction_of(state).seating
    if wanted in offered:
        return wanted
    for answer in reversed(answers(state)):
        if named := named_seating(answer, offered):
            return named
    return ""


def answers(state: State) -> list[str]:
    """Return the user's answers so far, oldest first."""
    pages = map(page_of, (*state.history, state))
    seen = [page["answer"] for page in pages if "answer" in page]
    return [text for place, text in enumerate(seen) if text and (place == 0 or seen[place - 1] != text)]


def page_of(seen: Any) -> Mapping[str, Any]:
    """Return the page of a state or turn as data; nothing where a simulator predicted none."""
    page = seen.info.get("page")
    return page if isinstance(page, Mapping) else {}


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


def clock(minute: int) -> str:
    """Return a time as the time field has it."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def minute_of(text: str) -> int:
    """Return the minutes after midnight of `1930`, `19:30` or `7:30 PM`, -1 if it is no time."""
    if found := re.fullmatch(r"(\d{2}):?(\d{2})", text):
        return int(found[1]) * 60 + int(found[2])
    return next((minute for minute, _ in _times(text)), -1)


def iso_of(text: str) -> str:
    """Return the date of a text such as `Monday, 2 March 2026` as `2026-03-02`, "" if there is none."""
    return _written_day(text, None)


def same_words(one: str, other: str) -> bool:
    """Whether two names are the same but for case and blanks."""
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def digits(text: str) -> str:
    """Return the digits of a text."""
    return re.sub(r"\D", "", text)


def _party(text: str) -> int:
    if found := _PARTY.search(text):
        return int(found[1])
    found = _PARTY_IN_WORDS.search(text)
    number = (found["behind"] or found["before"]).lower() if found else "0"
    return int(number) if number.isdecimal() else _NUMBERS.index(number) + 1


def _times(text: str) -> list[tuple[int, int]]:
    """Return the times in a text, as minutes after midnight, with their places."""
    found = []
    for match in _TIME.finditer(text):
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
    for minute, place in times:
        if _NEW_TIME.search(text[max(0, place - 20) : place]):
            return minute
    for minute, place in times:
        if not _OLD_TIME.search(text[max(0, place - 20) : place]):
            return minute
    return times[-1][0]


def _day(text: str, today: str) -> str:
    written = _written_day(text, today)
    start = iso_of(today)
    found = _RELATIVE.search(text)
    if written or found is None or not start:
        return written
    now = date.fromisoformat(start)
    try:
        return (now + timedelta(days=_days_ahead(found, now.weekday()))).isoformat()
    except OverflowError:
        return ""


def _days_ahead(found: "re.Match[str]", weekday: int) -> int:
    """Return the days from today, which is a weekday from 0, to a relative date."""
    if found["tomorrow"]:
        return 1
    if found["after"]:
        return 2
    if found["n"]:
        return 7 * _WEEKS[found["n"].lower()]
    wanted = _WEEKDAYS.index((found["next"] or found["late"] or found["this"]).lower())
    return wanted - weekday + (0 if found["this"] else 7)


def _written_day(text: str, today: str | None) -> str:
    if found := _ISO.search(text):
        try:
            return date.fromisoformat(found[0]).isoformat()
        except ValueError:
            return ""
    if found := _DAY_FIRST.search(text):
        number, month, year = found[1], found[2], found[3]
    elif found := _MONTH_FIRST.search(text):
        month, number, year = found[1], found[2], found[3]
    else:
        return ""
    if not year and today is None:
        return ""
    try:
        if year:
            return date(int(year), _MONTHS.index(month.lower()) + 1, int(number)).isoformat()
        now = date.fromisoformat(iso_of(today or ""))
        this_year = date(now.year, _MONTHS.index(month.lower()) + 1, int(number))
        return (this_year if this_year >= now else this_year.replace(year=now.year + 1)).isoformat()
    except ValueError:
        return ""


def _details(text: str) -> dict[str, str]:
    phone, email = _PHONE.search(text), _EMAIL.search(text)
    person = _PERSON.search(text) or _NAMED.search(text) or _LOOSE_PERSON.search(text)
    first, last = [part for part in person.groups() if part] if person else ("", "")
    found = {
        "first-name": first,
        "last-name": last,
        "phone": phone[0].strip() if phone else "",
        "email": email[0] if email else "",
    }
    return {name: value for name, value in found.items() if value}
