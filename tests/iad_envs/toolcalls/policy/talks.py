"""Conversations: states as agents and verifiers get them, without gold."""

from collections.abc import Mapping
from typing import Any, Self

from iad_envs.core import IADEnv
from iad_envs.toolcalls.acebench.env import ACEBenchEnv
from iad_envs.toolcalls.bfcl.env import BFCLEnv
from iad_envs.toolcalls.policy.verifier import CallVerifier
from iad_policy.types import Candidate, PublicInfo, State, Turn, Verdict


class Talk:
    """An episode, response by response.

    Args:
        task_id: Its task: of ACEBench if it begins with `agent`, `normal` or `special`, else of BFCL.
    """

    def __init__(self, task_id: str) -> None:
        kind = task_id.partition("_")[0]
        self.env: IADEnv[str, Any] = (
            ACEBenchEnv(category=kind, split=None)
            if kind in ("agent", "normal", "special")
            else BFCLEnv(category="multi_turn" if kind == "multi" else "single_turn", split=None)
        )
        observation, self.gold = self.env.reset(options={"task_id": task_id})
        self.state = State(observation, self._public(self.gold), steps_left=200)

    @property
    def reference(self) -> list[str]:
        """The right responses."""
        found: list[str] = self.env.oracle(self.env.snapshot())["reference"]
        return found

    def did(self, *actions: str) -> Self:
        """Give responses for real."""
        for action in actions:
            observation, _, terminated, truncated, self.gold = self.env.step(action)
            self.state = self._after(action, observation, self.gold, done=terminated or truncated)
        return self

    def tried(self, action: str) -> Candidate:
        """A candidate with the state that it leads to."""
        ahead = self.env.simulate(self.env.snapshot(), action)
        preview = self._after(action, ahead.observation, ahead.info, done=ahead.done)
        return Candidate(action, preview=preview, is_terminal=self.env.terminal(action))

    def verdict(self, action: str) -> Verdict:
        """The proxy verifier's verdict on a response."""
        (found,) = CallVerifier().verify(self.state, [self.tried(action)])
        return found

    def _after(self, action: str, observation: str, info: Mapping[str, Any], *, done: bool) -> State:
        here = self.state
        history = (*here.history, Turn(here.observation, action, here.info))
        return State(observation, self._public(info), history=history, steps_left=here.steps_left - 1, done=done)

    def _public(self, info: Mapping[str, Any]) -> PublicInfo:
        return PublicInfo(info, self.env.GOLD_INFO)
