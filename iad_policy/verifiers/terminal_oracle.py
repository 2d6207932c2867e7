"""Another verifier, except that a candidate which ends the episode is scored by its true reward.

This is a leak of published code (QLASS), as an option: what it is worth can be measured. It is labelled `oracle`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym

from iad_policy.registry import with_defaults
from iad_policy.types import Candidate, LoadedVerifier, State, Verdict, Verifier
from iad_policy.types.information import Information
from iad_policy.verifiers import load_verifier
from iad_policy.verifiers.oracle import OracleVerifier


class TerminalOracleVerifier:
    """Scores what ends the episode by gold, and everything else as another verifier does.

    Args:
        inner: The other verifier. It sees no gold.
    """

    information: Information = "oracle"
    needs_preview = True

    def __init__(self, inner: Verifier) -> None:
        self._inner: LoadedVerifier = with_defaults(inner, LoadedVerifier)
        self._oracle = OracleVerifier()
        self.trained_on = self._inner.trained_on

    @property
    def identity(self) -> str:
        """Everything its answers depend on."""
        inner = self._inner.identity or f"{type(self._inner).__module__}:{type(self._inner).__name__}"
        return f"terminal-oracle {inner}"

    @property
    def model(self) -> Any:
        """The language model inside, or None."""
        return self._inner.model

    @model.setter
    def model(self, model: Any) -> None:
        self._inner.model = model

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return the verdicts."""
        verdicts: Sequence[Verdict] = list(self._inner.verify(state, [_without_gold(one) for one in candidates]))
        if len(verdicts) != len(candidates):
            return verdicts  # the driver refuses them
        return [
            self._oracle.verify(state, [candidate])[0] if _is_end(candidate) else verdict
            for candidate, verdict in zip(candidates, verdicts, strict=True)
        ]


def terminal_oracle(env: gym.Env[Any, Any], argument: str = "proxy") -> TerminalOracleVerifier:
    """Score ends by the true reward, and other candidates by another verifier: `terminal-oracle:<verifier>`."""
    return TerminalOracleVerifier(load_verifier(argument, env))


def _without_gold(candidate: Candidate) -> Candidate:
    preview = candidate.preview
    return candidate if preview is None else replace(candidate, preview=replace(preview, gold=None))


def _is_end(candidate: Candidate) -> bool:
    preview = candidate.preview
    return preview is not None and preview.done and not preview.is_awaiting
