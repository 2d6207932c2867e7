"""Days and times of day as the site writes and reads them.

A day is a number of days after `TODAY`, and a time is a number of minutes after midnight. The calendar stands still: an
episode's clock counts actions, not minutes.
"""

import re
from datetime import date, timedelta
from functools import cache, lru_cache

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


@cache
def _forms_of_dates() -> tuple["re.Pattern[str]", ...]:
    """Return 2026-06-17, 17 June 2026, June 17 2026. The year may be missing behind a month's name."""
    names, year = "|".join(month[:3] for month in MONTHS), r"(?:,?\s+(?P<year>\d{4}))?"
    return (
        re.compile(r"\b(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})\b", _PLAIN),
        re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<name>{names})[a-z]*\.?{year}", _PLAIN),
        re.compile(rf"\b(?P<name>{names})[a-z]*\.?\s+(?P<day>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?{year}", _PLAIN),
    )


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
    """Return the day that a text is, or None if it is none: `2026-06-17`, `Wednesday, 17 June 2026`, `June 17`.

    A date without a year is the next one from today. Days out of range are returned, too.
    """
    text = re.sub(rf"^(?:{'|'.join(day[:3] for day in WEEKDAYS)})[a-z]*,?\s+", "", text.strip(), flags=_PLAIN)
    return _day_of(next(filter(None, (form.fullmatch(text) for form in _forms_of_dates())), None))


def find_day(text: str) -> int | None:
    """Return the day that a sentence names, or None if it names none. See `read_day`."""
    return _day_of(next(filter(None, (form.search(text) for form in _forms_of_dates())), None))


@lru_cache(maxsize=4096)
def read_time(text: str) -> int | None:
    """Return the minute of the day that a text is (`19:00`, `7 pm`), or None if it is none."""
    found = re.fullmatch(r"(\d{1,2})(?::(\d{2}))?\s*(?:([ap])\.?m\.?)?", text.strip(), _PLAIN)
    if found is None or (found[2] is None and found[3] is None):
        return None
    hour, minute = int(found[1]), int(found[2] or 0)
    if found[3]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found[3].lower() == "p" else 0)
    return hour * 60 + minute if hour < 24 and minute < 60 else None


def read_party(text: str) -> int | None:
    """Return the size of a party that a text is (`4`, `4 people`), or None if it is none."""
    found = re.fullmatch(r"(\d{1,2})(?:\s+(?:people|persons?|guests?|seats?))?", text.strip(), _PLAIN)
    return int(found[1]) if found else None


def _day_of(found: "re.Match[str] | None") -> int | None:
    if found is None:
        return None
    parts = found.groupdict()
    names = [name[:3].lower() for name in MONTHS]
    month = int(parts["month"]) if parts.get("month") else names.index(parts["name"].lower()) + 1
    try:
        if parts["year"]:
            return (date(int(parts["year"]), month, int(parts["day"])) - TODAY).days
        day = date(TODAY.year, month, int(parts["day"]))
        return ((day if day >= TODAY else day.replace(year=TODAY.year + 1)) - TODAY).days
    except ValueError:
        return None
