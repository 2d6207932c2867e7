"""What readers of logs share: lines of JSON that others wrote, and names of arms that tell logs apart and no more."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from iad_policy.report.samples import PLACES, SETUP
from iad_policy.types.hashing import digest

NOT_ONE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
"""What reading a log raises that is none of its format."""


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
