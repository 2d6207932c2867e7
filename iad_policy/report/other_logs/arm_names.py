"""Names of arms: what tells the logs apart, and no more."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

MAX_SETTING = 40
"""Characters of the longest setting that can name an arm."""
PLACES = ("file", "path")
"""Parts that say where a log is. They name an arm only if nothing else does. Paths are unique."""


def named_apart(logs: Sequence[Mapping[str, str]], main: Sequence[str]) -> list[str]:
    """Return a name for each log: its main parts where they differ, and as few others as it takes to be unique.

    Args:
        logs: For each log its parts, name -> value. Each log has the parts in `PLACES`.
        main: Parts that stand for themselves, such as the model. Others are named, as in `temperature=0.7`. If no main
            part differs, the first one is the name.
    """
    chosen = [part for part in main if len({log[part] for log in logs if log.get(part)}) > 1] or list(main[:1])
    left = list(dict.fromkeys(part for log in logs for part in log if part not in (*chosen, *PLACES)))
    while left and _n_names(logs, chosen) < len(logs):
        best = max(left, key=lambda part: _n_names(logs, [*chosen, part]))
        left.remove(best)
        if _n_names(logs, [*chosen, best]) > _n_names(logs, chosen):
            chosen.append(best)
    for place in PLACES:
        if _n_names(logs, [*chosen, place]) > _n_names(logs, chosen):
            chosen.append(place)
    plain = (*main, *PLACES)
    return [
        " ".join(log[part] if part in plain else f"{part}={log[part]}" for part in chosen if log.get(part))
        for log in logs
    ]


def _n_names(logs: Sequence[Mapping[str, str]], chosen: Sequence[str]) -> int:
    return len({tuple(log.get(part, "") for part in chosen) for log in logs})


def short_settings(settings: Iterable[Mapping[str, Any] | None]) -> dict[str, str]:
    """Return settings as parts of a name: those that are known and short. Of two with one name the first one counts."""
    found: dict[str, str] = {}
    for more in settings:
        for name, value in (more or {}).items():
            text = value if isinstance(value, str) else json.dumps(value)
            if value is not None and 0 < len(text) <= MAX_SETTING:
                found.setdefault(name, text)
    return found
