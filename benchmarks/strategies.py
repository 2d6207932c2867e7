"""What the methods cost: what a strategy's request adds when its answer is there at once, and a step of tree search.

Every registered strategy plays a trivial environment that is simulated in no time, with an agent, a verifier and roles
that answer at once. A request is what a strategy yields: proposals, verdicts, a simulation or a text; the time is that
of the policy alone, log-free, by the number of requests.
"""

from collections.abc import Generator, Sequence
from random import Random
from statistics import median
from time import perf_counter
from typing import Any

import gymnasium as gym
from figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_envs.spaces import UnicodeText
from iad_policy import All, Candidate, Commit, IADPolicyWrapper, State, Verdict
from iad_policy.strategies import STRATEGIES, declaration_of, find_strategy, options_of
from iad_policy.types import Information, Outcome

MAX_STEPS = 6
ACTIONS = ("go north", "go south", "go west", "go east")
N_ROUNDS = 7
N_EPISODES = 4
N_MCTS_STEPS = 15
N_ITERATIONS = 30


class Instant(gym.Env[str, str]):
    """A text environment that is stepped and simulated in no time; an episode has a fixed number of steps."""

    observation_space: gym.Space[str] = UnicodeText(100)
    action_space: gym.Space[str] = UnicodeText(100)
    max_steps = MAX_STEPS

    def __init__(self) -> None:
        self._n_steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Start."""
        self._n_steps = 0
        return "a room", _info(0)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Go on."""
        self._n_steps += 1
        return "a room", 0.0, self._n_steps == MAX_STEPS, False, _info(self._n_steps)

    def snapshot(self) -> int:
        """Return the number of steps."""
        return self._n_steps

    def simulate(self, token: int, action: str, draw: int = 0) -> Outcome:
        """Return one step more."""
        return Outcome(token + 1, "a room", _info(token + 1), token + 1 == MAX_STEPS, action)

    def oracle(self, token: int) -> dict[str, Any]:
        """Return nothing that helps."""
        return {"reward": 0.0, "progress": 0.0, "reward_parts": {}, "reference": None}


def _info(step: int) -> dict[str, Any]:
    return {"step": step, "instruction": "Find the way out.", "available_actions": ACTIONS}


class InstantAgent:
    """Goes anywhere."""

    def propose(self, state: State, *, rng: Random, **_: Any) -> Candidate:
        """Answer at once."""
        return Candidate(ACTIONS[rng.getrandbits(2)])


class InstantVerifier:
    """Scores 0.5, with whatever label is asked for."""

    needs_preview = False

    def __init__(self, information: Information) -> None:
        self.information: Information = information

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> list[Verdict]:
        """Answer at once."""
        return [Verdict(0.5)] * len(candidates)


class InstantRoles:
    """Says the same to everybody; a ranker's text is a place."""

    source = "template"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Answer at once."""
        return "0" if role == "ranker" else "Find the way out."


class Counted:
    """A strategy whose requests are counted, those inside `All` too."""

    def __init__(self, name: str) -> None:
        self._strategy = find_strategy(name)
        self.n_requests = 0

    def __call__(self, here: State, *, n: int = 3) -> Generator[Any, Any, Any]:
        """Run it."""
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


def seconds_of_episodes(strategy: Any, information: Information) -> float:
    """Seconds that the policy takes for some episodes, without the environment's steps."""
    env = Instant()
    verifier = InstantVerifier(information)
    spent = 0.0
    with IADPolicyWrapper(
        InstantAgent(), env, strategy=strategy, n=3, verifier=verifier, roles=InstantRoles()
    ) as policy:
        for _ in range(N_EPISODES):
            observation, info = env.reset()
            is_over = False
            while not is_over:
                start = perf_counter()
                action = policy.act(observation, info)
                spent += perf_counter() - start
                observation, _, is_over, _, info = env.step(action)
    return spent


def request_overhead() -> None:
    """Microseconds per request of every strategy, and of the one that takes most."""
    worst = 0.0
    for name in STRATEGIES:
        information: Information = "oracle" if declaration_of(name).needs == "oracle" else "proxy"
        counted = Counted(name)
        seconds_of_episodes(counted, information)
        seconds = median(seconds_of_episodes(name, information) for _ in range(N_ROUNDS))
        overhead = 1e6 * seconds / counted.n_requests
        figure(f"request_overhead_us_{name}", overhead, "us", target=50, n=N_ROUNDS)
        worst = max(worst, overhead)
    figure("request_overhead_us", worst, "us", target=50, n=len(STRATEGIES))


def mcts_step() -> None:
    """Seconds of the first step of tree search in the shop."""
    env = gym.make("IAD/WebShop-v0")
    seconds = []
    with IADPolicyWrapper("shopper", env, strategy="mcts", n=N_ITERATIONS) as policy:
        for seed in range(N_MCTS_STEPS):
            observation, info = env.reset(seed=seed)
            start = perf_counter()
            policy.act(observation, info)
            seconds.append(perf_counter() - start)
    env.close()
    figure("mcts_step_s", median(seconds), "s", target=0.5, n=N_MCTS_STEPS)


def main() -> None:
    """Measure and print."""
    request_overhead()
    mcts_step()


if __name__ == "__main__":
    main()
