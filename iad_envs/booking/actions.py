"""Reads an agent's action: one of the seven of Agent Q's browser."""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from iad_envs.booking.moments import clock, iso, read_day, read_party, read_time

MAX_FIELD = 500
"""Characters of a field."""
MAX_ACTION = 4096
"""Characters of an action, and of all fields together."""
SETTING: Mapping[str, Callable[[str], int | None]] = {"date": read_day, "time": read_time, "party": read_party}
"""Fields that TYPE sets, and what reads their values."""


class SiteAction(NamedTuple):
    """An action.

    Attributes:
        verb: `CLICK`, `TYPE`, `CLEAR`, `SUBMIT`, `GOTO`, `SCROLL`, `ASK USER HELP`, or "" if it can't be read.
        target: Id of the element, the address, or the direction.
        text: The text of TYPE and ASK USER HELP.
    """

    verb: str
    target: str = ""
    text: str = ""


def read_action(text: str) -> SiteAction:
    """Read an action. Brackets are optional, and words may have any case. The text of TYPE and ASK is kept as it is."""
    text = text.strip()
    verbs = r"(click|type|clear|submit|goto|scroll|ask\s+user\s+help)\b[ \t]*:?[ \t]*"
    found = re.match(verbs, text, re.IGNORECASE | re.ASCII)
    if found is None or len(text) > MAX_ACTION or not is_typable(text):
        return SiteAction("")
    verb, rest = " ".join(found[1].upper().split()), text[found.end() :].strip()
    if verb == "ASK USER HELP":
        return SiteAction(verb, text=_unbracketed(rest)) if _unbracketed(rest).strip() else SiteAction("")
    if verb == "GOTO":
        return SiteAction(verb, _unbracketed(rest).strip()) if _unbracketed(rest).strip() else SiteAction("")
    target = re.match(r"\[\s*+([^\[\]\s]*+)\s*+\]|([^\[\]\s]+)", rest)
    if target is None:
        return SiteAction("")
    name, after = (target[1] if target[1] is not None else target[2]).lower(), rest[target.end() :].strip()
    if verb == "TYPE":
        return SiteAction(verb, name, _unbracketed(after)) if name and after else SiteAction("")
    if not name or after or (verb == "SCROLL" and name not in ("up", "down")):
        return SiteAction("")
    return SiteAction(verb, name.upper() if verb == "SCROLL" else name)


def key_of(action: SiteAction) -> str:
    """Return the canonical form of an action that can be read."""
    if action.verb == "ASK USER HELP":
        return f"{action.verb} [{action.text}]"
    if action.verb == "TYPE":
        return f"TYPE [{action.target}] [{set_value(action.target, action.text) or action.text}]"
    return f"{action.verb} [{action.target}]"


def set_value(field: str, text: str) -> str:
    """Return the value that a text sets a date, time or party to in its canonical form, "" for none."""
    if field not in SETTING:
        return ""
    value = SETTING[field](text)
    if value is None:
        return ""
    try:
        return str(value) if field == "party" else clock(value) if field == "time" else iso(value)
    except OverflowError:  # a day that no calendar has
        return ""


def _unbracketed(text: str) -> str:
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def is_typable(text: str) -> bool:
    """Whether a text can be a part of an action: it has no control characters and no halves of surrogate pairs."""
    return re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", text) is None
