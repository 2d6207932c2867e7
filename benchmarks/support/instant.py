"""An environment, agent and verifier that answer at once, so that the measured time is the policy's alone."""

from collections.abc import Generator, Sequence
from random import Random
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import gymnasium as gym

from iad_envs.spaces import UnicodeText
from iad_policy import All, Candidate, Commit, IADPolicyWrapper, State, Verdict
from iad_policy.strategies import declaration_of, find_strategy, options_of
from iad_policy.types import Outcome
from iad_policy.types.information import Information

MAX_STEPS = 6
ACTIONS = ("go north", "go south", "go west", "go east")
N_ROUNDS = 7
N_EPISODES = 4


class Instant(gym.Env[str, str]):
    """A text environment that steps and simulates in no time. An episode has a fixed number of steps."""

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


class InstantAgent:
    """Proposes a random direction."""

    def propose(self, state: State, *, rng: Random, **_: Any) -> Candidate:
        """Answer at once."""
        return Candidate(ACTIONS[rng.getrandbits(2)])


class InstantVerifier:
    """Scores 0.5, with the given label."""

    needs_preview = False

    def __init__(self, information: Information) -> None:
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


def episodes(strategy: Any, information: Information) -> tuple[float, float]:
    """Run some episodes, and return the policy's CPU seconds and the number of answered items."""
    env, seconds = Instant(), 0.0
    components: dict[str, Any] = {"verifier": InstantVerifier(information), "roles": InstantRoles()}
    with IADPolicyWrapper(InstantAgent(), env, strategy=strategy, n=3, **components) as policy:
        for _ in range(N_EPISODES):
            observation, info = env.reset()
            is_over = False
            while not is_over:
                start = process_time()
                action = policy.act(observation, info)
                seconds += process_time() - start
                observation, _, is_over, _, info = env.step(action)
        usage = policy.usage
    return seconds, usage.proposals + usage.verifications + usage.simulations + usage.asks


class Overhead(NamedTuple):
    """Microseconds of one strategy.

    Attributes:
        per_request: Time per yielded request. A request for three candidates is one.
        per_item: Time per answered item: candidates, verdicts, simulations and texts.
    """

    per_request: float
    per_item: float


def overhead_of(name: str) -> Overhead:
    """Measure a registered strategy."""
    information: Information = "oracle" if declaration_of(name).needs == "oracle" else "proxy"
    counted = Counted(name)
    n_items = episodes(counted, information)[1]
    micro_s = 1e6 * median(episodes(name, information)[0] for _ in range(N_ROUNDS))
    return Overhead(micro_s / counted.n_requests, micro_s / n_items)
