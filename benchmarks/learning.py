"""Measures learning with models in numpy: the time of a whole pipeline, and what each way to learn is worth.

Every comparison is on the 200 test tasks of the shop, with sampled policies, paired by task and seed. Intervals are
bootstrapped over tasks. A row holds if its interval is above 0, or says what else is asked of it. `--full` takes five
seeds instead of one, and adds rounds of improvement and two other environments. What search at the end, PPO, targets of
values, few demonstrations and simulators are worth is in `iad reproduce agentq`, `qstar` and `artis`.
"""

import argparse
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from support.figures import figure
from support.learning import SHOP, Rewards, rewards, row

import iad_envs  # noqa: F401 (registers)
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.improve import improve
from iad_policy.learn.train import train

N_TEST = 200
OTHERS = {"IAD/InterCodeBash-v0": "scripter", "IAD/BIRD-v0": "linker"}
"""Environment -> its rule-based agent, of whose proposals a policy learns to choose."""
GUIDED: Mapping[str, Any] = {"temperature": 1.0, "strategy_args": {"q-guided.perturb": False}}


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
        self.trained("bc", "bc", demos, demos=10)
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
        return rewards(agent, strategy, seed=self.seed, tasks=N_TEST, **options)


def measure(folder: Path, seeds: range, *, is_full: bool) -> None:
    """Train with every seed, and print the rows."""
    found: dict[str, dict[tuple[str, int], float]] = {}
    seconds: list[float] = []
    for seed in seeds:
        one = Pipeline(folder / f"seed-{seed}", seed)
        one.run()
        seconds.append(sum(one.seconds.values()))
        for name, own in _measured(one).items():
            found.setdefault(name, {}).update(own)
        if seed == seeds[0]:
            for name, value in one.seconds.items():
                figure(f"learning_{name}_s", value, "s CPU")
    figure("learning_pipeline_s", sorted(seconds)[len(seconds) // 2], "s CPU", target=8, n=len(seconds))
    _rows(found)
    if is_full:
        leaks(folder, seeds)
        rounds(folder)
        for env in OTHERS:
            beyond_shopping(env, folder, seeds)


def _measured(one: Pipeline) -> dict[str, Rewards]:
    """Return the rewards of every arm of a seed."""
    arms: dict[str, Rewards] = {name: one.rewards(one.agent(name)) for name in ("bc", "rft", "eto", "dpo-1", "dpo-0.5")}
    arms["random"] = one.rewards("random")
    for n in (2, 3):
        verifier = f"qnet:{one.folder / 'q-bellman'}"
        arms[f"q-guided-{n}"] = one.rewards(one.agent("bc"), "q-guided", n=n, verifier=verifier, **GUIDED)
        arms[f"bon-{n}"] = one.rewards(one.agent("bc"), "bon", n=n)
    return arms


def _rows(found: Mapping[str, Rewards]) -> None:
    bc = found["bc"]
    row("1_bc_minus_random", bc, found["random"])
    row("2_rft_minus_bc", found["rft"], bc, least=-0.01)
    row("3_eto_minus_bc", found["eto"], bc)
    for alpha in ("1", "0.5"):
        row(f"4_dpo_alpha_{alpha}_minus_bc", found[f"dpo-{alpha}"], bc)
        row(f"4_dpo_alpha_{alpha}_minus_eto", found[f"dpo-{alpha}"], found["eto"], least=None)
    for n in (2, 3):
        row(f"5_q_guided_{n}_minus_single", found[f"q-guided-{n}"], bc)
        row(f"5_q_guided_{n}_minus_bon_{n}_by_proxy", found[f"q-guided-{n}"], found[f"bon-{n}"], least=None)


def leaks(folder: Path, seeds: range) -> None:
    """Print what true rewards at test time are worth (row 16, label oracle), and searching whole episodes (row 17)."""
    arms: dict[str, dict[tuple[str, int], float]] = {}
    for seed in seeds:
        one = Pipeline(folder / f"seed-{seed}", seed)
        q = f"qnet:{one.folder / 'q-bellman'}"
        for name, verifier in (("fair", q), ("leaking", f"terminal-oracle:{q}")):
            own = one.rewards(one.agent("bc"), "q-guided", n=2, verifier=verifier, **GUIDED)
            arms.setdefault(f"guided-{name}", {}).update(own)
        for name, verifier in (("fair", q), ("leaking", "oracle")):
            own = one.rewards(one.agent("bc"), "bon-episode", n=2, verifier=verifier)
            arms.setdefault(f"best-{name}", {}).update(own)
    row("16_oracle_true_reward_at_ends_minus_qnet", arms["guided-leaking"], arms["guided-fair"], least=None)
    row("16_oracle_best_episode_by_true_reward_minus_by_qnet", arms["best-leaking"], arms["best-fair"], least=None)
    row("17_q_guided_2_minus_best_of_2_episodes", arms["guided-fair"], arms["best-fair"], least=None)


def beyond_shopping(env: str, folder: Path, seeds: range) -> None:
    """Print what is learned from the training tasks of other environments, against their agents at equal proposals."""
    short = env.split("/")[1].split("-")[0].lower()
    arms: dict[str, dict[tuple[str, int], float]] = {}
    for seed in seeds:
        here = folder / f"{short}-{seed}"
        given: dict[str, Any] = {"seed": 10_000 * (seed + 1)}
        demos = explore(env, out=here / "demos", episodes=1, temperature=0.0, **given)
        train("bc", demos, out=here / "bc", seed=seed, keep=0.99)
        agent = f"learned:{here / 'bc'}"
        rollouts = explore(env, agent, out=here / "rollouts", **given)
        train("rft", rollouts, out=here / "rft", seed=seed, keep=0.99)
        train("eto", rollouts, out=here / "eto", start=here / "bc", seed=seed, beta=0.5)
        train("qnet", explore(env, agent, how="tree", out=here / "trees", **given), out=here / "q", seed=seed)
        measured: dict[str, Rewards] = {
            **{
                name: rewards(f"learned:{here / name}", seed=seed, tasks=N_TEST, env=env)
                for name in ("bc", "rft", "eto")
            },
            "agent": rewards(OTHERS[env], seed=seed, tasks=N_TEST, env=env),
            "voted": rewards(OTHERS[env], "bon-sc", n=16, seed=seed, tasks=N_TEST, env=env),
            "guided": rewards(
                agent, "q-guided", n=3, verifier=f"qnet:{here / 'q'}", seed=seed, tasks=N_TEST, env=env, **GUIDED
            ),
        }
        for name, own in measured.items():
            arms.setdefault(name, {}).update(own)
    row(f"18_{short}_bc_minus_rule_based_agent", arms["bc"], arms["agent"])
    row(f"18_{short}_bc_minus_agent_of_16_voted", arms["bc"], arms["voted"], least=None)
    row(f"18_{short}_rft_minus_bc", arms["rft"], arms["bc"], least=None)
    row(f"18_{short}_eto_minus_bc", arms["eto"], arms["bc"], least=None)
    row(f"18_{short}_q_guided_3_minus_bc", arms["guided"], arms["bc"], least=None)


def rounds(folder: Path) -> None:
    """Print what three rounds of each method are worth on the test tasks."""
    for method in ("dpo", "rft", "eto", "iad"):
        out = folder / f"improve-{method}"
        found = improve(SHOP, method, out=out, rounds=3, tasks=100)
        one = Pipeline(out, 0)
        first, best = (one.rewards(one.agent(f"model-{number}")) for number in (0, found.best))
        row(f"9_improve_{method}_best_round_minus_0", best, first)
        figure(f"learning_9_improve_{method}_best_round", found.best, "round", better="higher")
        figure(
            f"learning_9_improve_{method}_least_gain_on_dev", min(found.dev) - found.dev[0], "reward", better="higher"
        )


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="five seeds, rounds of improvement, other environments")
    is_full = parser.parse_args().full
    began = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        measure(Path(folder), range(5 if is_full else 1), is_full=is_full)
    figure("learning_all_s", perf_counter() - began, "s", n=1)


if __name__ == "__main__":
    main()
