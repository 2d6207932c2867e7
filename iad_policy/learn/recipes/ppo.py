"""Policy optimisation on episodes of its own: PPO, and its kin that need no value model (GRPO, GiGPO)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from iad_policy.learn.examples import Examples, weighted
from iad_policy.learn.objectives import Clipped, squared_error
from iad_policy.learn.play import PlayedEpisode
from iad_policy.trained.backends import Backend
from iad_policy.trained.heads import Array, Head

Advantage = Literal["ppo", "grpo", "gigpo"]


@dataclass(frozen=True, slots=True)
class PolicyOptimisation:
    """Make actions likelier that were better than expected, in small steps.

    Every update plays `group` episodes of each of `tasks` tasks with the policy of that moment.

    Attributes:
        advantage: What an action is compared with: `ppo` a value model of states, `grpo` the group's other episodes,
            `gigpo` these and the group's other steps in the same state.
        updates: Number of updates.
        tasks: Tasks per update.
        group: Episodes per task.
        passes: Passes over the episodes of an update.
        gamma: Discount.
        lam: How far rewards reach in `ppo`.
        low: How far a likelihood ratio may fall below 1.
        high: How far it may rise above 1.
        kl: Weight of the distance from the policy before training.
        invalid: What an action that the environment refuses costs.
        is_scaled: Whether group advantages are divided by their standard deviations.
    """

    head: ClassVar[Head] = "policy"
    needs_start: ClassVar[bool] = True

    advantage: Advantage = "ppo"
    updates: int = 30
    tasks: int = 16
    group: int = 8
    passes: int = 2
    gamma: float = 1.0
    lam: float = 0.95
    low: float = 0.2
    high: float = 0.2
    kl: float = 0.01
    invalid: float = 0.1
    is_scaled: bool = False

    def __post_init__(self) -> None:
        known = ("ppo", "grpo", "gigpo")
        if self.advantage not in known:
            raise ValueError(f"expected an advantage of {', '.join(known)}, got {self.advantage!r}; pass one of these")

    def advantages(self, episodes: Sequence[PlayedEpisode], value: Backend | None) -> list[Array]:
        """Return the advantage of each step of each episode."""
        rewards = [one.rewards - self.invalid * one.refused for one in episodes]
        if self.advantage == "ppo":
            assert value is not None
            values = [value.outputs(value.batch(one.rows)) for one in episodes]
            return [
                generalised(own, its, gamma=self.gamma, lam=self.lam) for own, its in zip(rewards, values, strict=True)
            ]
        totals = np.array([own.sum() for own in rewards])
        groups = [one.task for one in episodes]
        if self.advantage == "grpo":
            whole = grouped(totals, groups, is_scaled=self.is_scaled)
            return [np.full(len(own), mine) for own, mine in zip(rewards, whole, strict=True)]
        returns = [discounted(own, self.gamma) for own in rewards]
        states = [[row.state.observation for row in one.rows] for one in episodes]
        return grouped_by_state(totals, groups, returns, states, is_scaled=self.is_scaled)

    def examples(
        self, episodes: Sequence[PlayedEpisode], advantages: Sequence[Array], start: Backend
    ) -> Examples | None:
        """Return the steps with an advantage; None if no step has one, as all episodes of each task earned the same."""
        chosen = [
            (row, b, a)
            for one, own in zip(episodes, advantages, strict=True)
            for row, b, a in zip(one.rows, one.logprobs, own, strict=True)
            if a
        ]
        if not chosen:
            return None
        rows = [row for row, _, _ in chosen]
        stored = {
            "behaviour": np.array([b for _, b, _ in chosen]),
            "advantage": np.array([a for _, _, a in chosen]),
            "reference": start.outputs(start.batch(rows)),
        }
        return weighted(rows, Clipped(self.low, self.high, self.kl), **stored)

    def value_examples(self, episodes: Sequence[PlayedEpisode]) -> Examples:
        """Return the states with their returns, for the value model of `ppo`."""
        returns = [discounted(one.rewards - self.invalid * one.refused, self.gamma) for one in episodes]
        rows = [row for one in episodes for row in one.rows]
        return weighted(rows, squared_error, target=np.concatenate(returns))


def discounted(rewards: Array, gamma: float = 1.0) -> Array:
    """Return for each step of an episode the sum of the rewards from there on, each later one times gamma."""
    returns, ahead = np.zeros(len(rewards)), 0.0
    for step in range(len(rewards) - 1, -1, -1):
        returns[step] = ahead = rewards[step] + gamma * ahead
    return returns


def generalised(rewards: Array, values: Array, *, gamma: float = 1.0, lam: float = 0.95) -> Array:
    """Return the generalised advantage estimates of an episode's steps (arXiv 1506.02438, eq. 16).

    Args:
        rewards: The reward of each step.
        values: The value model's estimate of the state before each step. After the last one it is 0.
        gamma: Discount.
        lam: How far rewards reach. With 1 and a discount of 1 it is the return minus the value.
    """
    after = np.append(values[1:], 0.0)
    return discounted(rewards + gamma * after - values, gamma * lam)


def grouped(returns: Array, groups: Sequence[Hashable], *, is_scaled: bool = False) -> Array:
    """Return each return minus the mean of its group: the episodes of one task, in GRPO (arXiv 2402.03300).

    Args:
        returns: One per row.
        groups: The group of each row. A group of one, or of equal returns, has 0.
        is_scaled: Whether it is divided by the group's standard deviation.
    """
    names = {group: place for place, group in enumerate(dict.fromkeys(groups))}
    place = np.array([names[group] for group in groups], int)
    n = np.bincount(place, minlength=len(names))
    mean = np.bincount(place, returns, len(names)) / n
    off: Array = returns - mean[place]
    if not is_scaled:
        return off
    std = np.sqrt(np.bincount(place, off**2, len(names)) / n)[place]
    scaled: Array = np.divide(off, std, out=np.zeros(len(off)), where=std > 1e-12)
    return scaled


def grouped_by_state(
    episode_returns: Array,
    episode_groups: Sequence[Hashable],
    returns: Sequence[Array],
    states: Sequence[Sequence[Hashable]],
    *,
    is_scaled: bool = False,
) -> list[Array]:
    """Return the advantages of GiGPO: that of the episode in its group, plus that of the step in its state.

    A step is compared with the steps of the group's episodes that were taken in the same state (arXiv 2505.10978).

    Args:
        episode_returns: The return of each episode.
        episode_groups: The group of each episode: its task.
        returns: Of each episode, the discounted return from each step on.
        states: Of each episode, the state of each step.
        is_scaled: Whether both parts are divided by their groups' standard deviations.
    """
    of_episodes = grouped(episode_returns, episode_groups, is_scaled=is_scaled)
    lengths = [len(one) for one in returns]
    anchors = [(group, state) for group, own in zip(episode_groups, states, strict=True) for state in own]
    of_steps = grouped(np.concatenate([*returns, np.zeros(0)]), anchors, is_scaled=is_scaled)
    parts = np.split(of_steps, np.cumsum(lengths)[:-1]) if lengths else []
    return [whole + part for whole, part in zip(of_episodes, parts, strict=True)]
