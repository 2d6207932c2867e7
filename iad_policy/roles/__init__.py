"""Roles answer `Ask`: by a language model, a verifier, a trained model, or templates.

The log names the source, so that no table can present a template's text as a model's.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object, with_defaults
from iad_policy.registry.domain import all_named, domain_of, env_id
from iad_policy.roles.templates import TemplateRoles
from iad_policy.types import LoadedAgent, LoadedRoles, LoadedVerifier, Roles, State
from iad_policy.types.names import ROLES

__all__ = ["AssignedRoles", "TemplateRoles", "component_for", "load_roles"]

COMPONENTS: Mapping[str, str] = {
    "template": "", "litellm:<model>": "", "local:<model>": "", "hf:<model>": "",
    "verifier:<name>": "iad_policy.roles.by_verifier:VerifierRoles",
    "learned:<folder>": "iad_policy.roles.learned:LearnedEvaluator",
}  # fmt: skip
"""Form of a component's name -> the "module:class" that takes the environment and what stands after the colon."""
MODEL_ROLES = "iad_policy.roles.language_model:model_roles"


class AssignedRoles:
    """Roles of which some have a component of their own.

    Args:
        assigned: Component of each role that has its own. `<strategy>.<role>` is the role of one strategy: see `of`.
        default: Component of all other roles.

    Raises:
        UnknownName: There is no such role.
    """

    model: Any = None
    """None: a role's own model belongs to its component."""
    information = ""
    reads_info = False
    trained_on: Mapping[str, Any] | None = None

    def __init__(self, assigned: Mapping[str, Roles], default: Roles) -> None:
        for role in assigned:
            if role.rpartition(".")[2] not in ROLES:
                raise UnknownName("role", role, ROLES)
        self.assigned: dict[str, LoadedRoles] = {
            role: with_defaults(one, LoadedRoles) for role, one in assigned.items()
        }
        self.default: LoadedRoles = with_defaults(default, LoadedRoles)
        self.source = ", ".join([default.source, *(f"{role} {one.source}" for role, one in assigned.items())])
        named = [f"{role}: {one.identity or one.source}" for role, one in sorted(self.assigned.items())]
        self.identity = "; ".join([self.default.identity or self.default.source, *named])

    def of(self, strategy: str) -> "AssignedRoles":
        """Return the roles as a strategy has them: those of its own go before those of all."""
        own = {name: (*name.rpartition(".")[::2], one) for name, one in self.assigned.items()}
        shared = {role: one for whose, role, one in own.values() if not whose}
        return AssignedRoles(
            shared | {role: one for whose, role, one in own.values() if whose == strategy}, self.default
        )

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
            `"verifier:<name>"`, `"learned:<folder>"` for the evaluator, a critic that the environment's domain adds,
            such as `"reference"`, or an object with `answer`). The other roles keep the default. None takes the default
            for all: the agent's own language model, as in the papers, or the verifier's if the agent has none, or else
            templates.
        env: The environment, whose prompts language models get.
        agent: The agent.
        verifier: The verifier.

    Raises:
        UnknownName: There is no such role, or no such component.
        ValueError: The component can't play the role: a verifier reads gold, a trained model is not the evaluator's, or
            the environment has no such critic.
    """
    if roles is not None and not isinstance(roles, Mapping):
        return with_defaults(roles, LoadedRoles)  # type: ignore[no-any-return]
    model = next((one.model for one in (agent, verifier) if one is not None and one.model is not None), None)
    default = with_defaults(TemplateRoles(), LoadedRoles) if model is None else load_object(MODEL_ROLES)(env, model)
    if not roles:
        return default  # type: ignore[no-any-return]
    return AssignedRoles({role: _component(role, one, env, model) for role, one in roles.items()}, default)


def _component(role: str, component: str | Roles, env: gym.Env[Any, Any], model: Any) -> Roles:
    if not isinstance(component, str):
        return component
    if component == TemplateRoles.source:
        return TemplateRoles()
    kind, _, name = component.partition(":")
    if kind in ("litellm", "local", "hf"):
        return load_object(MODEL_ROLES)(env, component)  # type: ignore[no-any-return]
    if kind == "learned" and role != "evaluator":
        raise UnknownName("role with a trained model", role, ("evaluator",))
    if (own := domain_of(env).critics.get(kind, "")) or kind in all_named("critics"):
        if role.rpartition(".")[2] != "critic":
            raise UnknownName(f"role that {kind} can play", role, ("critic",))
        if not own:
            raise ValueError(
                f"expected an environment that adds the critic {kind}, got {env_id(env)}, which does not; pass --role "
                f"{role}=litellm:<model> or {role}=template, which see no reference"
            )
        return load_object(own)(env, name or model)  # type: ignore[no-any-return]
    path = next((path for form, path in COMPONENTS.items() if path and form.startswith(f"{kind}:")), "")
    if not path:
        raise UnknownName("component of a role", component, [*COMPONENTS, *domain_of(env).critics])
    return load_object(path)(env, name)  # type: ignore[no-any-return]
