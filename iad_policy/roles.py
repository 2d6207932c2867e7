"""Who answers `Ask` when there is no language model for it.

The ranker and the evaluator take the verifier's verdicts that the subject carries; the paraphraser exchanges phrases,
other ones at each call; the other roles fill templates. The log names the source, so a table can't pass such a text off
as a model's.
"""

from typing import Any

import gymnasium as gym

from iad_policy.call import current_call
from iad_policy.errors import UnknownName
from iad_policy.names import load_object
from iad_policy.paraphrasing import paraphrase
from iad_policy.types import Agent, Candidate, Roles, State, Verifier, score

ROLES = ("critic", "judge", "ranker", "evaluator", "summariser", "reflector", "paraphraser")


class TemplateRoles:
    """Answers without a model."""

    source = "template"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the role's text; see the module."""
        if role not in ROLES:
            raise UnknownName("role", role, ROLES)
        candidates = [part for part in _parts(subject) if isinstance(part, Candidate)]
        texts = [_said(part) for part in _parts(subject)]
        if role == "ranker":
            best = max(range(len(candidates)), key=lambda place: score(candidates[place]), default=0)
            return str(best)
        if role in ("evaluator", "judge"):
            return "\n".join(f"{_said(one)}: {one.score:.4g}. {_critique(one)}".strip() for one in candidates)
        if role == "critic":
            return " ".join(_critique(one) for one in candidates).strip() or "No complaint; look once more at the task."
        if role == "summariser":
            return "What was tried:\n" + "\n".join(f"- {text}" for text in texts)
        if role == "reflector":
            return f"That attempt did not succeed: {'; '.join(texts)}. Do something different this time."
        call = current_call()
        return paraphrase("\n".join(texts), call.sample_index, call.stream)


def _parts(subject: Any) -> list[Any]:
    if isinstance(subject, list | tuple):
        return [leaf for part in subject for leaf in _parts(part)]
    return [] if subject is None else [subject]


def _said(part: Any) -> str:
    if isinstance(part, Candidate):
        return part.error or str(part.action)
    if isinstance(part, State):
        return " -> ".join(str(turn.action) for turn in part.history)
    return str(part)


def _critique(candidate: Candidate) -> str:
    return "" if candidate.verdict is None else candidate.verdict.critique


def default_roles(env: gym.Env[Any, Any], agent: Agent, verifier: Verifier | None) -> Roles:
    """Return who plays the roles where nobody is named: the agent's own language model, as in the papers.

    Without one it is the verifier's, and without that these templates.
    """
    for one in (agent, verifier):
        model = getattr(one, "model", None)
        if model is not None:
            return load_object("iad_policy.models.roles:model_roles")(env, model)  # type: ignore[no-any-return]
    return TemplateRoles()
