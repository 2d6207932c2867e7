"""Episodes for tests of agents and verifiers: states as these get them, without gold."""

from collections.abc import Mapping
from typing import Any, Self

from iad_envs.core import IADEnv
from iad_policy.types import Candidate, PublicInfo, State, Turn, Verdict


class Episode:
    """An episode, action by action.

    Args:
        env: The environment.
        verifier: Scores actions.
        task_id: Its task.
        steps_left: What the agent is told of them.
    """

    def __init__(self, env: IADEnv[str, Any], verifier: Any, task_id: str, steps_left: int) -> None:
        self.env, self.verifier = env, verifier
        observation, self.gold = env.reset(options={"task_id": task_id})
        self.state = State(observation, PublicInfo(self.gold, env.GOLD_INFO), steps_left=steps_left)

    def did(self, *actions: str) -> Self:
        for action in actions:
            observation, _, terminated, truncated, self.gold = self.env.step(action)
            self.state = self._after(action, observation, self.gold, done=terminated or truncated)
        return self

    def tried(self, action: str) -> Candidate:
        ahead = self.env.simulate(self.env.snapshot(), action)
        preview = self._after(action, ahead.observation, ahead.info, done=ahead.done)
        return Candidate(action, preview=preview, is_terminal=self.env.terminal(action))

    def verdict(self, action: str) -> Verdict:
        found: Verdict = self.verifier.verify(self.state, [self.tried(action)])[0]
        return found

    def _after(self, action: str, observation: str, info: Mapping[str, Any], *, done: bool) -> State:
        here, public = self.state, PublicInfo(info, self.env.GOLD_INFO)
        history = (*here.history, Turn(here.observation, action, here.info))
        return State(observation, public, history=history, steps_left=here.steps_left - 1, done=done)
