"""The true score of a step as a verifier. Runs that use it are labelled `oracle`: they are no fair result.

A per-step oracle is not an upper bound for the episode: the step with the best score need not lead to the best episode.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information


class OracleVerifier:
    """Scores a candidate by gold: by the reward if it ends the episode, else by the progress.

    Args:
        env: Not used. Every verifier is created with it.
        part: Name of a part of the reward to score by, such as `text_iou` of Sketch2Code. "" takes the whole.
    """

    information: Information = "oracle"
    needs_preview = True

    def __init__(self, env: gym.Env[Any, Any] | None = None, part: str = "") -> None:
        self._part = part

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Read the gold that the driver attached to the previews."""
        verdicts = []
        for candidate in candidates:
            preview = candidate.preview
            if preview is None or preview.gold is None:
                raise ValueError(
                    f"expected a preview with gold for {candidate.action!r}, got none; a driver attaches it"
                )
            gold, parts = preview.gold, dict(preview.gold["reward_parts"])
            if self._part and self._part not in parts:
                raise UnknownName("part of the reward", self._part, parts)
            is_over = preview.done and not preview.is_awaiting
            score = parts[self._part] if self._part else gold["reward"] if is_over else gold["progress"]
            verdicts.append(Verdict(float(score), passed=score >= 1.0, details=parts))
        return verdicts
