"""Accuracies of categories and the official total score."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from types import MappingProxyType
from typing import NamedTuple

from iad_envs.errors import require_known
from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, dialogue_of

TOTAL_WEIGHTS: Mapping[str, float] = MappingProxyType({"normal": 0.578, "special": 0.2676, "agent": 0.1545})
"""Weights of the three groups. They add up to 1.0001, as officially."""
GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType({"normal": NORMAL, "special": SPECIAL, "agent": AGENT})


class AceTotals(NamedTuple):
    """Plain means of the groups' categories, and their weighted sum. All have three decimals, as officially."""

    normal: float
    special: float
    agent: float
    total: float


def dialogue_accuracies(turns: Iterable[tuple[str, bool]]) -> tuple[float, float]:
    """Return the share of dialogues that are right in every turn, and the mean share of right turns.

    Args:
        turns: Ids and verdicts of a normal multi-turn category, in the order of the file. Only neighbours are one
            dialogue.
    """
    dialogues = [[valid for _, valid in group] for _, group in groupby(turns, key=lambda turn: dialogue_of(turn[0]))]
    if not dialogues:
        return 0.0, 0.0
    shares = [round(sum(dialogue) / len(dialogue), 3) for dialogue in dialogues]
    return round(sum(map(all, dialogues)) / len(dialogues), 3), round(sum(shares) / len(shares), 3)


def category_accuracy(category: str, verdicts: Iterable[tuple[str, bool]]) -> float:
    """Return the official accuracy of a category: of dialogues where it has them, end-to-end for agent tasks."""
    require_known("category", category, CATEGORIES)
    listed = list(verdicts)
    if category.startswith("normal_multi_turn"):
        return dialogue_accuracies(listed)[0]
    share = sum(valid for _, valid in listed) / len(listed) if listed else 0.0
    return share if category in SPECIAL else round(share, 3)


def total_score(accuracies: Mapping[str, float]) -> AceTotals:
    """Return the official totals. A category that is missing counts 0."""
    for category in accuracies:
        require_known("category", category, CATEGORIES)
    means = {
        group: round(sum(accuracies.get(category, 0.0) for category in categories) / len(categories), 3)
        for group, categories in GROUPS.items()
    }
    total = sum(means[group] * weight for group, weight in TOTAL_WEIGHTS.items())
    return AceTotals(**means, total=round(total, 3))
