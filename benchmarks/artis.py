"""Measures the gain of `artis` over `single` in success, for simulators of different fidelity.

The agents are rule-based and follow a plan, and the evaluator uses the proxy verifier's verdict. So it checks the
mechanism and says nothing about language models. Each gain is paired by task and has a bootstrap interval. It is
printed with the simulator's measured fidelity. `--full` adds trained simulators and recorded outcomes. What each part
of ARTIS is worth is in `iad reproduce artis`.
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import gymnasium as gym
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy.evaluation import evaluate
from iad_policy.learn.fidelity import fidelity
from iad_policy.learn.simulators import record_outcomes, train_simulator

SHOP = "IAD/WebShop-v0"
NOISY = [f"noisy:{level:g}" for level in (0.0, 0.5, 0.8, 0.95, 1.0)]
N = 5


def main() -> None:
    levels(SHOP, 200, NOISY)
    if "--full" in sys.argv[1:]:
        levels(SHOP, 200, ["retrieval"])
        with tempfile.TemporaryDirectory() as folder:
            outcomes = Path(folder) / "outcomes.jsonl"
            record_outcomes(SHOP, outcomes)
            for driven in ("normal", "failures"):
                train_simulator(outcomes, SHOP, out=Path(folder) / driven, driven=driven)
            levels(SHOP, 40, [f"learned:{folder}/{driven}" for driven in ("normal", "failures")])


def levels(env_id: str, n_tasks: int, simulators: Sequence[str]) -> None:
    """Print each simulator's fidelity and the gain of ARTIS with it."""
    env = gym.make(env_id)
    for simulator in simulators:
        kind, _, of = simulator.partition(":")
        name = f"{env_id.partition('/')[2].partition('-')[0].lower()}_{kind}_{Path(of).name}".rstrip("_")
        report = fidelity(env, simulator, tasks=30)
        figure(f"similarity_{name}", report.similarity, "cosine", n=report.n, better="higher")
        figure(f"high_fidelity_{name}", report.high_fidelity, "share", n=report.n, better="higher")
        if report.failure_recall is not None:
            n = sum(one.n for kind, one in report.recall.items() if kind not in ("success", "end"))
            figure(f"failure_recall_{name}", report.failure_recall, "share", n=n, better="higher")
        how = {"agent": "plan-following", "n": N, "baseline": "single", "simulator": simulator}
        results = evaluate(env_id, ["single", "artis"], n_tasks, **how)
        difference, alone = results.compare("artis", "single"), results.figures(1).summaries["single"].success
        gain, pairs = difference.success, difference.n_pairs
        assert gain is not None
        low, high = gain.interval_95
        figure(f"gain_{name}", gain.value, "success", n=pairs, better="higher", baseline=alone)
        for end, value in (("low", low), ("high", high)):
            figure(f"gain_{name}_{end}_95", value, "success", n=pairs, better="higher")
    env.close()


if __name__ == "__main__":
    main()
