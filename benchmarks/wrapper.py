"""Measures the policy wrapper: the time of its import, its overhead per decision and per request, the guard's share.

Agent and verifier answer at once and the environment is trivial, so the measured time is the wrapper's alone.
"""

import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium as gym
from reference import Reference
from support.figures import figure, in_fresh_process

import iad_envs  # noqa: F401 (registers)
from iad_envs.guard import closed, guarded
from iad_envs.spaces import UnicodeText
from iad_policy import Candidate, IADPolicyWrapper, Propose, State, Verdict, per_step
from iad_policy.types import PublicInfo
from iad_policy.types.information import Information
from iad_policy.types.read_only import read_only
from iad_policy.world import adapt

N_IMPORTS = 5
N_PAGES = 500
BUY = "click[buy now]"
N_DECISIONS = 200
N_REQUESTS = 100
N_ROUNDS = 9
N_PRODUCTS = 10

COST_OF_IMPORT = """
start = cpu_s()
import iad_envs, iad_policy
print(json.dumps({"import_cpu_s": cpu_s() - start, "import_rss_mb": rss_mb()}))
"""


class Instant(gym.Env[str, str]):
    """A text environment that answers at once and never ends."""

    observation_space: gym.Space[str] = UnicodeText(100)
    action_space: gym.Space[str] = UnicodeText(100)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start."""
        return "a room", {"step": 0}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Stay in place."""
        return "a room", 0.0, False, False, {"step": 1}


class Guarded(Instant):
    """The same environment with a guard."""

    def __init__(self) -> None:
        self._closings: list[None] = []

    def guard(self) -> AbstractContextManager[None]:
        """Guard this thread."""
        return guarded()

    def deciding(self) -> AbstractContextManager[None]:
        """Close the environment."""
        return closed(self._closings)


class InstantAgent:
    """Proposes to wait."""

    def propose(self, state: State, **_: Any) -> Candidate:
        """Answer at once."""
        return Candidate("wait")


class InstantVerifier:
    """Scores 0.5."""

    information: Information = "proxy"
    needs_preview = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Answer at once."""
        return [Verdict(0.5)] * len(candidates)


@per_step
def many_requests(here: State) -> Any:
    """Ask for one proposal many times."""
    for _ in range(N_REQUESTS):
        (candidate,) = yield from Propose(here, 1)
    return candidate


def seconds_per_decision(strategy: Any, *, n_decisions: int, log: str | None = None) -> float:
    """Return the seconds of one decision, including the environment's step."""
    env = Instant()
    policy = IADPolicyWrapper(InstantAgent(), env, strategy=strategy, n=3, verifier=InstantVerifier(), log=log)
    with policy:
        observation, info = env.reset()
        observation, _, _, _, info = env.step(policy.act(observation, info))
        start = perf_counter()
        for _ in range(n_decisions):
            observation, _, _, _, info = env.step(policy.act(observation, info))
        return (perf_counter() - start) / n_decisions


def guard_seconds_per_request(*, n_decisions: int) -> float:
    """Return the seconds of a request that go into the guard, in the proportions of `many_requests`.

    A decision closes the environment and makes the state read-only, whose info is that of a page of search results. A
    request guards the agent's thread and makes the candidate read-only.
    """
    world, info, candidate = adapt(Guarded()), _page(), Candidate("wait")
    start = perf_counter()
    for _ in range(n_decisions):
        with world.deciding():
            read_only("a room")
            PublicInfo(info, world.gold_keys)
            for _ in range(N_REQUESTS):
                with world.guard():
                    pass
                for value in (candidate.action, candidate.logprobs, candidate.parts, candidate.exchanges):
                    read_only(value)
    return (perf_counter() - start) / (n_decisions * N_REQUESTS)


def _page() -> dict[str, Any]:
    product = {"id": "B000", "title": "a green lamp", "price": [9.99], "options": {"size": ["s", "m", "l"]}}
    page = {"kind": "results", "products": [dict(product) for _ in range(N_PRODUCTS)]}
    actions = [f"click[b{number}]" for number in range(N_PRODUCTS)]
    return {"step": 0, "instruction": "a lamp", "available_actions": actions, "facts": {"complaint": ""}, "page": page}


def proxy_auc() -> None:
    """Print how well the shop's proxy verifier separates purchases with reward 1 from others, on random train pages.

    A page is a product page that an agent at a high temperature reached, with the options it chose. The verifier scores
    buying there. The area is the probability that a good purchase scores higher than a bad one of another task.
    """
    env = gym.make("IAD/WebShop-v0", split="train")
    inner: Any = env.unwrapped
    scores: dict[bool, list[float]] = {True: [], False: []}
    policy = IADPolicyWrapper("shopper:2", env, strategy="single")
    rng = Random(0)
    for task_id in rng.sample(list(inner.task_ids), len(inner.task_ids)):
        if sum(map(len, scores.values())) == N_PAGES:
            break
        observation, info = env.reset(options={"task_id": task_id})
        pages = []
        done = False
        while not done:
            if info["page"]["kind"] == "item":
                pages.append(inner.snapshot())
            observation, _, terminated, truncated, info = env.step(policy.act(observation, info))
            done = terminated or truncated
        if not pages:
            continue
        token = rng.choice(pages)
        scores[inner.oracle(inner.simulate(token, BUY).token)["reward"] == 1.0].append(score_of_buying(env, token))
    good, bad = scores[True], scores[False]
    wins = sum((one > other) + 0.5 * (one == other) for one in good for other in bad)
    figure("proxy_auc", wins / (len(good) * len(bad)), "share", better="higher", n=len(good) + len(bad))


def score_of_buying(env: gym.Env[Any, Any], token: Any) -> float:
    """Return the proxy's score of buying on a page, as in a decision."""
    observation, info = env.unwrapped.restore(token)  # type: ignore[attr-defined]
    policy = IADPolicyWrapper(lambda observation, info: BUY, env, strategy="bon", n=1)
    policy.act(observation, info)
    return policy.decisions[-1].candidates[0].score


def main() -> None:
    """Measure and print."""
    reference = Reference()
    imported = in_fresh_process(COST_OF_IMPORT, n=N_IMPORTS, before_each=reference.sample)
    reference.figure("import_cpu_s", imported["import_cpu_s"], "s", target=0.4, n=N_IMPORTS, clock="cpu")
    figure("import_rss_mb", imported["import_rss_mb"], "MB", target=60, n=N_IMPORTS)

    decisions, plain, logged, guard = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for index in range(N_ROUNDS):
            reference.sample()
            decisions.append(1e3 * seconds_per_decision("iad", n_decisions=N_DECISIONS))
            plain.append(1e6 / N_REQUESTS * seconds_per_decision(many_requests, n_decisions=10))
            guard.append(1e6 * guard_seconds_per_request(n_decisions=10))
            log = f"{folder}/{index}"
            logged.append(1e6 / N_REQUESTS * seconds_per_decision(many_requests, n_decisions=10, log=log))
    reference.figure("decision_overhead_ms", median(decisions), "ms", target=0.3, n=N_ROUNDS)
    reference.figure("request_overhead_us", median(plain), "us", target=30, n=N_ROUNDS)
    figure("guard_us", median(guard), "us", baseline=median(plain), ratio_target=0.1, n=N_ROUNDS)
    reference.figure("request_overhead_logged_us", median(logged), "us", target=60, n=N_ROUNDS)
    reference.report()
    proxy_auc()


if __name__ == "__main__":
    main()
