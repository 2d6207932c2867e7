"""The official metrics of BIRD, reproduced exactly: EX, Soft-F1 and R-VES (bird-bench/mini_dev, 2025-09).

Their known flaws are kept on purpose: EX ignores order and duplicates, and Soft-F1 pairs rows by position. A sound
rule is in `strict_match.py`. Both are always reported.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev
from typing import Any

Row = tuple[Any, ...]
TIMEOUT_S = 30.0
"""Time limit in seconds for prediction, gold and comparison together."""


def execution_match(predicted: Iterable[Row], gold: Iterable[Row]) -> int:
    """Return EX: 1 if both have the same set of rows. Cells are compared by Python's `==`, without tolerance."""
    return int(set(predicted) == set(gold))


def soft_f1(predicted: Sequence[Row], gold: Sequence[Row]) -> float:
    """Return mini_dev's Soft-F1, 0-1. Duplicate rows are dropped, and rows are paired by position.

    A cell matches if it occurs anywhere in the other row. Counts are divided by the number of gold columns.
    """
    if not predicted and not gold:
        return 1.0
    theirs, ours = list(dict.fromkeys(predicted)), list(dict.fromkeys(gold))
    matched = predicted_only = gold_only = 0.0
    for row, gold_row in zip(theirs, ours, strict=False):
        width = len(gold_row)
        n_right = sum(cell in gold_row for cell in row)
        matched += n_right / width
        predicted_only += (len(row) - n_right) / width
        gold_only += sum(cell not in row for cell in gold_row) / width
    gold_only += max(0, len(ours) - len(theirs))
    predicted_only += max(0, len(theirs) - len(ours))
    precision = matched / (matched + predicted_only) if matched + predicted_only else 0.0
    recall = matched / (matched + gold_only) if matched + gold_only else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def time_ratio(ratios: Sequence[float]) -> float:
    """Return the mean of gold time / predicted time, without outliers of 3 or more standard deviations.

    As published, equal ratios are all outliers, and the result is then 0.
    """
    centre, spread = fmean(ratios), pstdev(ratios)
    kept = [ratio for ratio in ratios if centre - 3 * spread < ratio < centre + 3 * spread]
    return fmean(kept) if kept else 0.0


def time_reward(ratio: float) -> float:
    """Return R-VES's reward for the time ratio of a correct query."""
    if ratio >= 2:
        return 1.25
    if ratio >= 1:
        return 1.0
    if ratio >= 0.5:
        return 0.75
    if ratio >= 0.25:
        return 0.5
    return 0.25 if ratio > 0 else 0.0


def r_ves(rewards: Sequence[float]) -> float:
    """Return R-VES of a set of pairs: 100 x the mean square root of their rewards, at most 111.80, so no percentage."""
    return 100.0 * fmean(math.sqrt(reward) for reward in rewards)
