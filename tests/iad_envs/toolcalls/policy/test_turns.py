"""ARTIS in conversations: each user turn is rehearsed anew, and no rehearsal knows more than the user has said."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.pages import AWAITED
from iad_envs.toolcalls.policy.verifier import CallVerifier
from iad_policy import Candidate, IADPolicyWrapper, State, Verdict
from iad_policy.agents import load_agent
from iad_policy.types.hashing import digest

BFCL, ACEBENCH = "IAD/BFCL-v0", "IAD/ACEBench-v0"


class Following:
    """The solution agent that follows a plan; it keeps the states in which it was asked."""

    information = "oracle"

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._agent = load_agent("plan-following:solution:0.3", env)
        self._asks_first = "ACE" in type(env.unwrapped).__name__  # else gold takes one turn
        self.asked: list[State] = []

    def propose(self, state: State, *, rng: Random, **options: Any) -> Candidate:
        self.asked.append(state)
        if self._asks_first and state.info["facts"]["turn"] == 0:
            return Candidate("reply[Which one do you mean?]")
        return self._agent.propose(state, rng=rng, **options)


class Watching(CallVerifier):
    """The proxy verifier; it keeps the ends of attempts that it judges."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[State] = []

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        self.ends += [one.preview for one in candidates if one.preview is not None]
        return super().verify(state, candidates)


@pytest.mark.parametrize(
    ("env_id", "category", "n_tasks"),
    [(BFCL, "multi_turn_base", 2), (BFCL, "multi_turn_miss_param", 1), (ACEBENCH, "agent_multi_turn", 3)],
)
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_each_user_turn_is_rehearsed_anew_without_the_next_message(
    env_id: str, category: str, n_tasks: int, mode: str
) -> None:
    env, alone = gym.make(env_id, category=category), gym.make(env_id, category=category)
    inner: Any = env.unwrapped
    n_turns, n_rehearsed = 0, 0
    for task_id in inner.task_ids[:n_tasks]:
        agent, verifier = Following(env), Watching()
        how: dict[str, Any] = {"strategy": "artis", "n": 2, "mode": mode, "simulator": "perfect"}
        with IADPolicyWrapper(agent, env, verifier=verifier, **how) as policy:
            observation, info = env.reset(options={"task_id": task_id})
            alone.reset(options={"task_id": task_id})
            said: dict[int, list[str]] = {}
            while not info["stop_reason"] and info["step"] < 24:  # later nothing new is told
                said.setdefault(info["facts"]["turn"], [one["content"] for one in info["page"]["messages"]])
                before = digest(inner.restore(inner.snapshot()))
                action = policy.act(observation, info)
                assert digest(inner.restore(inner.snapshot())) == before
                observation, *rest, info = env.step(action)
                # The same actions without any simulation lead to the same.
                assert digest(observation, *rest, info) == digest(*alone.step(action))
            planned = [one for one in policy.decisions if one.state.is_answered or one.state.info["step"] == 0]
            assert [one.state.info["facts"]["turn"] for one in planned] == sorted(said)
            for one in policy.decisions:
                asks = [one.budget[role].asks for role in ("evaluator", "summariser") if role in one.budget]
                assert asks == ([2, 1] if one in planned else [])
                assert (one.usage.simulations > 0) == (one in planned)
        n_turns += len(planned)
        assert len(verifier.ends) == 2 * len(planned)
        if env_id == BFCL:  # a rehearsal ends where the user would answer
            assert all(end.is_awaiting and end.observation == AWAITED for end in verifier.ends)
        rehearsed = [state for state in (*agent.asked, *verifier.ends) if state.path]
        n_rehearsed += len(rehearsed)
        for state in rehearsed:
            turn = state.info["facts"]["turn"]
            known = {text for place, texts in said.items() if place <= turn for text in texts}
            later = {text for place, texts in said.items() if place > turn for text in texts} - known
            seen = [state.observation, state.info["page"]["messages"], state.notes]
            told = json.dumps([*seen, *((one.observation, one.action) for one in state.history)], default=str)
            assert not [text for text in later if json.dumps(text)[1:-1] in told]
    assert n_turns >= 2 * n_tasks
    assert n_rehearsed > n_turns
    env.close()
    alone.close()
