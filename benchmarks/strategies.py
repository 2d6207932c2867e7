"""Measures what the policy itself takes: its import, a decision, a request of each strategy, the guard, and `mcts`.

Environment, agent, verifier and roles answer at once, so the measured time is the policy's alone. Most of the time of
an item is the seeding of its random generator.
"""

import tempfile
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any

import gymnasium as gym
from reference import Reference
from support.figures import figure, in_fresh_process, timed

import iad_envs  # noqa: F401 (registers)
from iad_envs.guard import closed, guarded
from iad_envs.spaces import UnicodeText
from iad_policy import All, Candidate, Commit, IADPolicyWrapper, Propose, State, Verdict, per_step
from iad_policy.strategies import STRATEGIES, declaration_of, find_strategy, options_of
from iad_policy.types import Outcome, PublicInfo
from iad_policy.types.information import Information
from iad_policy.types.read_only import read_only
from iad_policy.world import adapt

MAX_STEPS = 6
ACTIONS = ("go north", "go south", "go west", "go east")
N_REQUESTS = 100
N_ROUNDS = 7
N_TASKS = 21
IMPORT = """
start = cpu_s()
import iad_envs, iad_policy
print(json.dumps({"import_cpu_s": cpu_s() - start, "import_rss_mb": rss_mb()}))
"""


class Instant(gym.Env[str, str]):
    """A text environment that steps and simulates in no time. An episode has a fixed number of steps."""

    observation_space: gym.Space[str] = UnicodeText(100)
    action_space: gym.Space[str] = UnicodeText(100)
    max_steps = MAX_STEPS

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start."""
        self._n_steps = 0
        return "a room", _info(0)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one step."""
        self._n_steps += 1
        return "a room", 0.0, self._n_steps == MAX_STEPS, False, _info(self._n_steps)

    def snapshot(self) -> int:
        """Return the number of steps."""
        return self._n_steps

    def simulate(self, token: int, action: str, draw: int = 0) -> Outcome:
        """Return the next step."""
        return Outcome(token + 1, "a room", _info(token + 1), token + 1 == MAX_STEPS, action)

    def oracle(self, token: int) -> dict[str, Any]:
        """Return gold that does not help."""
        return {"reward": 0.0, "progress": 0.0, "reward_parts": {}, "reference": None}


def _info(step: int) -> dict[str, Any]:
    return {"step": step, "instruction": "Find the way out.", "available_actions": ACTIONS}


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
    """Proposes a random direction."""

    def propose(self, state: State, *, rng: Random, **_: Any) -> Candidate:
        """Answer at once."""
        return Candidate(ACTIONS[rng.getrandbits(2)])


class InstantVerifier:
    """Scores 0.5, with the given label."""

    needs_preview = False

    def __init__(self, information: Information = "proxy") -> None:
        self.information: Information = information

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        """Answer at once."""
        return [Verdict(0.5)] * len(candidates)


class InstantRoles:
    """Answers every question with the same text. The ranker answers with index 0."""

    source = "template"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Answer at once."""
        return "0" if role == "ranker" else "Find the way out."


class Counted:
    """A strategy whose requests are counted, including those inside `All`."""

    def __init__(self, name: str) -> None:
        self._strategy = find_strategy(name)
        self.n_requests = 0

    def __call__(self, here: State, *, n: int = 3) -> Generator[Any, Any, Any]:
        """Run the strategy."""
        return self._passed(self._strategy(here, **({"n": n} if "n" in options_of(self._strategy) else {})))

    def _passed(self, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        answer = None
        while True:
            try:
                request = generator.send(answer)
            except StopIteration as stop:
                return stop.value
            if isinstance(request, All):
                request = All([self._passed(inner) for inner in request.generators])
            elif not isinstance(request, Commit):
                self.n_requests += 1
            answer = yield request


@per_step
def many_requests(here: State) -> Any:
    """Ask for one proposal many times."""
    for _ in range(N_REQUESTS):
        (candidate,) = yield from Propose(here, 1)
    return candidate


def decisions(
    strategy: Any, n_episodes: int, *, information: Information = "proxy", log: str | None = None
) -> tuple[float, float, int]:
    """Run episodes. Return the policy's wall and CPU seconds per decision, and the number of answered items."""
    env, times = Instant(), []
    given: dict[str, Any] = {"verifier": InstantVerifier(information), "roles": InstantRoles(), "log": log}
    with IADPolicyWrapper(InstantAgent(), env, strategy=strategy, n=3, **given) as policy:
        for _ in range(n_episodes):
            observation, info = env.reset()
            is_over = False
            while not is_over:
                wall, cpu = perf_counter(), process_time()
                action = policy.act(observation, info)
                times.append((perf_counter() - wall, process_time() - cpu))
                observation, _, is_over, _, info = env.step(action)
        usage = policy.usage
    wall_s, cpu_s = (sum(some) / len(some) for some in zip(*times[1:], strict=True))  # the first one fills caches
    return wall_s, cpu_s, usage.proposals + usage.verifications + usage.simulations + usage.asks


def guard_s(n: int = 10) -> float:
    """Return the seconds of a request that go into the guard, in the proportions of `many_requests`.

    A decision closes the environment and makes the state read-only, whose info is that of a page of search results. A
    request guards the agent's thread and makes the candidate read-only.
    """
    product = {"id": "B000", "title": "a green lamp", "price": [9.99], "options": {"size": ["s", "m", "l"]}}
    page = {"kind": "results", "products": [dict(product) for _ in range(10)]}
    actions = [f"click[b{number}]" for number in range(10)]
    info = {"step": 0, "instruction": "a lamp", "available_actions": actions, "facts": {"complaint": ""}, "page": page}
    world, candidate = adapt(Guarded()), Candidate("wait")
    start = perf_counter()
    for _ in range(n):
        with world.deciding():
            read_only("a room")
            PublicInfo(info, world.gold_keys)
            for _ in range(N_REQUESTS):
                with world.guard():
                    pass
                for value in (candidate.action, candidate.logprobs, candidate.parts, candidate.exchanges):
                    read_only(value)
    return (perf_counter() - start) / (n * N_REQUESTS)


def of_the_wrapper(reference: Reference) -> None:
    """Print the time of an import, of a decision by `iad`, and of a request, plain, saved, and in the guard."""
    imported = in_fresh_process(IMPORT, before_each=reference.sample)
    reference.figure("import_cpu_s", imported["import_cpu_s"], "s", target=0.4, n=5, clock="cpu")
    figure("import_rss_mb", imported["import_rss_mb"], "MB", target=60, n=5)
    whole, plain, logged, guard = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for index in range(N_ROUNDS):
            reference.sample()
            whole.append(1e3 * decisions("iad", 30)[0])
            plain.append(1e6 / N_REQUESTS * decisions(many_requests, 2)[0])
            guard.append(1e6 * guard_s())
            logged.append(1e6 / N_REQUESTS * decisions(many_requests, 2, log=f"{folder}/{index}")[0])
    reference.figure("decision_overhead_ms", median(whole), "ms", target=0.3, n=N_ROUNDS)
    reference.figure("request_overhead_us", median(plain), "us", target=30, n=N_ROUNDS)
    figure("guard_us", median(guard), "us", baseline=median(plain), ratio_target=0.1, n=N_ROUNDS)
    reference.figure("request_overhead_logged_us", median(logged), "us", target=60, n=N_ROUNDS)


def of_strategies(reference: Reference) -> None:
    """Print the microseconds per request of every strategy, and of the slowest one.

    A request may ask for several items, such as three candidates. The time per item is the overhead per model call;
    `..._of_many` is that of strategies whose requests have more than two items on average.
    """
    found = {}
    for name in STRATEGIES:
        reference.sample()
        information: Information = "oracle" if declaration_of(name).needs == "oracle" else "proxy"
        counted = Counted(name)
        n_items = decisions(counted, 4, information=information)[2]
        times = [decisions(name, 4, information=information)[1] for _ in range(N_ROUNDS)]
        all_us = 1e6 * median(times) * 4 * MAX_STEPS
        found[name] = (all_us / counted.n_requests, all_us / n_items)
        reference.figure(f"request_overhead_us_{name}", found[name][0], "us", target=50, n=N_ROUNDS, clock="cpu")
    per_request, per_item = (max(some) for some in zip(*found.values(), strict=True))
    many = max(item for request, item in found.values() if request > 2 * item)
    reference.figure("request_overhead_us_largest", per_request, "us", target=50, n=len(found), clock="cpu")
    reference.figure("item_overhead_us", per_item, "us", target=50, n=len(found), clock="cpu")
    reference.figure("item_overhead_us_of_many", many, "us", target=15, n=len(found), clock="cpu")


def mcts_step(reference: Reference) -> None:
    """Print the seconds of the first decision by `mcts`: 30 rollouts to the episode's end in the shop, rule-based."""
    env = gym.make("IAD/WebShop-v0")
    inner: Any = env.unwrapped

    def first_decision_s(task_id: str, log: str | None = None) -> float:
        with IADPolicyWrapper("shopper", env, strategy="mcts", n=30, log=log) as policy:
            observation, info = env.reset(options={"task_id": task_id})
            return timed(lambda: policy.act(observation, info))

    plain, logged = [], []
    with tempfile.TemporaryDirectory() as folder:
        for task_id in inner.task_ids[:N_TASKS]:
            reference.sample()
            plain.append(first_decision_s(task_id))
            logged.append(first_decision_s(task_id, log=f"{folder}/{task_id}"))
    reference.figure("mcts_step_s", median(plain), "s", target=0.5, n=N_TASKS)
    reference.figure("mcts_step_logged_s", median(logged), "s", n=N_TASKS)


def main() -> None:
    reference = Reference()
    of_the_wrapper(reference)
    of_strategies(reference)
    mcts_step(reference)
    reference.report()


if __name__ == "__main__":
    main()
