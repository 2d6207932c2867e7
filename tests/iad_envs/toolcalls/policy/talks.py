"""Conversations: states as agents and verifiers get them, without gold; and all who read them."""

from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import IADEnv
from iad_envs.toolcalls.acebench.env import ACEBenchEnv
from iad_envs.toolcalls.bfcl.env import BFCLEnv
from iad_envs.toolcalls.policy.features import CallFeatures
from iad_envs.toolcalls.policy.language_agent import CHATS, ToolCallLanguageAgent
from iad_envs.toolcalls.policy.rendering import ToolCallRendering
from iad_envs.toolcalls.policy.verifier import CallVerifier
from iad_policy.agents.language import language_agent
from iad_policy.models.scripted import ScriptedModel
from iad_policy.types import Candidate, State
from tests.iad_envs.episode import Episode

WORDS = ToolCallRendering()


class Talk(Episode):
    """A conversation of ACEBench, if its id begins with `agent`, `normal` or `special`, else of BFCL."""

    def __init__(self, task_id: str) -> None:
        kind = task_id.partition("_")[0]
        env: IADEnv[str, Any] = (
            ACEBenchEnv(category=kind, split=None)
            if kind in ("agent", "normal", "special")
            else BFCLEnv(category="multi_turn" if kind == "multi" else "single_turn", split=None)
        )
        super().__init__(env, CallVerifier(), task_id, steps_left=200)

    @property
    def reference(self) -> list[str]:
        """The right responses."""
        found: list[str] = self.env.oracle(self.env.snapshot())["reference"]
        return found


def read_by_all(here: State, before: State, action: str) -> None:
    """Have everybody read a state to which an action has led from the one before; nobody raises an exception."""
    numbers = CallFeatures()
    assert np.isfinite(numbers.rows(here, [*numbers.actions(here), action])).all()
    candidate = Candidate(action, preview=here)
    for at in (before, here):
        (verdict,) = CallVerifier().verify(at, [candidate])
        assert 0.0 <= verdict.score <= 1.0
    words = [*WORDS.values(here).values(), WORDS.candidate(candidate), WORDS.attempt(before, here), WORDS.raw(here)]
    assert all(isinstance(one, str) for one in words)
    for style in CHATS:
        messages = chat(style).messages(here)
        assert messages[0]["role"] == "system"
        assert all(isinstance(one["content"], str) for one in messages)


@cache
def chat(style: Any) -> ToolCallLanguageAgent:
    made = language_agent(gym.make("IAD/BFCL-v0"), ScriptedModel([]), style)
    assert isinstance(made, ToolCallLanguageAgent)
    return made
