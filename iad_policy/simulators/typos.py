"""Actions with typos. They mostly fail, so simulators can show and record failures that agents rarely cause."""

from typing import Any


def with_typos(action: Any) -> list[str]:
    """Return copies of a text action with two letters swapped: at its start, in its argument, and at its end.

    `cat[/a/b.txt]` gives `act[...]`, `cat[a//b.txt]` and `cat[/a/b.ttx]`. Other and very short actions give none.
    """
    if not isinstance(action, str) or len(action) < 2:
        return []
    end = len(action) - action.endswith("]")
    starts = [0, action.find("[") + 1, end - 2]
    swapped = [f"{action[:at]}{action[at : at + 2][::-1]}{action[at + 2 :]}" for at in starts if 0 <= at <= end - 2]
    return list(dict.fromkeys(one for one in swapped if one != action))
