"""Trains a simulator from recorded outcomes: what follows an action, given all that was seen before it (ARTIS, eq. 7).

The backend `outcomes` predicts the type of the outcome, and shows the nearest recorded one of that type. A language
model, `hf:<model>`, writes what is seen.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from iad_policy.errors import UnknownName
from iad_policy.learn.examples import NothingToLearn, weighted
from iad_policy.learn.models import finished_model, write_model, writing
from iad_policy.learn.objectives import cross_entropy
from iad_policy.learn.splits import SplitError, subjects_of, training_tasks
from iad_policy.learn.train import LANGUAGE
from iad_policy.learn.trainable import load_trainable
from iad_policy.registry.domain import default_agent, domain_of, env_id
from iad_policy.simulators.llm import PredictedOutcome
from iad_policy.simulators.recorded import AGENT, OUTCOMES, Recorded, read, record, write
from iad_policy.trained.heads import Array
from iad_policy.trained.models import MODEL, SIMULATOR, Model
from iad_policy.trained.outcomes import outcome_state, tool_of
from iad_policy.trained.rows import Row
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.names import TRAIN
from iad_policy.types.outcome_types import type_of

OUTCOME_TYPES = "outcomes"
"""The backend that predicts types."""
N_TASKS = 60


@dataclass(frozen=True, slots=True)
class SimulatorTraining:
    """How a simulator is trained.

    Attributes:
        failures: Share of the rows that failures drive: they are drawn from provoked failures too, and each type of
            each tool has the same weight. The others are what agents did, as often as they did it.
        n_rows: Number of rows, drawn with replacement. None takes as many as agents' own actions were recorded.
        cap: Greatest weight of a row.

    Raises:
        ValueError: The share is none.
    """

    failures: float = 1.0
    n_rows: int | None = None
    cap: float = 20.0

    def __post_init__(self) -> None:
        if not 0 <= self.failures <= 1:
            raise ValueError(f"expected a share of failures from 0 to 1, got {self.failures!r}; pass 1 for all rows")

    def drawn(self, known: Sequence[Recorded], rng: np.random.Generator) -> list[Recorded]:
        """Return the outcomes to train on."""
        own = [one for one in known if one.source == AGENT]
        n = self.n_rows or len(own)
        n_driven = round(self.failures * n)
        weights = rebalanced(known, cap=self.cap)
        chosen = [known[at] for at in rng.choice(len(known), n_driven, p=weights / weights.sum())]
        return chosen + [own[at] for at in rng.choice(len(own), n - n_driven)]


def outcome_row(recorded: Recorded) -> Row:
    """Return a recorded outcome as something to train on: its type, and what a language model is asked and answers."""
    is_valid = not recorded.info.get("invalid_action")
    answer = PredictedOutcome(str(recorded.seen), is_valid, recorded.done, bool(recorded.failure))
    state = outcome_state(
        recorded.beginning, recorded.earlier, recorded.observation, recorded.instruction, recorded.action
    )
    kind = type_of(recorded.info, recorded.done)
    return Row(state, kind, recorded.messages, answer.text(before=str(recorded.observation)))


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
    made = training_tasks(env)
    if not agents:
        own = default_agent(made)
        agents = (f"{own.partition(':')[0]}:0", own, "random")
    found: list[Recorded] = []
    for agent in agents:
        known = list(made.unwrapped.task_ids)[:tasks]  # type: ignore[attr-defined]
        found += record(made, agent, tasks=known, n_episodes=1, seed=seed)
        report(f"{agent}: {len(found)} outcomes so far")
    write(found, out)
    return found


def train_simulator(
    records: Sequence[Recorded] | Path | str,
    env: str,
    *,
    out: Path | str,
    backend: str = OUTCOME_TYPES,
    seed: int = 0,
    report: Callable[[str], Any] = lambda text: None,
    **options: Any,
) -> Model:
    """Train a simulator. The same call again goes on after a kill, and returns the finished model at once.

    Args:
        records: Recorded outcomes, or their file.
        env: The environment's id.
        out: Folder of the model.
        backend: `outcomes`, or a language model: `hf:<model>`.
        seed: Seed of the draws.
        report: Function that is told how it goes.
        options: Options of `SimulatorTraining`, of the schedule (`epochs batch warmup`) and of the backend (`rate`; of
            a language model also `rank micro max_length`).

    Raises:
        NothingToLearn: There is a single type of outcome, or no text for a language model.
        UnknownName: There is no such backend.
        SplitError: Tasks are not training tasks.
        ModelFolderError: `out` holds another model.
    """
    of_schedule = {name: options.pop(name) for name in ("epochs", "batch", "warmup") if name in options}
    of_backend: dict[str, Any] = {
        name: options.pop(name) for name in ("rate", "rank", "micro", "max_length") if name in options
    }
    how = SimulatorTraining(**options)
    known = list(read(records)) if isinstance(records, str | Path) else list(records)
    made = training_tasks(env)
    assert env_id(made) == env
    others = {one.task_id for one in known} - set(made.unwrapped.task_ids)  # type: ignore[attr-defined]
    if others:
        raise SplitError(
            f"expected outcomes of the split {TRAIN!r}, got {len(others)} other tasks, such as {min(others)}; record "
            "on training tasks"
        )
    data = getattr(made.unwrapped, "data", None)
    types = sorted({type_of(one.info, one.done) for one in known})
    if len(types) < 2:
        raise NothingToLearn(
            f"expected outcomes of two types or more, got {', '.join(types) or 'none'} in {len(known)} records; "
            "record more tasks"
        )
    is_language = backend.startswith(LANGUAGE)
    if not is_language and backend != OUTCOME_TYPES:
        raise UnknownName("backend of a simulator", backend, [OUTCOME_TYPES, f"{LANGUAGE}<model>"])
    if is_language and not all(one.messages for one in known):
        raise NothingToLearn(
            f"expected outcomes with text for {backend}, got some without; record them again in an environment that "
            "shows text, or train with --backend outcomes"
        )
    if is_language:
        of_backend |= {"decode": "free", "prompt": "simulator_trained"}
        of_backend |= {"mode": str(getattr(made.unwrapped, domain_of(made).mode_argument, ""))}
    else:
        of_backend = {"rate": 0.05, "types": types, **of_backend}
    model = load_trainable(backend, env, "policy", seed=seed, **of_backend)
    schedule = replace(model.schedule(SIMULATOR), **of_schedule)
    settings = asdict(how) | asdict(schedule) | of_backend
    folder, facts = Path(out), {"recipe": SIMULATOR, "options": settings, "env": env, "seed": seed, "backend": backend}
    asked = digest(facts, [tuple(one) for one in known])
    with writing(folder):
        if (folder / MODEL).exists():
            return finished_model(folder, asked, SIMULATOR)
        chosen = how.drawn(known, np.random.default_rng(seed_of("simulator", seed)))
        examples = weighted([outcome_row(one) for one in chosen], cross_entropy)
        report(f"simulator: {len(chosen)} rows, {len(types)} types of outcomes")
        fitted = model.fit(examples, schedule, folder=folder, seed=seed, asked=asked)
        report(f"simulator: {fitted.n_epochs} epochs{fitted.ending}")
        if not is_language:
            write(known, folder / OUTCOMES)  # what is shown
        tasks = {one.task_id for one in known}
        whole = {
            **facts,
            "head": "policy",
            "asked": asked,
            "identity": fitted.model.identity,
            "trained_on": {
                "env": env,
                "data": "" if data is None else str(data.digest),
                "split": TRAIN,
                "tasks": sorted(tasks),
                "subjects": subjects_of(env, {}, tasks),
                "n_rows": len(chosen) - fitted.n_left_out,
                "reward_information": "",
            },
        }
        return write_model(folder, fitted.model, whole)
