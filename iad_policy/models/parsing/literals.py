"""Reads an object, a list or a text as models write them: JSON, or the notation of Python, with small faults.

Line breaks inside texts, single quotes, a comma too many and backslashes before any character are no hindrance.
"""

import re
from typing import Any, NamedTuple

from iad_policy.types.texts import well_formed

MAX_DEPTH = 40
"""Depth of nested lists and objects, beyond which nothing is read."""
_SPACE = re.compile(r"\s*+")
_TEXT = re.compile(
    r"""[rfbRFB]{0,2}+(?:\"\"\"(?P<double3>(?:[^"\\]++|\\.|"(?!""))*+)\"\"\"|'''(?P<single3>(?:[^'\\]++|\\.|'(?!''))*+)'''
    |"(?P<double>(?:[^"\\]++|\\.)*+)"|'(?P<single>(?:[^'\\]++|\\.)*+)')""",
    re.VERBOSE | re.DOTALL,
)
_WORD = re.compile(r"[^\W\d]\w*+")
_NUMBER = re.compile(r"[-+]?\d{1,30}+(?:\.\d{1,30}+)?(?![\w.])")
_NAMED = re.compile(r"([^\W\d]\w*+)\s*+=(?!=)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\", "/": "/", "\n": ""}
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None, "none": None}


class Literal(NamedTuple):
    """A value, and the place in the text where it ends."""

    value: Any
    end: int


def read_literal(text: str, start: int = 0, *, depth: int = 0) -> Literal | None:
    """Return the value at a place of a text, or None if there is none or it has no end."""
    place = _after_space(text, start)
    opening = text[place : place + 1]
    if opening in ("{", "["):
        if depth == MAX_DEPTH:
            return None
        return (_read_object if opening == "{" else _read_list)(text, place + 1, depth + 1)
    if found := _TEXT.match(text, place):
        return Literal(_unescaped(found), found.end())
    if found := _NUMBER.match(text, place):
        return Literal(float(found[0]) if "." in found[0] else int(found[0]), found.end())
    found = _WORD.match(text, place)
    if found and found[0].lower() in _CONSTANTS:
        return Literal(_CONSTANTS[found[0].lower()], found.end())
    return None


def read_arguments(text: str, start: int) -> Literal | None:
    """Return the arguments of a call in the notation of Python, from after its opening parenthesis.

    The value is a mapping. An argument without a name has its number, from 0, as its name.
    """
    arguments: dict[str, Any] = {}
    place = _after_space(text, start)
    while text[place : place + 1] != ")":
        name = _NAMED.match(text, place)
        value = read_literal(text, name.end() if name else place)
        if value is None:
            return None
        arguments[name[1] if name else str(len(arguments))] = value.value
        place = _after_item(text, value.end, ")")
        if place < 0:
            return None
    return Literal(arguments, place + 1)


def _read_object(text: str, start: int, depth: int) -> Literal | None:
    found: dict[str, Any] = {}
    place = _after_space(text, start)
    while text[place : place + 1] != "}":
        name = _read_name(text, place)
        value = read_literal(text, name.end, depth=depth) if name else None
        if name is None or value is None:
            return None
        found[name.value] = value.value
        place = _after_item(text, value.end, "}")
        if place < 0:
            return None
    return Literal(found, place + 1)


def _read_name(text: str, place: int) -> Literal | None:
    """Return the name of an object's value, quoted or not, with the place after its colon."""
    if quoted := _TEXT.match(text, place):
        name, end = _unescaped(quoted), quoted.end()
    elif word := _WORD.match(text, place):
        name, end = word[0], word.end()
    else:
        return None
    colon = _after_space(text, end)
    return Literal(name, colon + 1) if text[colon : colon + 1] == ":" else None


def _read_list(text: str, start: int, depth: int) -> Literal | None:
    found: list[Any] = []
    place = _after_space(text, start)
    while text[place : place + 1] != "]":
        value = read_literal(text, place, depth=depth)
        if value is None:
            return None
        found.append(value.value)
        place = _after_item(text, value.end, "]")
        if place < 0:
            return None
    return Literal(found, place + 1)


def _after_item(text: str, end: int, closing: str) -> int:
    """Return the place of the next item or of the closing bracket, or -1 if neither a comma nor the bracket follows."""
    place = _after_space(text, end)
    if text[place : place + 1] == ",":
        return _after_space(text, place + 1)
    return place if text[place : place + 1] == closing else -1


def _after_space(text: str, start: int) -> int:
    match = _SPACE.match(text, start)
    return match.end() if match else start


def _unescaped(match: "re.Match[str]") -> str:
    text = _ESCAPE.sub(_escaped, match[match.lastgroup or 0])
    # JSON writes characters beyond the first plane as two escapes.
    return well_formed(text)


def _escaped(match: "re.Match[str]") -> str:
    code = match[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    # A backslash that escapes nothing belongs to the text, such as that of a pattern for grep.
    return _ESCAPES.get(code, match[0])
