"""How much better than expected actions were: what PPO and its kin weigh them by."""

from collections.abc import Hashable, Sequence

import numpy as np

from iad_policy.trained.heads import Array


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
    weight: float = 1.0,
) -> list[Array]:
    """Return the advantages of GiGPO: that of the episode in its group, plus that of the step in its state.

    A step is compared with the steps of the group's episodes that were taken in the same state (arXiv 2505.10978).

    Args:
        episode_returns: The return of each episode.
        episode_groups: The group of each episode: its task.
        returns: Of each episode, the discounted return from each step on.
        states: Of each episode, the state of each step.
        is_scaled: Whether both parts are divided by their groups' standard deviations.
        weight: Weight of the part of the steps.
    """
    of_episodes = grouped(episode_returns, episode_groups, is_scaled=is_scaled)
    lengths = [len(one) for one in returns]
    anchors = [(group, state) for group, own in zip(episode_groups, states, strict=True) for state in own]
    of_steps = grouped(np.concatenate([*returns, np.zeros(0)]), anchors, is_scaled=is_scaled)
    parts = np.split(of_steps, np.cumsum(lengths)[:-1]) if lengths else []
    return [whole + weight * part for whole, part in zip(of_episodes, parts, strict=True)]
