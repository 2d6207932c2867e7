"""Step-level preferences: DPO on the actions that a search, or IAD, considered in one state (arXiv 2408.07199)."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from iad_policy.learn.examples import Examples, NothingToLearn, Pair, Reference, preferences
from iad_policy.learn.experience import Experience, row_of
from iad_policy.learn.objectives import Preference
from iad_policy.strategies.building_blocks.tree import preference_pairs
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Head


@dataclass(frozen=True, slots=True)
class StepPreference:
    """Make the better of two actions likelier than the other, as far as the reference lets it.

    With hard labels the loss has no minimum: the pairs' log-ratios grow without end, and only an early stop keeps the
    policy near the reference. With soft labels the optimum is the reference times exp(Q / (beta tau)).

    Attributes:
        source: Where pairs are from: the `trees` that a search kept, or the `decisions`, where the committed candidate
            is better than those with a lower verdict.
        alpha: Weight of the visits' value against the ranking's, in trees. 1 is the ablation without the critic.
        theta: Least margin of a pair.
        beta: Strength of the pull towards the reference.
        reference: The model before training, or the behaviour: the likelihoods that the data were proposed with.
        labels: `soft` is sigmoid(margin / tau), `hard` is 1.
        tau: Temperature of soft labels.
        sft_weight: Weight of an additional -log pi(chosen).
    """

    head: ClassVar[Head] = "policy"
    needs_start: ClassVar[bool] = True

    source: Literal["trees", "decisions"] = "trees"
    alpha: float = 0.5
    theta: float = 0.2
    beta: float = 1.0
    reference: Reference = "start"
    labels: Literal["soft", "hard"] = "soft"
    tau: float = 0.2
    sft_weight: float = 0.0

    def examples(self, experience: Experience, start: Backend, rng: np.random.Generator) -> Examples:
        """Return the pairs."""
        pairs: list[Pair] = []
        if self.source == "trees":
            fix = "run a strategy that keeps search trees, such as mcts"
            for _, tree in experience.trees:
                for one in preference_pairs(tree, self.alpha, self.theta):
                    pairs.append(Pair([row_of(one.state, one.chosen)], [row_of(one.state, one.rejected)], one.margin))
        else:
            fix = "run a strategy that verifies several proposals, such as iad"
            for step in (step for episode in experience.trajectories for step in episode.steps):
                for other in step.rejected:
                    margin = step.committed.score - other.score
                    if margin >= self.theta and margin > 0:
                        pairs.append(Pair([step.row], [row_of(step.state, other)], margin))
        if not pairs:
            raise NothingToLearn(
                f"expected actions of one state that differ by {self.theta:g} or more in {self.source}, got none in "
                f"{len(experience.trajectories)} episodes; {fix}, or lower theta"
            )
        tau = self.tau if self.labels == "soft" else None
        return preferences(pairs, start, Preference(self.beta, self.sft_weight), tau=tau, reference=self.reference)
