"""Roles answer `Ask` without a language model.

The ranker and the evaluator use the verifier's verdicts that come with the subject. The paraphraser exchanges phrases,
different ones at each call. The other roles fill templates. The log names the source, so that no table can present such
a text as a model's.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object, with_defaults
from iad_policy.roles.rule_paraphraser import paraphrase
from iad_policy.roles.templates import ToldAttempt, evaluation_of, summary_of
from iad_policy.strategies.building_blocks.attempts import attempt_text, plan_between
from iad_policy.types import Candidate, LoadedAgent, LoadedRoles, LoadedVerifier, Roles, State, score
from iad_policy.types.call_context import current_call
from iad_policy.types.names import NO_COMPLAINT, ROLES

COMPONENTS = (
    "template", "litellm:<model>", "local:<model>", "hf:<model>", "verifier:<name>", "learned:<folder>",
)  # fmt: skip


class TemplateRoles:
    """Answers without a model."""

    source = "template"

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the role's text. See the module."""
        if role not in ROLES:
            raise UnknownName("role", role, ROLES)
        candidates = [part for part in _parts(subject) if isinstance(part, Candidate)]
        texts = [_text_of(part) for part in _parts(subject)]
        if role == "ranker":
            best = max(range(len(candidates)), key=lambda place: score(candidates[place]), default=0)
            return str(best)
        if role == "evaluator":
            return "\n".join(map(evaluation_of, candidates)) or evaluation_of(Candidate(None))
        if role == "judge":
            return "\n".join(f"{_text_of(one)}: {one.score:.4g}. {_critique(one)}".strip() for one in candidates)
        if role == "critic":
            return " ".join(_critique(one) for one in candidates).strip() or NO_COMPLAINT
        if role == "summariser":
            return summary_of(_attempts(state, subject))
        if role == "reflector":
            return f"That attempt did not succeed: {'; '.join(texts)}. Do something different this time."
        call = current_call()
        return paraphrase("\n".join(texts), call.sample_index, call.stream)


class AssignedRoles:
    """Roles of which some have a component of their own.

    Args:
        assigned: Component of each role that has its own.
        default: Component of all other roles.

    Raises:
        UnknownName: There is no such role.
    """

    model: Any = None
    """None: a role's own model belongs to its component."""
    reads_info = False
    trained_on: Mapping[str, Any] | None = None

    def __init__(self, assigned: Mapping[str, Roles], default: Roles) -> None:
        for role in assigned:
            if role not in ROLES:
                raise UnknownName("role", role, ROLES)
        self.assigned: dict[str, LoadedRoles] = {
            role: with_defaults(one, LoadedRoles) for role, one in assigned.items()
        }
        self.default: LoadedRoles = with_defaults(default, LoadedRoles)
        self.source = ", ".join([default.source, *(f"{role} {one.source}" for role, one in assigned.items())])
        named = [f"{role}: {_identity(one)}" for role, one in sorted(self.assigned.items())]
        self.identity = "; ".join([_identity(self.default), *named])

    def answer(self, role: str, state: State, subject: Any) -> str:
        """Return the text of the role's component."""
        return self.assigned.get(role, self.default).answer(role, state, subject)


def component_for(roles: LoadedRoles, role: str) -> LoadedRoles:
    """Return the component used for one role."""
    return roles.assigned.get(role, roles.default) if isinstance(roles, AssignedRoles) else roles


def load_roles(
    roles: Roles | Mapping[str, str | Roles] | None,
    env: gym.Env[Any, Any],
    agent: LoadedAgent,
    verifier: LoadedVerifier | None,
) -> LoadedRoles:
    """Return the component used for the roles.

    Args:
        roles: One component for all roles, or a mapping from role to component (`"litellm:<model>"`, `"template"`,
            `"verifier:<name>"`, `"learned:<folder>"` for the evaluator, or an object with `answer`). The other roles
            keep the default. None takes the default for all.
        env: The environment, whose prompts language models get.
        agent: The agent, whose language model is the default.
        verifier: The verifier, whose language model is the default if the agent has none.

    Raises:
        UnknownName: There is no such role, or no such component.
        ValueError: The component can't play the role: a verifier reads gold, or a trained model is not the evaluator's.
    """
    if roles is not None and not isinstance(roles, Mapping):
        return with_defaults(roles, LoadedRoles)  # type: ignore[no-any-return]
    default = default_roles(env, agent, verifier)
    if not roles:
        return default
    return AssignedRoles({role: _component(role, one, env) for role, one in roles.items()}, default)


def _component(role: str, component: str | Roles, env: gym.Env[Any, Any]) -> Roles:
    if not isinstance(component, str):
        return component
    if component == TemplateRoles.source:
        return TemplateRoles()
    kind, _, name = component.partition(":")
    if kind == "verifier":
        return load_object("iad_policy.roles.by_verifier:VerifierRoles")(env, name)  # type: ignore[no-any-return]
    if kind == "learned":
        return load_object("iad_policy.roles.learned:learned_role")(env, role, name)  # type: ignore[no-any-return]
    if kind not in ("litellm", "local", "hf"):
        raise UnknownName("component of a role", component, COMPONENTS)
    return load_object("iad_policy.roles.language_model:model_roles")(env, component)  # type: ignore[no-any-return]


def _identity(roles: LoadedRoles) -> str:
    return roles.identity or roles.source


def _parts(subject: Any) -> list[Any]:
    if isinstance(subject, list | tuple):
        return [leaf for part in subject for leaf in _parts(part)]
    return [] if subject is None else [subject]


def _text_of(part: Any) -> str:
    if isinstance(part, Candidate):
        return part.error or str(part.action)
    if isinstance(part, State):
        return " -> ".join(str(turn.action) for turn in part.history)
    return str(part)


def _attempts(start: State, subject: Any) -> list[ToldAttempt]:
    """Return what is told of attempts. One that comes with its last state and its evaluation is told step by step."""
    told = []
    for number, part in enumerate(subject if isinstance(subject, list | tuple) else [subject], start=1):
        if isinstance(part, tuple) and isinstance(part[0], State):
            evaluation = "\n".join(map(_text_of, part[1:]))
            text = attempt_text(number, start, part[0], evaluation)
            told.append(ToldAttempt(text, plan_between(start, part[0]), evaluation))
        else:
            told += [ToldAttempt(_text_of(one)) for one in _parts(part)]
    return told


def _critique(candidate: Candidate) -> str:
    return "" if candidate.verdict is None else candidate.verdict.critique


def default_roles(env: gym.Env[Any, Any], agent: LoadedAgent, verifier: LoadedVerifier | None) -> LoadedRoles:
    """Return the component for roles that are not assigned: the agent's own language model, as in the papers.

    If the agent has none, it is the verifier's. Without any model, it is `TemplateRoles`.
    """
    for one in (agent, verifier):
        if one is not None and one.model is not None:
            return load_object("iad_policy.roles.language_model:model_roles")(env, one.model)  # type: ignore[no-any-return]
    return with_defaults(TemplateRoles(), LoadedRoles)  # type: ignore[no-any-return]
