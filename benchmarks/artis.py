"""Measures the gain of `artis` over `single` in success, for simulators of different fidelity.

The agents are rule-based and follow a plan, and the evaluator uses the proxy verifier's verdict. So it checks the
mechanism and says nothing about language models. Each gain is paired by task and has a bootstrap interval. It is
printed with the simulator's measured fidelity. `--full` adds shell and SQL tasks, recorded outcomes, ablations, and
other numbers of attempts.
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy.evaluate import evaluate
from iad_policy.learn.fidelity import fidelity

FIDELITIES = (0.0, 0.5, 0.8, 0.95, 1.0)
N = 5
N_TASKS_COMPARED = 30
ABLATIONS: Mapping[str, dict[str, Any]] = {
    "parallel": {"mode": "parallel"},
    "no_evaluation": {"evaluate": False},
    "no_summary": {"summarise": False},
    "neither": {"evaluate": False, "summarise": False},
    "until_pass": {"until_pass": True},
}


def main() -> None:
    is_full = "--full" in sys.argv[1:]
    levels("IAD/WebShop-v0", 200, [f"noisy:{level:g}" for level in FIDELITIES])
    if is_full:
        levels("IAD/WebShop-v0", 200, ["retrieval"])
        levels("IAD/InterCodeBash-v0", 83, [*(f"noisy:{level:g}" for level in FIDELITIES), "retrieval"])
        levels("IAD/BIRD-v0", 216, [f"noisy:{level:g}" for level in FIDELITIES])
        for env_id, n_tasks in (("IAD/WebShop-v0", 200), ("IAD/InterCodeBash-v0", 83)):
            ablations(env_id, n_tasks)


def levels(env_id: str, n_tasks: int, simulators: Sequence[str]) -> None:
    """Print each simulator's fidelity and the gain of ARTIS with it."""
    env = gym.make(env_id)
    for simulator in simulators:
        name = f"{short(env_id)}_{simulator.replace(':', '_')}"
        report = fidelity(env, simulator, tasks=N_TASKS_COMPARED)
        figure(f"similarity_{name}", report.similarity, "cosine", n=report.n, better="higher")
        figure(f"high_fidelity_{name}", report.high_fidelity, "share", n=report.n, better="higher")
        if report.failure_recall is not None:
            n = sum(one.n for kind, one in report.recall.items() if kind not in ("success", "end"))
            figure(f"failure_recall_{name}", report.failure_recall, "share", n=n, better="higher")
        gain(name, env_id, n_tasks, simulator=simulator)
    env.close()


def ablations(env_id: str, n_tasks: int) -> None:
    """Print the gain without evaluation, without a summary, and so on, and for each number of attempts."""
    for name, options in ABLATIONS.items():
        gain(f"{short(env_id)}_{name}", env_id, n_tasks, options=options)
    for n in (1, 3, 8, 10):
        gain(f"{short(env_id)}_n_{n}", env_id, n_tasks, n=n)


def gain(name: str, env_id: str, n_tasks: int, *, options: Mapping[str, Any] | None = None, **run: Any) -> None:
    """Print the gain of ARTIS over single, with its 95 % interval."""
    from iad_policy.strategies import declares
    from iad_policy.strategies.artis import artis

    @declares(n="attempts per episode")
    def simulating_first(here: Any, *, n: int = N) -> Any:
        return artis(here, n=n, **(options or {}))

    strategies = {"single": "single", "artis": simulating_first}
    results = evaluate(env_id, strategies, n_tasks, agent="plan-following", **{"n": N, "baseline": "single", **run})
    difference = results.compare("artis", "single")
    rows = results.figures(1).summaries
    alone, pairs = rows["single"].success, difference.n_pairs
    figure(f"gain_{name}", difference.success or 0.0, "success", n=pairs, better="higher", baseline=alone)
    for bound in ("low", "high"):
        figure(f"gain_{name}_{bound}_95", getattr(difference.success_95, bound), "success", n=pairs, better="higher")
    if rows["artis"].evaluation_pass_rate is not None:
        figure(f"pass_rate_{name}", rows["artis"].evaluation_pass_rate, "share", n=run.get("n", N) * pairs)


def short(env_id: str) -> str:
    return env_id.partition("/")[2].partition("-")[0].lower()


if __name__ == "__main__":
    main()
