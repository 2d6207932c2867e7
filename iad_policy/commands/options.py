"""What was asked for on the command line, as parts of a configuration."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
_SAME = (
    *("env", "verifier", "split", "data_dir", "preset", "tasks", "subset", "baseline", "simulator"),
    *("feedback", "stop", "delta", "temperature", "threads", "workers", "cache"),
)
_LISTS: Mapping[str, Callable[[str], Any]] = {"agent": str, "n": int, "seed": int}
"""Options that take several values between commas."""
_PAIRS = {
    "budget": "budget",
    "role": "roles",
    "strategy_arg": "strategy_args",
    "agent_arg": "agent_args",
    "env_arg": "env_args",
}
"""Option that is given pair by pair -> part of the configuration."""


def config_parts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was given on the command line as parts of a `RunConfig`.

    Raises:
        ValueError: A number that is none, or a pair without an equals sign.
    """
    asked = {name: given[name] for name in _SAME if name in given}
    for name, kind in _LISTS.items():
        if given.get(name) is not None:
            asked[name] = _several(given[name], kind, f"--{name}")
    for name in ("strategies", "strategy"):
        if name in given:
            asked["strategies"] = tuple(one.strip() for one in given[name].split(",") if one.strip())
    for option, part in _PAIRS.items():
        if option in given:
            asked[part] = pairs(given[option], f"--{option.replace('_', '-')}")
    return asked


def pairs(given: list[str] | None, option: str) -> dict[str, Any]:
    """Return KEY=VALUE texts as a mapping; a value that is JSON is read as such, any other is a text.

    Raises:
        ValueError: One without an equals sign.
    """
    read: dict[str, Any] = {}
    for pair in given or ():
        key, sign, value = pair.partition("=")
        if not key or not sign:
            raise ValueError(f"expected {option} KEY=VALUE, got {pair!r}; put an equals sign between them")
        try:
            read[key] = json.loads(value)
        except ValueError:
            read[key] = value
    return read


def _several(given: str, kind: Callable[[str], T], option: str) -> T | tuple[T, ...]:
    """Return the values of a list with commas; one value as it is."""
    try:
        values = tuple(kind(value.strip()) for value in given.split(","))
    except ValueError:
        raise ValueError(f"expected {option} with whole numbers between commas, got {given!r}") from None
    return values[0] if len(values) == 1 else values
