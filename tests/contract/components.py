"""Agents, verifiers and roles for the contract tests, and one function that plays an episode with them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from threading import Lock
from typing import Any

import gymnasium as gym
import numpy as np

from iad_policy import Candidate, Decision, Feedback, IADPolicyWrapper, State, Usage, Verdict
from iad_policy.errors import BudgetExhausted
from iad_policy.roles import TemplateRoles
from iad_policy.strategies import STRATEGIES as REGISTERED
from iad_policy.strategies import Declaration, declaration_of
from iad_policy.types.call_context import current_call
from iad_policy.types.hashing import seed_of
from iad_policy.types.information import Information
from iad_policy.types.plan import AdaptivePlan
from tests.contract import foreign  # noqa: F401 (registers)
from tests.contract.toy import Digger, SlipperyDigger

TAXI = max((name for name in gym.registry if name.startswith("Taxi-v")), key=lambda name: int(name.rpartition("v")[2]))


class Calls:
    """Counts calls by who was called; safe under threads."""

    def __init__(self) -> None:
        self._lock, self.counts = Lock(), Counter[str]()

    def add(self, who: str, n: int = 1) -> None:
        with self._lock:
            self.counts[who] += n


class Wanderer:
    """Proposes an available action at random, sometimes an answer that is none; follows feedback a little."""

    def __init__(
        self, calls: Calls | None = None, *, n_tokens: int = 0, errors: float = 0.15, digs: bool = True
    ) -> None:
        self._calls, self._n_tokens, self._errors, self._digs = calls or Calls(), n_tokens, errors, digs

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        self._calls.add("agent")
        usage = Usage(prompt_tokens=self._n_tokens, seconds=float(self._n_tokens))
        if rng.random() < self._errors:
            return Candidate(None, error="no action in the answer", usage=usage)
        mask = state.info.get("action_mask")
        actions = list(state.info["available_actions"] if mask is None else map(int, np.flatnonzero(mask)))
        if actions[-1] == "dig" and (rng.random() < 0.85 or not self._digs):
            actions = actions[:-1]
        shunned = feedback.worst.action if feedback is not None and feedback.worst is not None else None
        action = rng.choice([action for action in actions if action != shunned] or actions)
        return Candidate(action, thought=f"{len(state.notes)} notes, {len(state.history)} turns", usage=usage)


class Hunch:
    """A proxy verifier: an arbitrary but lasting number for what an action leads to."""

    information: Information = "proxy"
    needs_preview = True

    def __init__(self, calls: Calls | None = None, *, per_candidate: bool = False, n_tokens: int = 0) -> None:
        self._calls, self._n_tokens, self.per_candidate = calls or Calls(), n_tokens, per_candidate

    def verify(self, state: State, candidates: Sequence[Candidate]) -> list[Verdict]:
        self._calls.add("verifier", len(candidates))
        current_call().report(Usage(prompt_tokens=self._n_tokens * len(candidates)))
        return [self._verdict(candidate) for candidate in candidates]

    def _verdict(self, candidate: Candidate) -> Verdict:
        assert candidate.preview is not None
        value = seed_of(candidate.key, candidate.preview.observation) % 1000 / 1000
        return Verdict(value, f"a hunch of {value}", passed=value > 0.9)


class CountedOracle(Hunch):
    information: Information = "oracle"

    def _verdict(self, candidate: Candidate) -> Verdict:
        assert candidate.preview is not None
        assert candidate.preview.gold is not None
        return Verdict(candidate.preview.gold["progress"])


class CountedRoles(TemplateRoles):
    def __init__(self, calls: Calls | None = None) -> None:
        self._calls = calls or Calls()

    def answer(self, role: str, state: State, subject: Any) -> str:
        self._calls.add("roles")
        return super().answer(role, state, subject)


ENVIRONMENTS: Mapping[str, Callable[[], gym.Env[Any, Any]]] = {
    "digger": lambda: Digger(max_steps=6),
    "slippery": lambda: SlipperyDigger(max_steps=6),
    "dice": lambda: gym.make("Toy/Dice-v0", is_copyable=True),
}
SMALL: Mapping[str, dict[str, Any]] = {
    "mcts": {"n": 3, "k": 2, "depth": 2, "draws": 2},
    "lats": {"n": 2, "k": 2, "k_root": 3, "depth": 2, "draws": 2},
    "best-first": {"n": 4, "branching": 2, "depth": 2, "samples": 3, "votes": 4},
    "beam": {"n": 2, "width": 2, "k": 2},
}
"""Options that keep a registered strategy quick where its defaults are not."""
A_PLAN = AdaptivePlan(
    env="Digger", agent="wanderer", verifier="hunch", feedback="findings", instruct="differ", axis="proposals",
    worth=10.0, n=4, edges=(0.4, 0.7), cheaper={"1,0": "sxx"}, share=0.8, success=0.5, spent=2.0,
    rows={"1,0": "srx", "2,0": "rrx", "1,1": "srx", "2,1": "sxx", "1,2": "xxx"},
)  # fmt: skip
FORMS = ("none", "scalar", "judge", "best-worst-judge")
VARIANTS: Mapping[str, dict[str, Any]] = {
    **{f"iad-{form}": {"strategy": "iad", "feedback": form} for form in FORMS},
    "iad-fb-once": {"strategy": "iad-fb", "k": 1},
    "iad-delta": {"strategy": "iad", "delta": 0.2},
    "iad-passed": {"strategy": "iad", "stop": "passed"},
    "iad-score": {"strategy": "iad", "stop": "score:0.6"},
    "bon-score": {"strategy": "bon", "stop": "score:0.6"},
    "bon-gain": {"strategy": "bon", "stop": "gain:20"},
    "bon-sc-vote": {"strategy": "bon-sc", "stop": "vote:0.8"},
    "weighted-bon-repeat": {"strategy": "weighted-bon", "stop": "repeat"},
    "adaptive-planned": {"strategy": "adaptive", "plan": A_PLAN},
    "bon-sc-result": {"strategy": "bon-sc", "by": "result"},
    "chains-uneven": {"strategy": "chains", "n": 5, "k": 2},
    "bon-episode-perturbed": {"strategy": "bon-episode", "perturb": True},
    "q-guided-plain": {"strategy": "q-guided", "perturb": False},
    "q-guided-episodes": {"strategy": "q-guided", "n": 2, "episodes": 2},
    "reflexion-never": {"strategy": "reflexion", "stop": "never", "n": 2},
    "artis-short": {"strategy": "artis", "n": 2, "depth": 3},
    "artis-parallel": {"strategy": "artis", "n": 2, "depth": 2, "mode": "parallel", "every": 2},
    "artis-alone": {"strategy": "artis", "n": 2, "depth": 2, "verify": False, "summarise": False},
    "artis-until-pass": {"strategy": "artis", "n": 2, "depth": 2, "until_pass": True},
}
STRATEGIES: Mapping[str, dict[str, Any]] = {
    **{name: {"strategy": name, **SMALL.get(name, {})} for name in REGISTERED},
    **VARIANTS,
}
"""Every registered strategy by its name, and variants: what the contract tests run."""


def declared(how: Mapping[str, Any]) -> Declaration:
    return declaration_of(how.get("strategy", "iad"))


@dataclass
class Played:
    actions: list[Any]
    decisions: list[Decision]
    counts: Counter[str]
    usage: Usage
    spent: Mapping[str, Usage]
    ended_by: str = ""

    @property
    def trees(self) -> list[Any]:
        return [tree for decision in self.decisions for tree in decision.trees]


def play(
    environment: str | Callable[[], gym.Env[Any, Any]],
    how: Mapping[str, Any],
    *,
    verifier: str | None = "proxy",
    n_decisions: int = 3,
    n_tokens: int = 0,
    env_seed: int = 5,
    **options: Any,
) -> Played:
    """Play an episode, or its first decisions, with counted players; options go to the wrapper.

    A strategy that is only itself with the oracle is given it, in place of a proxy.
    """
    calls = Calls()
    env = (ENVIRONMENTS[environment] if isinstance(environment, str) else environment)()
    kind = CountedOracle if verifier == "oracle" or declared(how).needs == "oracle" else Hunch
    apart = {"per_candidate": True, "n_tokens": n_tokens} if verifier == "apart" else {}
    players = {"agent": Wanderer(calls, n_tokens=n_tokens), "roles": CountedRoles(calls)}
    settings = {**players, "n": 3, **how, **options}
    agent, ended_by = settings.pop("agent"), ""
    with IADPolicyWrapper(agent, env, verifier=kind(calls, **apart) if verifier else None, **settings) as policy:
        observation, info = env.reset(seed=env_seed)
        actions: list[Any] = []
        decisions: list[Decision] = []
        for _ in range(n_decisions):
            try:
                actions.append(policy.act(observation, info))
            except BudgetExhausted as exhausted:
                ended_by = exhausted.axis
                break
            observation, reward, terminated, truncated, info = env.step(actions[-1])
            decisions = list(policy.decisions)
            policy.observe(observation, info, reward=float(reward), done=terminated or truncated)
            if terminated or truncated:
                break
        return Played(actions, decisions, calls.counts, policy.usage, policy.spent, ended_by)


def decide(env: Any = None, **options: Any) -> Decision:
    env = env or Digger()
    options = {"agent": Wanderer(errors=0.0), "verifier": Hunch(), "strategy": "bon", **options}
    with IADPolicyWrapper(env=env, **options) as policy:
        policy.act(*env.reset(seed=5))
        return policy.decisions[0]
