"""Rejection-sampling fine-tuning: a policy is fitted to its own episodes that succeeded (arXiv 2308.01825)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from iad_policy.learn.examples import Examples, weighted
from iad_policy.learn.experience import Experience, Trajectory
from iad_policy.learn.objectives import cross_entropy
from iad_policy.learn.recipes.bc import BehaviourCloning
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head


@dataclass(frozen=True, slots=True)
class RejectionSampling:
    """Fit a policy to the different successful episodes of each task.

    Attributes:
        keep: Least reward of an episode.
        per_task: Most episodes per task. Equal sequences of actions count once.
    """

    head: ClassVar[Head] = "policy"
    needs_start: ClassVar[bool] = False

    keep: float = 1.0
    per_task: int = 4

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return the steps of the kept episodes."""
        kept: dict[str, dict[tuple[str, ...], Trajectory]] = {}
        for one in BehaviourCloning(keep=self.keep).chosen(experience, rng):
            of_task = kept.setdefault(one.task, {})
            if len(of_task) < self.per_task:
                of_task.setdefault(one.actions, one)
        rows = [step.row for of_task in kept.values() for one in of_task.values() for step in one.steps]
        return weighted(rows, cross_entropy)
