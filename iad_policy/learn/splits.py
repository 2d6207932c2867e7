"""What may be learned from, and what a model says of it. `iad_policy.run.trained` refuses to measure it there."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym

from iad_policy.errors import IADError
from iad_policy.learn.experience import Experience
from iad_policy.run.resolve import parameters_of
from iad_policy.trained.rows import Row
from iad_policy.types.names import TRAIN


class SplitError(IADError, ValueError):
    """Tasks were to be learned from that are for measuring."""


def require_train(experience: Experience) -> None:
    """Refuse to learn from tasks that are not for it.

    Raises:
        SplitError: A run is of another split, or does not say of which.
    """
    for origin in experience.origins:
        if origin.split != TRAIN:
            given = "a run without a split" if origin.split is None else f"one of the split {origin.split!r}"
            own = "; where the environment has no split, give its class the argument split" if not origin.split else ""
            raise SplitError(
                f"expected runs of the split {TRAIN!r} to learn from, got {given}: {origin.name}; run with --split "
                f"{TRAIN}{own}. Whoever learns from other tasks knows them when they are measured"
            )


def training_tasks(env: str) -> gym.Env[Any, Any]:
    """Return an environment on its training tasks.

    Raises:
        UnknownName: There is no such environment.
        SplitError: It has none.
    """
    parameters_of(env)  # imports what registers it
    try:
        return gym.make(env, split=TRAIN)
    except (TypeError, ValueError) as error:
        raise SplitError(f"expected an environment with a split {TRAIN!r}, got {env}: {error!s:.200}") from error


def subjects_of(env: str, env_args: Mapping[str, Any], tasks: Iterable[str]) -> list[str]:
    """Return what training tasks are about, each once. The list is empty where the environment does not say it.

    Args:
        env: The environment's id.
        env_args: Arguments of the environment.
        tasks: The tasks.
    """
    try:
        made = gym.make(env, **{**env_args, "split": TRAIN})
        subject_of = getattr(made.unwrapped, "subject_of", None)
        found = {subject_of(task) for task in tasks} if subject_of is not None else set()
        made.close()
    except (TypeError, ValueError, LookupError, OSError):  # its data is elsewhere; the tasks' ids are known
        return []
    return sorted(found - {""})


def trained_on(experience: Experience, rows: Sequence[Row], *, n_left_out: int) -> dict[str, Any]:
    """Return what a model's file says of its training.

    Args:
        experience: What it was trained on.
        rows: The rows that were made of it.
        n_left_out: How many of them were too long.
    """
    first = experience.origins[0]
    run_of = {id(state): one.run for one in experience.trajectories for state in one.states}
    return {
        "env": first.env,
        "data": first.data,
        "split": first.split,
        "runs": [origin.name for origin in experience.origins],
        "reward_information": "oracle",  # the environment's reward chose, weighed or labelled the rows
        "information": sorted({origin.information for origin in experience.origins if origin.information}),
        "tasks": sorted(experience.tasks),
        "subjects": subjects_of(first.env, first.env_args, experience.tasks),
        "n_rows": len(rows) - n_left_out,
        "n_rows_of": dict(Counter(run_of[at] for row in rows if (at := id(row.state)) in run_of)),
        "digest": experience.digest,
    }
