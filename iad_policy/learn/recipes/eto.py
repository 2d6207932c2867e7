"""Trajectory-level preferences: DPO on whole episodes of one task, by their rewards (arXiv 2403.02502)."""

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from iad_policy.learn.examples import Examples, NothingToLearn, Pair, Reference, preferences
from iad_policy.learn.experience import Experience, Trajectory
from iad_policy.learn.objectives import Preference
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head


@dataclass(frozen=True, slots=True)
class TrajectoryPreference:
    """Make the better of two episodes of a task likelier: outcome-only DPO, and ETO where one is an expert's.

    The log-probability of an episode is the sum over its actions. What was observed has no part in it.

    Attributes:
        beta: Strength of the pull towards the reference.
        reference: The model before training, or the behaviour: the likelihoods that the data were proposed with.
        least: Least difference of the rewards.
        per_task: Most pairs per task, drawn by the seed.
        sft_weight: Weight of an additional -log pi(chosen).
    """

    head: ClassVar[Head] = "policy"
    needs_start: ClassVar[bool] = True

    beta: float = 0.1
    reference: Reference = "start"
    least: float = 0.2
    per_task: int = 4
    sft_weight: float = 0.0

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return the pairs."""
        by_task: dict[str, list[Trajectory]] = {}
        for episode in experience.trajectories:
            if episode.steps:
                by_task.setdefault(episode.task, []).append(episode)
        pairs: list[Pair] = []
        for episodes in by_task.values():
            of_task = []
            for one, other in combinations({episode.actions: episode for episode in episodes}.values(), 2):
                better, worse = (one, other) if one.reward > other.reward else (other, one)
                if better.reward - worse.reward >= self.least:
                    sides = [step.row for step in better.steps], [step.row for step in worse.steps]
                    of_task.append(Pair(*sides, better.reward - worse.reward))
            if of_task:
                drawn = rng.choice(len(of_task), min(self.per_task, len(of_task)), replace=False)
                pairs += [of_task[place] for place in sorted(drawn)]
        if not pairs:
            raise NothingToLearn(
                f"expected two episodes of a task whose rewards differ by {self.least:g} or more, got none in "
                f"{len(experience.trajectories)} episodes of {len(experience.tasks)} tasks; run more seeds per task"
            )
        return preferences(pairs, start, Preference(self.beta, self.sft_weight), tau=None, reference=self.reference)
