"""Instructions and answers: what the user says of a task."""

from typing import NamedTuple

from drawing import Draw

from iad_envs.booking.moments import MONTHS, WEEKDAYS, date_of, people, time_text
from iad_envs.booking.state import Guest

TEMPLATES = (
    "Book a reservation for the restaurant {restaurant} in {city} for {people} on {date} at {time}{seating}. {nearest}"
    "Name: {name}, phone: {phone}, email: {email}.",
    "I need a table{seating} at {restaurant}, {city}, for {people} on {date} at {time}. {nearest}Use the name {name}, "
    "phone {phone} and email {email}.",
    "Please reserve a table{seating} for {people} at {restaurant} ({city}) on {date}, {time}. {nearest}My details: "
    "{name}, {phone}, {email}.",
    "Can you get us a table at {restaurant} in {city}? We are {people} and would come on {date} at {time}{seating}. "
    "{nearest}{name}, {email}, {phone}.",
    "Reserve for {people} at {restaurant}, {city}: {date}, {time}{seating}. {nearest}It goes under {name}; phone "
    "{phone}, email {email}.",
    "On {date} I am meeting friends at {restaurant} in {city}. Book a table for {people} at {time}{seating}. {nearest}"
    "I am {name}, {phone}, {email}.",
    "Make a booking at {time} on {date} for {people}{seating}, restaurant {restaurant} in {city}. {nearest}Guest: "
    "{name}, {phone}, {email}.",
    "My parents want to eat at {restaurant} in {city} on {date}. {time}, {people}{seating}. {nearest}Put it under "
    "{name}, phone {phone}, email {email}.",
    "Find {restaurant} in {city} and book {people} in for {date} at {time}{seating}. {nearest}Contact: {name}, "
    "{email}, {phone}.",
    "Table for {people} at {restaurant}, {city}, {date}, {time}{seating}, please. {nearest}{name}, {phone}, {email}.",
)
"""The first has the shape of the paper's."""
MOVES = (
    "I have a reservation at {restaurant} in {city} on {date} at {old}. Move it to {time}{seating}, for {people} as "
    "before. {nearest}It is under {name}, phone {phone}, email {email}.",
    "Please change my booking at {restaurant}, {city}, on {date}: {time} in place of {old}, still for {people}{seating}"
    ". {nearest}{name}, {phone}, {email}.",
    "Our table at {restaurant} in {city} on {date} is at {old}. We would rather come at {time}{seating}, all {people}"
    ". {nearest}I want only the new reservation. {name}, {phone}, {email}.",
    "Rebook {restaurant} in {city}, {date}: not {old} but {time}{seating}, {people}, and cancel the old one. {nearest}"
    "{name}, {email}, {phone}.",
)
NEAREST = "If that time is taken, take the nearest one. "
SEATED = {
    "indoor": "indoors",
    "outdoor": "outdoors",
    "bar": "at the bar",
    "window": "by the window",
    "booth": "in a booth",
}
RELATIVE = {1: "tomorrow", 2: "the day after tomorrow", 14: "two weeks from today", 21: "three weeks from today"}


class Wanted(NamedTuple):
    """What an instruction says. `old` is the minute of the reservation to move, or -1."""

    restaurant: str
    city: str
    day: int
    minute: int
    party: int
    seating: str
    user: Guest
    is_relative: bool = False
    says_nearest: bool = False
    old: int = -1


def instruction_of(wanted: Wanted, draw: Draw) -> str:
    """Return the instruction."""
    seating = f", {SEATED[wanted.seating]}" if wanted.seating else ""
    template = draw.one(MOVES if wanted.old >= 0 else TEMPLATES)
    said = template.format(
        restaurant=wanted.restaurant,
        city=wanted.city,
        people=people(wanted.party),
        date=relative(wanted.day) if wanted.is_relative else written(wanted.day),
        time=time_text(wanted.minute),
        old=time_text(max(wanted.old, 0)),
        seating="SEATING",
        nearest=NEAREST if wanted.says_nearest else "",
        name=f"{wanted.user.first_name} {wanted.user.last_name}",
        phone=wanted.user.phone,
        email=wanted.user.email,
    )
    # "a table outdoors at X", but "at 7:00 PM, outdoors."
    inner = seating.removeprefix(",")
    said = said.replace("a tableSEATING", f"a table{inner}").replace("SEATING", seating)
    return said[0].upper() + said[1:]


def answers_of(wanted: Wanted, hidden: str) -> dict[str, str]:
    """Return the user's answers by topic. Only the seating may be news."""
    date = relative(wanted.day) if wanted.is_relative else written(wanted.day)
    if hidden:
        seating = f"{SEATED[hidden].capitalize()}, please."
    else:
        seating = f"As I said: {SEATED[wanted.seating]}." if wanted.seating else "Any table is fine."
    return {
        "seating": seating,
        "date": f"The date is {date}.",
        "time": f"The time is {time_text(wanted.minute)}.",
        "party": f"We are {people(wanted.party)}.",
        "restaurant": f"I mean {wanted.restaurant} in {wanted.city}.",
        "name": f"My name is {wanted.user.first_name} {wanted.user.last_name}.",
        "phone": f"My number is {wanted.user.phone}.",
        "email": f"My email is {wanted.user.email}.",
    }


def written(day: int) -> str:
    """Return a date as people write it: `May 22 2026`."""
    found = date_of(day)
    return f"{MONTHS[found.month - 1]} {found.day} {found.year}"


def relative(day: int) -> str:
    """Return a date that needs to be known from today's."""
    if day in RELATIVE:
        return RELATIVE[day]
    weekday = WEEKDAYS[date_of(day).weekday()]
    return f"this {weekday}" if day < 7 - date_of(0).weekday() else f"{weekday} next week"
