"""What readers of logs share: lines of JSON that others wrote, and names of arms that tell logs apart and no more."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from iad_policy.report.samples import PLACES, SETUP
from iad_policy.types.hashing import digest

NOT_ONE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""What reading a log raises that is none of its format."""
IN_WORDS: Mapping[Any, str] = {
    str: "a text",
    str | list: "a text",
    dict: "an object",
    list: "a list",
    int: "a number",
    float: "a number",
    datetime: "a time",
}


def objects(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file with the numbers of their lines. Empty lines are passed over."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                content = json.loads(line)
            except (ValueError, RecursionError) as error:
                problems.append(f"{path}, line {number}: expected a JSON object, got {error!s:.100}")
                continue
            if isinstance(content, dict):
                yield number, content
            else:
                problems.append(f"{path}, line {number}: expected a JSON object, got {type(content).__name__}")


def checked(value: Any, kind: Any, where: str = "") -> Any:
    """Return a value of a kind. Of an object all fields are there; one that was missing or null is empty.

    Args:
        value: The value.
        kind: A type; a list with the kind of its items; or a mapping of an object's fields to their kinds, in which the
            names of those that may be missing end in `?`.
        where: The field that it is from.

    Raises:
        ValueError: A field is missing or of another kind.
    """
    if isinstance(kind, Mapping):
        found = dict(checked(value, dict, where))
        for key, part in kind.items():
            name = key.removesuffix("?")
            inside = f"{where}.{name}" if where else name
            if name == key and found.get(name) is None:
                raise ValueError(f"expected the field {inside}, got none")
            found[name] = checked(found.get(name), part, inside)
        return found
    if isinstance(kind, list):
        items = enumerate(checked(value, list, where))
        return [checked(one, kind[0], f"{where}[{place}]") for place, one in items]
    if value is None:
        return kind() if kind in (str, dict, list) else None
    if kind is datetime:
        with suppress(TypeError, ValueError):
            return datetime.fromisoformat(value)
    elif kind is float:
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return float(value)
    elif isinstance(value, kind):
        return value
    raise ValueError(f"expected {IN_WORDS[kind]} in the field {where}, got {value!r:.40}")


def named_apart(logs: Sequence[Mapping[str, str]], main: Sequence[str]) -> list[str]:
    """Return a name for each log: its main parts where they differ, and as few others as it takes to be unique.

    Args:
        logs: For each log its parts, name -> value. Each log has the parts in `PLACES`.
        main: Parts that stand for themselves, such as the model. Others are named, as in `temperature=0.7`. If no main
            part differs, the first one is the name.
    """

    def n_names(*parts: str) -> int:
        return len({tuple(log.get(part, "") for part in parts) for log in logs})

    chosen = [part for part in main if len({log[part] for log in logs if log.get(part)}) > 1] or list(main[:1])
    left = list(dict.fromkeys(part for log in logs for part in log if part not in (*chosen, *PLACES, SETUP)))
    while left and n_names(*chosen) < len(logs):
        best = max(left, key=lambda part: n_names(*chosen, part))
        left.remove(best)
        if n_names(*chosen, best) > n_names(*chosen):
            chosen.append(best)
    for place in PLACES:
        if n_names(*chosen, place) > n_names(*chosen):
            chosen.append(place)
    plain = (*main, *PLACES)
    return [
        " ".join(log[part] if part in plain else f"{part}={log[part]}" for part in chosen if log.get(part))
        for log in logs
    ]


def short_settings(settings: Iterable[Mapping[str, Any] | None]) -> dict[str, str]:
    """Return settings as parts of a name: those that are known and short. Of two with one name the first one counts."""
    every = list(settings)
    found = {SETUP: digest(every)[:8]}
    for more in every:
        for name, value in (more or {}).items():
            text = value if isinstance(value, str) else json.dumps(value)
            if value is not None and 0 < len(text) <= 40:
                found.setdefault(name, text)
    return found
