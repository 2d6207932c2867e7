"""Measures learning with models in numpy: the time of a whole pipeline, and what each way to learn is worth.

Every comparison is on the 200 test tasks of the shop, with sampled policies, paired by task and seed. Intervals are
bootstrapped over tasks. A row holds if its interval is above 0, or says what else is asked of it. `--full` takes five
seeds instead of one, and adds rounds of improvement. What search at the end, PPO, targets of values, few demonstrations
and simulators are worth is in `iad reproduce agentq`, `qstar` and `artis`.
"""

import tempfile
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any

from support.figures import FULL, figure, timed
from support.learning import SHOP, Rewards, rewards, row

import iad_envs  # noqa: F401 (registers)
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.improve import improve
from iad_policy.learn.train import train

N_TEST = 200
SEEDS = range(5 if FULL else 1)
Arms = dict[str, dict[tuple[str, int], float]]


class Trained:
    """A folder in which everything of one seed is explored and trained."""

    def __init__(self, env: str, folder: Path, seed: int) -> None:
        self.env, self.folder, self.seed = env, folder, seed

    def explored(self, name: str, agent: str | None = None, **options: Any) -> Experience:
        """Explore by an agent: a trained policy by its name, the rule-based one by none."""
        told = agent and self.agent(agent)
        return explore(self.env, told, out=self.folder / name, seed=10_000 * (self.seed + 1), **options)

    def trained(self, recipe: str, given: Experience, name: str = "", **options: Any) -> None:
        """Train."""
        train(recipe, given, out=self.folder / (name or recipe), seed=self.seed, **options)

    def agent(self, name: str) -> str:
        """Return the name of a trained policy."""
        return f"learned:{self.folder / name}"

    def rewards(self, agent: str, strategy: str = "single", **options: Any) -> Rewards:
        """Return what an agent earns on the test tasks."""
        return rewards(agent, strategy, seed=self.seed, tasks=N_TEST, env=self.env, **options)

    def guided(self, n: int) -> Rewards:
        """Return what the imitating policy earns if the value model chooses among n actions."""
        options: dict[str, Any] = {"temperature": 1.0, "strategy_args": {"q-guided.perturb": False}}
        return self.rewards(self.agent("bc"), "q-guided", n=n, verifier=f"qnet:{self.folder / 'qnet'}", **options)

    def shopping(self) -> None:
        """Explore and train in the shop."""
        self.trained("bc", self.explored("demos", tasks=120, episodes=1, temperature=0.0), demos=10)
        rollouts = self.explored("rollouts", "bc", tasks=300)
        self.trained("rft", rollouts)
        self.trained("eto", rollouts, start=self.folder / "bc", beta=0.5)
        search = self.explored("search", "bc", how="mcts", tasks=40, critic="proxy")
        for alpha in (1.0, 0.5):
            self.trained("dpo", search, f"dpo-{alpha:g}", start=self.folder / "bc", alpha=alpha)
        self.trained("qnet", self.explored("trees", "bc", how="tree", tasks=200))


def in_the_shop(folder: Path) -> None:
    """Train with every seed, and print the time and the rows."""
    arms: Arms = {}
    seconds = []
    for seed in SEEDS:
        one = Trained(SHOP, folder / f"seed-{seed}", seed)
        seconds.append(timed(one.shopping, process_time))
        found = {name: one.rewards(one.agent(name)) for name in ("bc", "rft", "eto", "dpo-1", "dpo-0.5")}
        found["random"] = one.rewards("random")
        for n in (2, 3):
            found |= {f"guided-{n}": one.guided(n), f"bon-{n}": one.rewards(one.agent("bc"), "bon", n=n)}
        for name, own in found.items():
            arms.setdefault(name, {}).update(own)
    figure("learning_pipeline_s", median(seconds), "s CPU", target=8, n=len(seconds))
    bc = arms["bc"]
    row("1_bc_minus_random", bc, arms["random"])
    row("2_rft_minus_bc", arms["rft"], bc, least=-0.01)
    row("3_eto_minus_bc", arms["eto"], bc)
    for alpha in ("1", "0.5"):
        row(f"4_dpo_alpha_{alpha}_minus_bc", arms[f"dpo-{alpha}"], bc)
    for n in (2, 3):
        row(f"5_q_guided_{n}_minus_single", arms[f"guided-{n}"], bc)
        row(f"5_q_guided_{n}_minus_bon_{n}_by_proxy", arms[f"guided-{n}"], arms[f"bon-{n}"], least=None)


def rounds(folder: Path) -> None:
    """Print what three rounds of each method are worth on the test tasks."""
    for method in ("dpo", "rft", "eto", "iad"):
        one = Trained(SHOP, folder / f"improve-{method}", 0)
        found = improve(SHOP, method, out=one.folder, rounds=3, tasks=100)
        first, best = (one.rewards(one.agent(f"model-{number}")) for number in (0, found.best))
        row(f"9_improve_{method}_best_round_minus_0", best, first)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        in_the_shop(Path(name))
        if FULL:
            rounds(Path(name))


if __name__ == "__main__":
    main()
