"""Conversations: states as agents and verifiers get them, without gold."""

from typing import Any

from iad_envs.core import IADEnv
from iad_envs.toolcalls.acebench.env import ACEBenchEnv
from iad_envs.toolcalls.bfcl.env import BFCLEnv
from iad_envs.toolcalls.policy.verifier import CallVerifier
from tests.iad_envs.episode import Episode


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
