"""Conversations of `IAD/BFCL-v0`: states as agents and verifiers get them, without gold."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Self

from iad_envs.toolcalls.bfcl.env import BFCLEnv
from iad_envs.toolcalls.policy.agent import ToolCallAgent
from iad_envs.toolcalls.policy.verifier import CallVerifier
from iad_policy.types import Candidate, PublicInfo, State, Turn, Verdict


class Talk:
    """An episode, response by response.

    Args:
        task_id: Its task.
        data_dir: Where the tasks are; the bundled ones by default.
    """

    def __init__(self, task_id: str, data_dir: Path | None = None) -> None:
        category = "multi_turn" if task_id.startswith("multi_turn") else "single_turn"
        self.env = BFCLEnv(category=category, split=None, data_dir=data_dir)
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

    def played(self, temperature: float, seed: int = 0) -> Self:
        """Let the agent play to the end."""
        agent, rng = ToolCallAgent(temperature=temperature), Random(seed)
        while not self.state.done:
            self.did(agent.propose(self.state, feedback=None, temperature=None, rng=rng).action)
        return self

    def _after(self, action: str, observation: str, info: Mapping[str, Any], *, done: bool) -> State:
        here = self.state
        history = (*here.history, Turn(here.observation, action, here.info))
        return State(observation, self._public(info), history=history, steps_left=here.steps_left - 1, done=done)

    def _public(self, info: Mapping[str, Any]) -> PublicInfo:
        return PublicInfo(info, self.env.GOLD_INFO)


def asked(request: str, *tools: Mapping[str, Any], results: tuple[tuple[str, dict[str, Any], str], ...] = ()) -> State:
    """A state of a conversation that no environment has: a user's request, functions, and calls with their results."""
    page = {"kind": "turn", "messages": [{"role": "user", "content": request}], "tools": list(tools)}
    first = {"page": {**page, "calls": [], "results": []}, "facts": {"turn": 0, "step_in_turn": 0, "findings": []}}
    state = State("", first)
    for n, (name, arguments, result) in enumerate(results, 1):
        calls = {"kind": "results", "calls": [{"name": name, "arguments": arguments}], "results": [result]}
        info = {"page": {**page, **calls}, "facts": {"turn": 0, "step_in_turn": n, "findings": []}}
        state = State("", info, history=(*state.history, Turn("", "", state.info)))
    return state


def tool(called: str, about: str, /, *returns: tuple[str, str], **parameters: Any) -> dict[str, Any]:
    """A function's document. A parameter is a description, or a schema; one with a default may be left out."""
    schemas = {
        key: one if isinstance(one, dict) else {"type": "string", "description": one} for key, one in parameters.items()
    }
    required = [key for key, one in schemas.items() if "default" not in one]
    response = {key: {"type": "string", "description": one} for key, one in returns}
    return {
        "name": called,
        "description": about,
        "parameters": {"type": "dict", "properties": schemas, "required": required},
        "response": {"type": "dict", "properties": response},
    }
