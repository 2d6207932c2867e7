"""Pairs of which one is better, for preference training: of actions in one state, or of episodes of one task."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from iad_policy.learn.examples import Examples
from iad_policy.learn.experience import Experience, Trajectory, row_of
from iad_policy.learn.objectives import Preference
from iad_policy.strategies.building_blocks.tree import preference_pairs
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Array, sigmoid
from iad_policy.trained.rows import Row


class Pair(NamedTuple):
    """Two sides, of which the first is better.

    Attributes:
        chosen: The rows of the better side: one action, or the actions of an episode.
        rejected: Those of the other.
        margin: By how much it is better.
    """

    chosen: Sequence[Row]
    rejected: Sequence[Row]
    margin: float


def pairs_in_trees(experience: Experience, alpha: float, theta: float) -> Iterator[Pair]:
    """Yield the pairs of actions that search trees can order: see `preference_pairs`."""
    for _, tree in experience.trees:
        for one in preference_pairs(tree, alpha, theta):
            yield Pair([row_of(one.state, one.chosen)], [row_of(one.state, one.rejected)], one.margin)


def pairs_in_decisions(experience: Experience, theta: float) -> Iterator[Pair]:
    """Yield the committed action against each rejected one whose verdict is lower by `theta` or more."""
    for trajectory in experience.trajectories:
        for step in trajectory.steps:
            for other in step.rejected:
                margin = step.committed.score - other.score
                if margin >= theta and margin > 0:
                    yield Pair([row_of(step.state, step.committed)], [row_of(step.state, other)], margin)


def pairs_of_episodes(experience: Experience, *, least: float, per_task: int, rng: np.random.Generator) -> list[Pair]:
    """Return pairs of episodes of one task whose rewards differ by `least` or more, up to `per_task` drawn of each."""
    by_task: dict[str, list[Trajectory]] = {}
    for one in experience.trajectories:
        if one.steps:
            by_task.setdefault(one.task, []).append(one)
    found: list[Pair] = []
    for episodes in by_task.values():
        different = list({one.actions: one for one in episodes}.values())
        pairs = [
            _of_episodes(one, other)
            for one, other in combinations(different, 2)
            if abs(one.reward - other.reward) >= least
        ]
        drawn = sorted(rng.choice(len(pairs), min(per_task, len(pairs)), replace=False)) if pairs else []
        found += [pairs[place] for place in drawn]
    return found


def _of_episodes(one: Trajectory, other: Trajectory) -> Pair:
    better, worse = (one, other) if one.reward > other.reward else (other, one)
    return Pair([s.row for s in better.steps], [s.row for s in worse.steps], better.reward - worse.reward)


def preferences(pairs: Sequence[Pair], start: Backend, objective: Preference, *, tau: float | None) -> Examples:
    """Return pairs as examples, with the log-probabilities of the model before training as the reference.

    Args:
        pairs: The pairs.
        start: The model before training.
        objective: What is minimised.
        tau: Temperature of soft labels, sigmoid(margin / tau). None makes hard ones.
    """
    rows: list[Row] = []
    side: list[int] = []
    p: list[float] = []
    for place, pair in enumerate(pairs):
        likely = 1.0 if tau is None else float(sigmoid(np.array(pair.margin / tau)))
        for which, part in enumerate((pair.chosen, pair.rejected)):
            rows += part
            side += [2 * place + which] * len(part)
            p += [likely] * len(part)
    sides: Array = np.array(side, float)
    reference = start.outputs(start.batch(rows))
    return Examples(tuple(rows), {"side": sides, "p": np.array(p), "reference": reference}, sides // 2, objective)
