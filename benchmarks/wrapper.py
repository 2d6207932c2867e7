"""What the policy wrapper costs: importing it, and what it adds to each decision and each request.

Agent and verifier answer at once and the environment is trivial, so what is timed is the wrapper alone.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import gymnasium as gym

from benchmarks.figures import figure
from iad_envs.spaces import UnicodeText
from iad_policy import Candidate, IADPolicyWrapper, Propose, State, Verdict, per_step
from iad_policy.types import Information

N_IMPORTS = 5
N_DECISIONS = 200
N_REQUESTS = 100
N_ROUNDS = 9

COST_OF_IMPORT = """
import resource, time
start = time.process_time()
import iad_envs, iad_policy
print(time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


class Instant(gym.Env[str, str]):
    """A text environment, as ours are, that answers at once and never ends."""

    observation_space: gym.Space[str] = UnicodeText(100)
    action_space: gym.Space[str] = UnicodeText(100)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start."""
        return "a room", {"step": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Stay."""
        return "a room", 0.0, False, False, {"step": 1}


class InstantAgent:
    """Proposes to wait."""

    def propose(self, state: State, **_: Any) -> Candidate:
        """Answer at once."""
        return Candidate("wait")


class InstantVerifier:
    """Scores 0.5."""

    information: Information = "proxy"
    needs_preview = False

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> list[Verdict]:
        """Answer at once."""
        return [Verdict(0.5)] * len(candidates)


@per_step
def many_requests(here: State) -> Any:
    """Ask for one proposal, many times."""
    for _ in range(N_REQUESTS):
        (candidate,) = yield from Propose(here, 1)
    return candidate


def imports() -> tuple[float, float]:
    """Median CPU seconds and resident megabytes of importing both packages in a fresh process."""
    costs = []
    for _ in range(N_IMPORTS):
        command = [sys.executable, "-c", COST_OF_IMPORT]
        done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True)
        costs.append([float(cost) for cost in done.stdout.split()])
    cpu_s, rss_mb = (median(column) for column in zip(*costs, strict=True))
    return cpu_s, rss_mb


def seconds_per_decision(strategy: Any, *, n_decisions: int, log: str | None = None) -> float:
    """Seconds of one decision, the environment's step included."""
    env = Instant()
    policy = IADPolicyWrapper(InstantAgent(), env, strategy=strategy, n=3, verifier=InstantVerifier(), log=log)
    with policy:
        observation, info = env.reset()
        observation, _, _, _, info = env.step(policy.act(observation, info))
        start = perf_counter()
        for _ in range(n_decisions):
            observation, _, _, _, info = env.step(policy.act(observation, info))
        return (perf_counter() - start) / n_decisions


def main() -> None:
    """Measure and print."""
    cpu_s, rss_mb = imports()
    figure("import_cpu_s", cpu_s, "s", target=0.4, n=N_IMPORTS)
    figure("import_rss_mb", rss_mb, "MB", target=60, n=N_IMPORTS)

    decisions, plain, logged = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for index in range(N_ROUNDS):
            decisions.append(1e3 * seconds_per_decision("iad", n_decisions=N_DECISIONS))
            plain.append(1e6 / N_REQUESTS * seconds_per_decision(many_requests, n_decisions=10))
            log = f"{folder}/{index}"
            logged.append(1e6 / N_REQUESTS * seconds_per_decision(many_requests, n_decisions=10, log=log))
    figure("decision_overhead_ms", median(decisions), "ms", target=0.3, n=N_ROUNDS)
    figure("request_overhead_us", median(plain), "us", target=30, n=N_ROUNDS)
    figure("request_overhead_logged_us", median(logged), "us", target=60, n=N_ROUNDS)


if __name__ == "__main__":
    main()
