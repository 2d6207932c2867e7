"""Trains a simulator from recorded outcomes: which type of outcome follows an action, and what is then seen (ARTIS).

The type is predicted by a model. What is seen is the recorded outcome of that type that is nearest.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from iad_policy.learn.backends.numeric import TrainableFeatureModel
from iad_policy.learn.examples import NothingToLearn, weighted
from iad_policy.learn.fitting import fit, forget_checkpoints
from iad_policy.learn.models import finished_model, write_model
from iad_policy.learn.objectives import cross_entropy
from iad_policy.learn.splits import TRAIN, SplitError, subjects_of
from iad_policy.learn.trainable import Schedule
from iad_policy.registry.domain import domain_of, env_id
from iad_policy.simulators.recorded import AGENT, OUTCOMES, Recorded, read, record, write
from iad_policy.trained.backends.numeric import Linear
from iad_policy.trained.heads import Array
from iad_policy.trained.models import MODEL, Model
from iad_policy.trained.outcomes import OutcomeFeatures, tool_of
from iad_policy.trained.rows import Row
from iad_policy.types import State, Turn
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.outcome_types import type_of

BACKEND = "outcomes"
Driven = Literal["normal", "failures"]
N_TASKS, N_EPISODES = 60, 1


@dataclass(frozen=True, slots=True)
class SimulatorTraining:
    """How a simulator is trained.

    Attributes:
        driven: `normal` takes what agents did, as often as it was. `failures` takes provoked failures too, and weighs
            each type of each tool equally. Both take the same number of rows.
        n_rows: Number of rows, drawn with replacement. None takes as many as agents' own actions were recorded.
        cap: Greatest weight of a row.
        epochs: Number of passes.
        rate: Learning rate.
    """

    driven: Driven = "failures"
    n_rows: int | None = None
    cap: float = 20.0
    epochs: int = 150
    rate: float = 0.05

    def __post_init__(self) -> None:
        if self.driven not in ("normal", "failures"):
            raise ValueError(f"expected driven by normal or failures, got {self.driven!r}; pass one of the two")


def outcome_row(recorded: Recorded) -> Row:
    """Return a recorded outcome as something to train on."""
    info = {"instruction": recorded.instruction}
    return Row(
        State(None, {}, history=(Turn(recorded.observation, recorded.action, info),)),
        type_of(recorded.info, recorded.done),
    )


def rebalanced(records: Sequence[Recorded], *, cap: float = 20.0) -> Array:
    """Return the weight of each recorded outcome: 1 / how often its tool had its type (ARTIS, eq. 6).

    So every type of every tool has the same weight in all. Weights have the mean 1 before they are capped.

    Args:
        records: The recorded outcomes.
        cap: Greatest weight.
    """
    cells = [(tool_of(one.action), type_of(one.info, one.done)) for one in records]
    counts = Counter(cells)
    weights = np.array([1 / counts[cell] for cell in cells])
    capped: Array = np.minimum(weights / weights.mean(), cap)
    return capped


def record_outcomes(
    env: str,
    out: Path | str,
    *,
    agents: Sequence[str] = (),
    tasks: int = N_TASKS,
    seed: int = 0,
    report: Callable[[str], Any] = lambda text: None,
) -> list[Recorded]:
    """Record what actions lead to on training tasks, by agents of different skill, and write the file.

    Args:
        env: The environment's id.
        out: The file.
        agents: The agents. By default the environment's own without and with randomness, and one that acts at random.
        tasks: Number of training tasks, from the start of the split.
        seed: Seed of the agents.
        report: Function that is told how it goes.

    Raises:
        SplitError: The environment has no training tasks.
    """
    try:
        made = gym.make(env, split=TRAIN)
    except (TypeError, ValueError) as error:
        raise SplitError(f"expected an environment with a split {TRAIN!r}, got {env}: {error!s:.200}") from error
    own = domain_of(made).agent
    found: list[Recorded] = []
    for agent in agents or (f"{own.partition(':')[0]}:0", own, "random"):
        known = list(made.unwrapped.task_ids)[:tasks]  # type: ignore[attr-defined]
        found += record(made, agent, tasks=known, n_episodes=N_EPISODES, seed=seed)
        report(f"{agent}: {len(found)} outcomes so far")
    write(found, out)
    return found


def train_simulator(
    records: Sequence[Recorded] | Path | str,
    env: str,
    *,
    out: Path | str,
    seed: int = 0,
    report: Callable[[str], Any] = lambda text: None,
    **options: Any,
) -> Model:
    """Train a simulator. The same call again goes on after a kill, and returns the finished model at once.

    Args:
        records: Recorded outcomes, or their file.
        env: The environment's id.
        out: Folder of the model.
        seed: Seed of the draws.
        report: Function that is told how it goes.
        options: Options of `SimulatorTraining`.

    Raises:
        NothingToLearn: There is a single type of outcome.
        SplitError: Tasks are not training tasks.
        ModelFolderError: `out` holds another model.
    """
    how = SimulatorTraining(**options)
    known = list(read(records)) if isinstance(records, str | Path) else list(records)
    data = _require_training_tasks(known, env)
    types = sorted({type_of(one.info, one.done) for one in known})
    if len(types) < 2:
        raise NothingToLearn(
            f"expected outcomes of two types or more, got {', '.join(types) or 'none'} in {len(known)} records; "
            "record more tasks"
        )
    folder, facts = Path(out), {"recipe": "simulator", "options": asdict(how), "env": env, "seed": seed}
    asked = digest(facts, [tuple(one) for one in known])
    if (folder / MODEL).exists():
        return finished_model(folder, asked)
    chosen = _drawn(known, how, np.random.default_rng(seed_of("simulator", seed)))
    model = TrainableFeatureModel(BACKEND, OutcomeFeatures(types), Linear(), "policy", rate=how.rate)
    examples = weighted([outcome_row(one) for one in chosen], cross_entropy)
    fitted = fit(model, examples, Schedule(how.epochs), folder=folder, seed=seed, asked=asked)
    report(f"simulator: {len(chosen)} rows, {len(types)} types of outcomes, {fitted.n_epochs} epochs")
    write(known, folder / OUTCOMES)
    written = write_model(
        folder,
        fitted.model,
        {
            **facts,
            "head": "policy",
            "backend": BACKEND,
            "asked": asked,
            "identity": fitted.model.identity,
            "trained_on": {
                "env": env,
                "data": data,
                "split": TRAIN,
                "tasks": sorted({one.task_id for one in known}),
                "subjects": subjects_of(env, {}, {one.task_id for one in known}),
                "n_rows": len(chosen),
                "reward_information": "",
            },
        },
    )
    forget_checkpoints(folder)
    return written


def _require_training_tasks(records: Sequence[Recorded], env: str) -> str:
    """Return the digest of the environment's data, after a look at the tasks."""
    made = gym.make(env, split=TRAIN)
    assert env_id(made) == env
    others = {one.task_id for one in records} - set(made.unwrapped.task_ids)  # type: ignore[attr-defined]
    if others:
        raise SplitError(
            f"expected outcomes of the split {TRAIN!r}, got {len(others)} other tasks, such as {min(others)}; record "
            "on training tasks"
        )
    data = getattr(made.unwrapped, "data", None)
    return "" if data is None else str(data.digest)


def _drawn(records: Sequence[Recorded], how: SimulatorTraining, rng: np.random.Generator) -> list[Recorded]:
    own = [one for one in records if one.source == AGENT]
    n = how.n_rows or len(own)
    pool = own if how.driven == "normal" else list(records)
    weights = np.ones(len(pool)) if how.driven == "normal" else rebalanced(pool, cap=how.cap)
    return [pool[place] for place in rng.choice(len(pool), n, p=weights / weights.sum())]
