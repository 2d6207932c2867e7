"""A verifier in the place of a role: `verifier:<name>`. So a ranking and a reward can come from different verifiers."""

from dataclasses import replace
from typing import Any

import gymnasium as gym

from iad_policy.roles.templates import TemplateRoles
from iad_policy.types import Candidate, State
from iad_policy.types.information import may_read_gold
from iad_policy.verifiers import load_verifier


class VerifierRoles:
    """Answers as without a model, by the verdicts of a verifier of its own.

    It is for roles whose subject are candidates of the state: the ranker, the judge and the critic.

    Args:
        env: The environment.
        verifier: Name of the verifier.

    Raises:
        ValueError: It reads gold, which only the run's own verifier may, as every table then says so.
        UnknownName: There is no such verifier.
    """

    def __init__(self, env: gym.Env[Any, Any], verifier: str) -> None:
        self._verifier = load_verifier(verifier, env)
        if may_read_gold(self._verifier):
            raise ValueError(
                f"expected a verifier without gold for a role, got {verifier}, labelled 'oracle'; use "
                "litellm:<model>, template or a verifier without gold, or pass it as the run's verifier"
            )
        self.source = f"verifier:{verifier}"
        self.identity = f"verifier:{self._verifier.identity or verifier}"
        self.trained_on = self._verifier.trained_on

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the role's text about the subject, with this verifier's verdicts."""
        candidates = subject if isinstance(subject, list | tuple) else [subject]
        if all(isinstance(one, Candidate) for one in candidates):
            usable = [replace(one, verdict=None) for one in candidates if not one.error]
            verdicts = iter(self._verifier.verify(state, usable))
            subject = [one if one.error else replace(one, verdict=next(verdicts)) for one in candidates]
        return TemplateRoles().answer(role, state, subject)
