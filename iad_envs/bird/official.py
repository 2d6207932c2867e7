"""The official measures of BIRD, verdict for verdict: EX, Soft-F1 and R-VES (bird-bench/mini_dev, 2025-09).

They have known flaws, kept here on purpose: EX ignores order and duplicates, Soft-F1 pairs rows by position. A sounder
rule is in `sound.py`; both are always reported.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, pstdev
from typing import Any

Row = tuple[Any, ...]
TIMEOUT_S = 30.0
"""For prediction, gold and compare together."""
R_VES_CEILING = 100.0 * math.sqrt(1.25)
"""111.80: R-VES is not a percentage."""
R_VES_ITERATIONS = 100


def execution_match(predicted: Iterable[Row], gold: Iterable[Row]) -> int:
    """Return EX: 1 if both give the same set of rows, cells compared as Python does (1 == 1.0, no tolerance)."""
    return int(set(predicted) == set(gold))


def soft_f1(predicted: Sequence[Row], gold: Sequence[Row]) -> float:
    """Return mini_dev's Soft-F1, 0-1: cells of rows paired by position, after dropping duplicate rows.

    A cell matches if it occurs anywhere in the other row; counts are divided by the number of gold columns.
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
    """Return the mean of gold time / predicted time, without those 3 standard deviations or more away.

    As published: where all ratios are equal none is left, and the pair counts 0.
    """
    centre, spread = fmean(ratios), pstdev(ratios)
    kept = [ratio for ratio in ratios if centre - 3 * spread < ratio < centre + 3 * spread]
    return fmean(kept) if kept else 0.0


def time_reward(ratio: float) -> float:
    """Return R-VES's reward of a right query's time ratio."""
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
    """Return R-VES of a set of pairs: 100 x the mean root of their rewards, at most `R_VES_CEILING`."""
    return 100.0 * fmean(math.sqrt(reward) for reward in rewards)
