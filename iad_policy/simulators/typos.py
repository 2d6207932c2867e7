"""Actions that mostly fail: real ones with two letters swapped, as rare failures have to come from somewhere."""

from typing import Any


def with_typos(action: Any) -> list[str]:
    """Return a text action with its first letters swapped, the first of its argument, and the last.

    `cat[/a/b.txt]` gives `act[...]`, `cat[a//b.txt]` and `cat[/a/b.ttx]`; what is no text, or too short, gives none.
    """
    if not isinstance(action, str) or len(action) < 2:
        return []
    end = len(action) - action.endswith("]")
    starts = [0, action.find("[") + 1, end - 2]
    swapped = [f"{action[:at]}{action[at : at + 2][::-1]}{action[at + 2 :]}" for at in starts if 0 <= at <= end - 2]
    return list(dict.fromkeys(one for one in swapped if one != action))
