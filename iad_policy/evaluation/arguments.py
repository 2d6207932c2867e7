"""What stands on a command line as text, as values."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def several(given: str, kind: Callable[[str], T], option: str) -> T | tuple[T, ...]:
    """Return the values of a list with commas; one value as it is."""
    try:
        values = tuple(kind(value.strip()) for value in given.split(","))
    except ValueError:
        raise ValueError(f"expected {option} with whole numbers between commas, got {given!r}") from None
    return values[0] if len(values) == 1 else values


def pairs(given: list[str] | None, option: str) -> dict[str, Any]:
    """Return KEY=VALUE texts as a mapping; a value that is JSON is read as such, any other is a text."""
    found: dict[str, Any] = {}
    for pair in given or ():
        key, sign, value = pair.partition("=")
        if not key or not sign:
            raise ValueError(f"expected {option} KEY=VALUE, got {pair!r}; put an equals sign between them")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
    return found
