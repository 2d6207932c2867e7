"""Explores training tasks, and records what there is to learn from. It is a run like any other, and resumes as one."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.evaluation import execute
from iad_policy.learn.experience import Experience
from iad_policy.learn.progress import advance
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.results import Results
from iad_policy.run.components import load_components
from iad_policy.run.resolve import env_of, resolve
from iad_policy.run.runner import Runner
from iad_policy.types.names import TRAIN


@dataclass(frozen=True, slots=True)
class How:
    """A way to explore.

    Attributes:
        strategy: The strategy that is run.
        options: Its settings.
        n_episodes: Episodes per task, each with a seed of its own.
    """

    strategy: str
    options: Mapping[str, Any] = field(default_factory=dict)
    n_episodes: int = 1


HOWS: Mapping[str, How] = {
    "rollouts": How("single", n_episodes=4),  # episodes, for bc, rft and eto
    "mcts": How("mcts", {"n": 10, "k": 3}),  # Agent Q's search trees, for dpo
    "tree": How("q-tree", {"width": 2, "depth_expanded": 3}),  # Q*Agent's trees of rollouts, for qnet
    "guided": How("q-guided", {"n": 3, "perturb": False}),  # episodes guided by values, for bc: self-training
    "iad": How("iad", {"n": 3}),  # committed and rejected candidates, for dpo with source=decisions
}
"""Name -> what is run."""


def explore(
    env: str,
    agent: str | None = None,
    *,
    out: Path | str,
    how: str = "rollouts",
    reward: str = "oracle",
    critic: str | None = None,
    tasks: int | None = None,
    episodes: int | None = None,
    seed: int = 0,
    temperature: float = 1.0,
    report: Callable[[str], Any] = lambda text: None,
    **options: Any,
) -> Experience:
    """Explore training tasks, and return what was found. The same call again goes on after a kill.

    Args:
        env: The environment's id.
        agent: The agent that explores; by default the environment's own.
        out: The run folder.
        how: A name in `HOWS`.
        reward: The verifier that rewards. `oracle` is the true reward, which is read on training tasks only.
        critic: A verifier that ranks proposals in a search, apart from the reward. None takes the reward.
        tasks: Number of training tasks, from the start of the split. None takes all.
        episodes: Episodes per task.
        seed: Seed of the first episode of each task. The others have the next ones.
        temperature: Temperature of proposals.
        report: Function that is told how it goes, a line at a time.
        options: Further options of the run or, as `strategy_args`, of the strategy.

    Raises:
        UnknownName: There is no such way to explore.
        ValueError: An option is not possible, or the split is not `train`.
        RunFolderError: The folder holds another run.
    """
    if how not in HOWS:
        raise UnknownName("way to explore", how, HOWS)
    known = HOWS[how]
    split = options.pop("split", TRAIN)
    if split != TRAIN:
        raise ValueError(
            f"expected the split {TRAIN!r} to explore, got {split!r}; what is learned from other tasks can't be "
            "measured on them: run `iad run` to look at them"
        )
    asked = {
        "env": env,
        "strategies": (known.strategy,),
        "verifier": reward,
        "split": TRAIN,
        "seed": tuple(range(seed, seed + (known.n_episodes if episodes is None else episodes))),
        "temperature": temperature,
        "allow_trained_tasks": True,  # it measures nothing
        **({"roles": {"ranker": f"verifier:{critic}"}} if critic else {}),
        **({} if agent is None else {"agent": agent}),
        **options,
    }
    own = {f"{known.strategy}.{name}": value for name, value in known.options.items()}
    asked["strategy_args"] = {**own, **dict(asked.get("strategy_args", {}))}
    run_episodes(asked, tasks, out)
    found = Experience.of([out])
    mean = sum(one.reward for one in found.trajectories) / len(found.trajectories)
    report(f"explored {len(found.tasks)} tasks: {len(found.trajectories)} episodes, mean reward {mean:.3f}")
    return found


def run_episodes(asked: Mapping[str, Any], tasks: int | None, out: Path | str) -> Results:
    """Run the missing episodes of a run on its first tasks, on all for None, and tell how many are there."""
    config = replace(resolve(asked, folder=out), tasks=tasks)  # to `resolve`, None is an option that was not set
    runner = Runner(config, partial(env_of, config), load_components)

    @contextmanager
    def counted(results: Results) -> Iterator[Callable[[EpisodeRecord, bool], None]]:
        yield lambda record, is_new: advance("playing", results.n_episodes, results.n_expected)

    try:
        finished = execute(runner, out, warn=warnings.warn, writes_report=False, watching=counted)
    finally:
        runner.close()
    if finished.stopped is not None:
        raise finished.stopped
    return finished.results
