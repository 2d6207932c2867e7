"""Who answers in a run, by name; language models behind one cache, so that a repeated comparison costs nothing."""

import os
from pathlib import Path
from typing import Any

import gymnasium as gym

from iad_policy.agents import AGENTS, TAKES_MODEL, load_agent, load_object
from iad_policy.answering import Cast
from iad_policy.evaluation.config import RunConfig
from iad_policy.models import LanguageModel, load_model
from iad_policy.models.cache import CachedModel
from iad_policy.models.roles import model_roles
from iad_policy.roles import TemplateRoles
from iad_policy.types import Agent, Roles, Verifier
from iad_policy.verifiers import VERIFIERS, load_verifier

CACHE_VARIABLE = "IAD_CACHE"


def cache_path() -> Path:
    """Return the cache's file: `$IAD_CACHE`, else in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "iad" / "completions.sqlite"


def load_cast(config: RunConfig, env: gym.Env[Any, Any]) -> Cast:
    """Return the agent, verifier and roles that a configuration names.

    The roles are played by the agent's own model, else by the judge's, else by templates.

    Raises:
        UnknownName: No such agent or verifier.
        ValueError: The cache's file is something else.
    """
    agent_model, judge_model = _model(config.agent, TAKES_MODEL, config), _model(config.verifier, VERIFIERS, config)
    agent: Agent = (
        load_agent(config.agent, env)
        if agent_model is None
        else load_object(AGENTS[config.agent.partition(":")[0]])(env, agent_model)
    )
    verifier: str | Verifier = (
        config.verifier
        if judge_model is None
        else load_object(VERIFIERS[config.verifier.partition(":")[0]])(env, judge_model)
    )
    model = getattr(agent, "model", None) or judge_model
    roles: Roles = TemplateRoles() if model is None else model_roles(env, model)
    return Cast(agent, load_verifier(verifier, env) if verifier else None, roles)


def _model(name: str, known: Any, config: RunConfig) -> LanguageModel | None:
    """Return the model of `kind:model`, or None where the name has none."""
    kind, _, model = name.partition(":")
    if kind not in known or not model:
        return None
    loaded = load_model(model)
    return CachedModel(loaded, cache_path()) if config.cache else loaded
