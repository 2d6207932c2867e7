"""Measures learning with models in numpy: the time of a whole pipeline, and what each way to learn is worth.

Every comparison is on the 200 test tasks of the shop, with sampled policies, paired by task and seed. Intervals are
bootstrapped over tasks. A row holds if its interval is above 0, or says what else is asked of it. `--full` takes five
seeds instead of one, and adds rounds of improvement, trained simulators and the parts of ARTIS. `--rehearsal` measures
these two alone.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from support import rehearsal
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.analysis.statistics import bootstrap_mean, sign_flip
from iad_policy.learning.experience import Experience
from iad_policy.learning.explore import explore
from iad_policy.learning.improve import improve
from iad_policy.learning.train import train

SHOP = "IAD/WebShop-v0"
N_TEST = 200
N_DEMOS = 10
Rewards = Mapping[tuple[str, int], float]
"""Reward by task and seed."""


@dataclass
class Pipeline:
    """Everything that is trained with one seed.

    Attributes:
        folder: Where it is written.
        seed: The seed.
        seconds: CPU seconds of each stage, by name.
    """

    folder: Path
    seed: int
    seconds: dict[str, float] = field(default_factory=dict)

    def timed(self, name: str, work: Callable[[], Any]) -> Any:
        """Return what some work returns, and keep how long it took."""
        began = process_time()
        made = work()
        self.seconds[name] = process_time() - began
        return made

    def run(self) -> None:
        """Explore and train."""
        demos = self.explored("demos", tasks=120, episodes=1, temperature=0.0)
        self.trained("bc", "bc", demos, demos=N_DEMOS)
        rollouts = self.explored("rollouts", agent=self.agent("bc"), tasks=300)
        self.trained("rft", "rft", rollouts)
        self.trained("eto", "eto", rollouts, start=self.folder / "bc", beta=0.5)
        search = self.explored("search", agent=self.agent("bc"), how="mcts", tasks=40, critic="proxy")
        for alpha in (1.0, 0.5):
            self.trained(f"dpo-{alpha:g}", "dpo", search, start=self.folder / "bc", alpha=alpha)
        trees = self.explored("trees", agent=self.agent("bc"), how="tree", tasks=200)
        for targets in ("bellman", "averaged", "raw"):
            self.trained(f"q-{targets}", "qnet", trees, targets=targets)
        self.trained("q-scaled", "qnet", trees, scale="tree")

    def online(self) -> None:
        """Train on episodes that are played meanwhile."""
        for advantage in ("ppo", "grpo", "gigpo"):
            self.trained(advantage, "ppo", SHOP, start=self.folder / "bc", advantage=advantage)

    def explored(self, name: str, **options: Any) -> Experience:
        """Explore."""
        seed = 10_000 * (self.seed + 1)
        made: Experience = self.timed(
            name, lambda: explore(SHOP, options.pop("agent", None), out=self.folder / name, seed=seed, **options)
        )
        return made

    def trained(self, name: str, recipe: str, given: Any, **options: Any) -> None:
        """Train."""
        self.timed(name, lambda: train(recipe, given, out=self.folder / name, seed=self.seed, **options))

    def agent(self, name: str) -> str:
        """Return the name of a trained policy."""
        return f"learned:{self.folder / name}"

    def rewards(self, agent: str, strategy: str = "single", **options: Any) -> Rewards:
        """Return what an agent earns on the test tasks."""
        found = evaluate(
            SHOP, [strategy], agent=agent, tasks=N_TEST, seed=self.seed, baseline=strategy, split="test", **options
        )
        (records,) = found.records.values()
        return {(record.task_id, record.seed): record.reward for record in records}


def row(name: str, ours: Rewards, theirs: Rewards, *, least: float | None = 0.0) -> None:
    """Print a comparison.

    Args:
        name: Name of the row.
        ours: Rewards of one side.
        theirs: Rewards of the other, on the same tasks with the same seeds.
        least: The interval has to be above it. None for a row that is reported only.
    """
    keys = sorted(ours)
    off = [ours[key] - theirs[key] for key in keys]
    tasks = [task for task, _ in keys]
    interval = bootstrap_mean(off, clusters=tasks)
    line = {
        "metric": f"learning_{name}",
        "value": round(sum(off) / len(off), 4),
        "unit": "reward",
        "interval": [round(interval.low, 4), round(interval.high, 4)],
        "p": round(sign_flip(off, clusters=tasks), 4),
        "ours": round(sum(ours.values()) / len(ours), 4),
        "theirs": round(sum(theirs.values()) / len(theirs), 4),
        "target": least,
        "better": "higher",
        "meets": None if least is None else interval.low > least,
        "n": len(off),
    }
    print(json.dumps(line), flush=True)


def measure(folder: Path, seeds: range, *, is_full: bool) -> None:
    """Train with every seed, and print the rows."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    seconds: list[float] = []
    for seed in seeds:
        one = Pipeline(folder / f"seed-{seed}", seed)
        one.run()
        seconds.append(sum(one.seconds.values()))
        one.online()
        for name, rewards in _measured(one).items():
            found.setdefault(name, {}).update(rewards)
        if seed == seeds[0]:
            for name, value in one.seconds.items():
                figure(f"learning_{name}_s", value, "s CPU")
    figure("learning_pipeline_s", sorted(seconds)[len(seconds) // 2], "s CPU", target=8, n=len(seconds))
    _rows(found)
    if is_full:
        rounds(folder)
        rehearsal.measure(folder)


def _measured(one: Pipeline) -> dict[str, Rewards]:
    """Return the rewards of every arm of a seed."""
    guided = {"temperature": 1.0, "strategy_args": {"q-guided.perturb": False}}
    policies = ("bc", "rft", "eto", "dpo-1", "dpo-0.5", "ppo", "grpo", "gigpo")
    arms: dict[str, Rewards] = {name: one.rewards(one.agent(name)) for name in policies}
    arms["random"] = one.rewards("random")
    for q in ("q-bellman", "q-averaged", "q-raw", "q-scaled"):
        arms[q] = one.rewards(one.agent("bc"), "q-guided", n=2, verifier=f"qnet:{one.folder / q}", **guided)
    arms["q-guided-3"] = one.rewards(
        one.agent("bc"), "q-guided", n=3, verifier=f"qnet:{one.folder / 'q-bellman'}", **guided
    )
    for n in (2, 3):
        arms[f"bon-{n}"] = one.rewards(one.agent("bc"), "bon", n=n)
    for name in ("bc", "rft", "dpo-0.5"):
        arms[f"{name}+mcts"] = one.rewards(one.agent(name), "mcts", n=4, strategy_args={"mcts.k": 2})
    return arms


def _rows(found: Mapping[str, Rewards]) -> None:
    bc = found["bc"]
    row("1_bc_minus_random", bc, found["random"])
    row("2_rft_minus_bc", found["rft"], bc, least=-0.01)
    row("3_eto_minus_bc", found["eto"], bc)
    for alpha in ("1", "0.5"):
        row(f"4_dpo_alpha_{alpha}_minus_bc", found[f"dpo-{alpha}"], bc)
        row(f"4_dpo_alpha_{alpha}_minus_eto", found[f"dpo-{alpha}"], found["eto"], least=None)
    row("5_q_guided_2_minus_single", found["q-bellman"], bc)
    row("5_q_guided_3_minus_single", found["q-guided-3"], bc)
    row("5_q_guided_2_minus_bon_2_by_proxy", found["q-bellman"], found["bon-2"], least=None)
    row("5_q_guided_3_minus_bon_3_by_proxy", found["q-guided-3"], found["bon-3"], least=None)
    row("6_bellman_minus_averaged", found["q-bellman"], found["q-averaged"], least=None)
    row("6_averaged_minus_raw", found["q-averaged"], found["q-raw"], least=None)
    row("6_not_scaled_minus_scaled", found["q-bellman"], found["q-scaled"], least=None)
    for advantage in ("ppo", "grpo", "gigpo"):
        row(f"8_{advantage}_minus_bc", found[advantage], bc)
    for name in ("bc", "rft", "dpo-0.5"):
        row(f"10_{name}_with_mcts_minus_without", found[f"{name}+mcts"], found[name], least=None)


def rounds(folder: Path) -> None:
    """Print what three rounds of each method are worth on the test tasks."""
    for method in ("dpo", "rft", "eto", "iad"):
        out = folder / f"improve-{method}"
        found = improve(SHOP, method, out=out, rounds=3, tasks=100)
        one = Pipeline(out, 0)
        first, last = (one.rewards(one.agent(f"model-{number}")) for number in (0, 3))
        row(f"9_improve_{method}_round_3_minus_0", last, first)
        figure(
            f"learning_9_improve_{method}_least_gain_on_dev", min(found.dev) - found.dev[0], "reward", better="higher"
        )


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="five seeds, rounds of improvement, and ARTIS")
    parser.add_argument("--rehearsal", action="store_true", help="only trained simulators and the parts of ARTIS")
    arguments = parser.parse_args()
    began = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.rehearsal:
            rehearsal.measure(Path(folder))
        else:
            measure(Path(folder), range(5 if arguments.full else 1), is_full=arguments.full)
    figure("learning_all_s", perf_counter() - began, "s", n=1)


if __name__ == "__main__":
    main()
