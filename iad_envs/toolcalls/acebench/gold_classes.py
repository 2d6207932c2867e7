"""Gold by the simulated class that it means: the score and the script of a task's user are made from it."""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import permutations
from typing import Any

from iad_envs.toolcalls.acebench.checkout import AceGold


def gold_by_class(gold: AceGold, classes: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return gold's attributes by the names of the real classes. Gold misspells some."""
    attributes = {name: found for one in gold.listed for name, found in one.items()}
    return dict(zip(names_of_gold(tuple(attributes), tuple(classes)), attributes.values(), strict=True))


@lru_cache(maxsize=256)
def names_of_gold(gold: tuple[str, ...], real: tuple[str, ...]) -> tuple[str, ...]:
    """Return the classes that gold means. It misspells some: `ReminderAPI`, `Reminderpi`, `BaseAPI`."""
    open_names = [name for name in real if name not in gold]
    misspelt = [name for name in gold if name not in real]
    best = max(permutations(open_names, len(misspelt)), key=lambda order: _likeness(misspelt, order), default=())
    meant = {
        wrong: right
        for wrong, right in zip(misspelt, best, strict=False)
        if _likeness([wrong], [right]) >= 0.9  # `Reminderpi` has 0.95 with `ReminderApi`
    }
    return tuple(meant.get(name, name) for name in gold)


def _likeness(left: Sequence[str], right: Sequence[str]) -> float:
    return sum(SequenceMatcher(None, a.casefold(), b.casefold()).ratio() for a, b in zip(left, right, strict=True))
