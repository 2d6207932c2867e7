"""The true score of a step as a verifier: an instrument, labelled wherever it is used.

It is no oracle of the episode: what a step scores need not be what the episode comes to.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from iad_policy.types import Candidate, Information, State, Verdict


class OracleVerifier:
    """Scores a candidate by gold: the reward where it ends the episode, the progress before."""

    information: Information = "oracle"
    needs_preview = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> Sequence[Verdict]:
        """Read the gold that the driver attached to the previews."""
        return [self._verdict(candidate) for candidate in candidates]

    def _verdict(self, candidate: Candidate) -> Verdict:
        preview = candidate.preview
        if preview is None or preview.gold is None:
            raise ValueError(f"expected a preview with gold for {candidate.action!r}, got none; a driver attaches it")
        gold = preview.gold
        score = float(gold["reward"] if preview.done else gold["progress"])
        return Verdict(score, passed=score >= 1.0, details=dict(gold["reward_parts"]))
