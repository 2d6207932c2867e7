"""A verifier without gold: it compares the previewed state with the instruction."""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from iad_elevator.policy.reading import next_action, wanted
from iad_policy.information import Information
from iad_policy.types import Candidate, State, Verdict


class ElevatorVerifier:
    """Scores an action by whether it leads on, 0 to 1."""

    information: Information = "proxy"
    needs_preview = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        """Nothing of the environment is used."""

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate."""
        return [self._verdict(state, candidate) for candidate in candidates]

    def _verdict(self, state: State, candidate: Candidate) -> Verdict:
        preview = candidate.preview
        assert preview is not None, "the driver attaches it, as needs_preview is True"
        if preview.info["invalid_action"]:
            return Verdict(0.0, str(preview.info["facts"]["complaint"]))
        if preview.done:
            is_right = preview.info["page"]["parcel"] == wanted(state)[1]
            return Verdict(float(is_right), "It is where it belongs." if is_right else "It is elsewhere.")
        leads_on = candidate.action.strip() == next_action(state)
        return Verdict(0.8 if leads_on else 0.2, "It leads on." if leads_on else f"Better: {next_action(state)}.")
