"""Explores and trains in turn. Each round goes on from the policy that is best on dev tasks so far.

It trains on its own data, or on those of all rounds: the replay buffer of Agent Q (arXiv 2408.07199, section 5.2).

A stage is a run folder or a model folder, and both resume by themselves. So a stopped loop goes on when it is called
again: finished stages are read, not repeated.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from iad_policy.errors import UnknownName
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore, run_episodes
from iad_policy.learn.recipes import load_recipe
from iad_policy.learn.train import LANGUAGE, train
from iad_policy.learn.trainable import load_trainable
from iad_policy.registry.domain import domain_by_id
from iad_policy.run.resolve import parameters_of
from iad_policy.trained.models import ROUNDS
from iad_policy.types.atomic import write_text
from iad_policy.types.hashing import dumps

Tell = Callable[[str], Any]
Buffer = Literal["newest", "all"]
"""Whose data a round trains on: its own, or those of all rounds so far, its own first."""


@dataclass(frozen=True, slots=True)
class Method:
    """How a round learns.

    Attributes:
        how: How it explores.
        recipe: What trains the policy on that.
        options: Options of the recipe.
        starts: Whether training goes on from the policy before. Otherwise it begins anew.
        exploring: Further options of the exploration.
    """

    how: str
    recipe: str
    options: Mapping[str, Any] = field(default_factory=dict)
    starts: bool = True
    exploring: Mapping[str, Any] = field(default_factory=dict)


METHODS: Mapping[str, Method] = {
    "rft": Method("rollouts", "rft", starts=False),
    "eto": Method("rollouts", "eto", {"beta": 0.5}),
    "dpo": Method("mcts", "dpo", exploring={"critic": "proxy"}),
    "iad": Method("iad", "dpo", {"source": "decisions"}),
}
"""Name -> what a round does."""


@dataclass(frozen=True, slots=True)
class Improved:
    """What the rounds came to.

    Attributes:
        out: The folder.
        dev: Mean reward on dev tasks of each round's policy, round 0 first.
    """

    out: Path
    dev: tuple[float, ...]

    @property
    def best(self) -> int:
        """The round with the highest mean reward on dev tasks, the first among equals."""
        return max(range(len(self.dev)), key=self.dev.__getitem__)

    @property
    def agent(self) -> str:
        """Name of the best round's agent."""
        return f"learned:{self.out / f'model-{self.best}'}"


def improve(
    env: str,
    method: str = "dpo",
    *,
    out: Path | str,
    agent: str | None = None,
    rounds: int = 3,
    backend: str = "linear",
    tasks: int | None = None,
    demos: int = 10,
    dev_tasks: int | None = None,
    buffer: Buffer = "newest",
    seed: int = 0,
    report: Tell = lambda text: None,
    **options: Any,
) -> Improved:
    """Improve a policy in rounds. Round 0 imitates the demonstrations of an agent.

    Gold is read as the reward of training tasks, and of dev tasks to choose a round. Test tasks are not touched.

    Args:
        env: The environment's id.
        method: A name in `METHODS`.
        out: Folder of the rounds.
        agent: The agent that demonstrates; by default the environment's own.
        rounds: Number of rounds.
        backend: What is trained.
        tasks: Number of training tasks that a round explores. None takes all.
        demos: Number of demonstrations.
        dev_tasks: Number of tasks that choose a round. None takes all.
        buffer: Whose data a round trains on: see `Buffer`. With `all`, the reference of preferences is the `behaviour`:
            the likelihoods of each round's own policy.
        seed: Seed of exploring and training.
        report: Function that is told how it goes, a line at a time.
        options: Options of the method's recipe.

    Each model's file says in `trained_on` how many rows were of which round: `n_rows_of`.

    Raises:
        UnknownName: There is no such method or buffer, or the environment has no train or dev split.
        NoFeatures: The environment has no features, and the backend needs them.
        ValueError: The buffer is `all`, and the reference is the model before training.
        NothingToLearn: A round has found nothing to learn from.
    """
    if method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if buffer not in get_args(Buffer):
        raise UnknownName("buffer", buffer, get_args(Buffer))
    how, folder = METHODS[method], Path(out)
    learning = {**how.options, **options}
    if buffer == "all" and hasattr(load_recipe(how.recipe), "reference"):
        learning = {"reference": "behaviour", **learning}
        if learning["reference"] != "behaviour":
            raise ValueError(
                "expected reference=behaviour with the data of all rounds, as the model before training proposed only "
                f"some of them, got reference={learning['reference']}; leave it out, or train on the newest data "
                "(buffer=newest)"
            )
    if not backend.startswith(LANGUAGE):  # what it lacks is told before anything is played
        parameters_of(env)  # imports what registers it
        load_trainable(backend, env, "policy")
    shown = explore(
        env, agent, out=folder / "demos", tasks=tasks, episodes=1, temperature=0.0, seed=seed, report=report
    )
    train("bc", shown, out=folder / "model-0", backend=backend, demos=demos, seed=seed, report=report)
    dev = [_measured(env, folder, 0, dev_tasks, report)]
    kept: list[Experience] = []
    for number in range(1, rounds + 1):
        before = folder / f"model-{Improved(folder, tuple(dev)).best}"
        found = explore(
            env,
            f"learned:{before}",
            how=how.how,
            out=folder / f"round-{number}",
            tasks=tasks,
            seed=seed + 1000 * number,
            report=report,
            **how.exploring,
        )
        kept = [found, *kept] if buffer == "all" else [found]
        train(
            how.recipe,
            Experience.joined(kept),
            out=folder / f"model-{number}",
            backend=backend,
            start=before if how.starts else None,
            seed=seed,
            report=report,
            **learning,
        )
        dev.append(_measured(env, folder, number, dev_tasks, report))
    improved = Improved(folder, tuple(dev))
    record = {"method": method, "buffer": buffer, "dev": dev, "best": improved.best}
    write_text(folder / ROUNDS, f"{dumps(record)}\n")
    return improved


def _measured(env: str, folder: Path, number: int, tasks: int | None, report: Tell) -> float:
    """Return the mean reward of a round's policy on dev tasks."""
    asked = {
        "env": env,
        "agent": f"learned:{folder / f'model-{number}'}",
        "strategies": ("single",),
        "split": domain_by_id(env).development,
        "seed": (0, 1),
    }
    found = run_episodes(asked, tasks, folder / f"dev-{number}")
    rewards = [record.reward for own in found.records.values() for record in own]
    mean = sum(rewards) / len(rewards)
    report(f"round {number}: mean reward {mean:.3f} on {len(rewards) // 2} dev tasks")
    return mean
