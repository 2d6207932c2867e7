"""Plays training tasks with a policy while it learns: no strategy, no log, as fast as the environment."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from random import Random
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np

from iad_policy.learn.experience import row_of
from iad_policy.trained.heads import Array
from iad_policy.trained.rows import Row
from iad_policy.types import Candidate, PublicInfo, State, Turn
from iad_policy.types.hashing import seed_of
from iad_policy.types.read_only import read_only
from iad_policy.world import adapt


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """An episode that was played.

    Attributes:
        task: The task's id.
        rows: Its actions, each in its state.
        logprobs: The log-probability of each action when it was sampled.
        rewards: The reward of each step.
        refused: 1 for each action that the environment refused, else 0.
    """

    task: str
    rows: tuple[Row, ...]
    logprobs: Array
    rewards: Array
    refused: Array


Act: TypeAlias = Callable[[State, Random], Candidate]
"""Samples an action in a state at temperature 1. An answer that is no action is a candidate with an error."""


def play(env: gym.Env[Any, Any], act: Act, tasks: Sequence[str], *, group: int, seed: int) -> list[PlayedEpisode]:
    """Return `group` episodes of each task, sampled at temperature 1.

    Args:
        env: The environment.
        act: Function that samples an action in a state.
        tasks: The tasks.
        group: Episodes per task.
        seed: Seed of the samples.
    """
    world, found = adapt(env), []
    for task, place in product(tasks, range(group)):
        rng = Random(seed_of("play", seed, task, place))
        observation, info = env.reset(seed=rng.getrandbits(31), options={"task_id": task})
        rows: list[Row] = []
        figures: list[tuple[float, float, float]] = []
        history: tuple[Turn, ...] = ()
        done = False
        while not done:
            state = State(
                read_only(observation),
                PublicInfo(info, world.gold_keys),
                history=history,
                steps_left=world.max_steps - len(rows),
            )
            candidate = act(state, rng)
            action = candidate.thought if candidate.error else candidate.action  # which the environment then refuses
            observation, reward, terminated, truncated, info = env.step(action)
            rows.append(row_of(state, replace(candidate, action=action)))
            figures.append((candidate.logprob or 0.0, float(reward), float(bool(info.get("invalid_action")))))
            history = (*history, Turn(state.observation, action, state.info, candidate.thought, candidate.parts))
            done = terminated or truncated
        found.append(PlayedEpisode(task, tuple(rows), *map(np.array, zip(*figures, strict=True))))
    return found
