"""Days and times of day as the site writes and reads them.

A day is a number of days after `TODAY`, and a time is a number of minutes after midnight. The calendar stands still: an
episode's clock counts actions, not minutes.
"""

import re
from datetime import date, timedelta
from functools import lru_cache

TODAY = date(2026, 3, 2)
NOW = 10 * 60
"""Minutes after midnight. Tables of today that are earlier than this are gone."""
N_DAYS = 120
"""Days that can be booked, today included."""
MAX_PARTY = 8
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_PLAIN = re.IGNORECASE | re.ASCII  # else "ſ" is an s, and "١" a digit
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})", _PLAIN)
_WEEKDAY = re.compile(rf"(?:{'|'.join(day[:3] for day in WEEKDAYS)})[a-z]*,?\s+", _PLAIN)
_NAMES = "|".join(month[:3] for month in MONTHS)
_MONTH_FIRST = re.compile(rf"({_NAMES})[a-z]*\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(\d{{4}}))?", _PLAIN)
_DAY_FIRST = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_NAMES})[a-z]*\.?(?:,?\s+(\d{{4}}))?", _PLAIN)
_CLOCK = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*(?:([ap])\.?m\.?)?", _PLAIN)
_PARTY = re.compile(r"(\d{1,2})(?:\s+(?:people|persons?|guests?|seats?))?", _PLAIN)


def date_of(day: int) -> date:
    """Return the date of a day."""
    return TODAY + timedelta(days=day)


def iso(day: int) -> str:
    """Return a day as the date field has it: `2026-06-17`."""
    return date_of(day).isoformat()


@lru_cache(maxsize=512)
def day_text(day: int) -> str:
    """Return a day in words: `Wednesday, 17 June 2026`."""
    found = date_of(day)
    return f"{WEEKDAYS[found.weekday()]}, {found.day} {MONTHS[found.month - 1]} {found.year}"


def clock(minute: int) -> str:
    """Return a time as the time field has it: `19:00`."""
    return f"{minute // 60:02d}:{minute % 60:02d}"


def time_text(minute: int) -> str:
    """Return a time in words: `7:00 PM`."""
    hour = minute // 60
    return f"{(hour - 1) % 12 + 1}:{minute % 60:02d} {'PM' if hour >= 12 else 'AM'}"


def people(party: int) -> str:
    """Return a party's size in words: `4 people`."""
    return "1 person" if party == 1 else f"{party} people"


@lru_cache(maxsize=4096)
def read_day(text: str) -> int | None:
    """Return the day that a text names, or None if it names none.

    A date without a year is the next one from today. Days out of range are returned, too.
    """
    text = _WEEKDAY.sub("", text.strip(), count=1) if _WEEKDAY.match(text.strip()) else text.strip()
    if found := _ISO.fullmatch(text):
        return _day(int(found[1]), int(found[2]), int(found[3]))
    if found := _MONTH_FIRST.fullmatch(text):
        month, number, year = found[1], found[2], found[3]
    elif found := _DAY_FIRST.fullmatch(text):
        number, month, year = found[1], found[2], found[3]
    else:
        return None
    place = [name[:3].lower() for name in MONTHS].index(month.lower()) + 1
    if year:
        return _day(int(year), place, int(number))
    day = _day(TODAY.year, place, int(number))
    return _day(TODAY.year + 1, place, int(number)) if day is not None and day < 0 else day


@lru_cache(maxsize=4096)
def read_time(text: str) -> int | None:
    """Return the minute of the day that a text names (`19:00`, `7 pm`), or None if it names none."""
    found = _CLOCK.fullmatch(text.strip())
    if found is None or (found[2] is None and found[3] is None):
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[3].lower() == "p" else 0)
    return hour * 60 + minute if hour < 24 and minute < 60 else None


def read_party(text: str) -> int | None:
    """Return the size of a party that a text names (`4`, `4 people`), or None if it names none."""
    found = _PARTY.fullmatch(text.strip())
    return int(found[1]) if found else None


def _day(year: int, month: int, number: int) -> int | None:
    try:
        return (date(year, month, number) - TODAY).days
    except ValueError:
        return None
