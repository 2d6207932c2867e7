"""Who answers in a run; language models behind one cache, so that a repeated comparison costs nothing."""

import os
from pathlib import Path
from typing import Any

import gymnasium as gym

from iad_policy.agents import load_agent
from iad_policy.answering import Cast
from iad_policy.evaluation.config import RunConfig
from iad_policy.models.cache import CachedModel
from iad_policy.roles import default_roles
from iad_policy.verifiers import load_verifier

CACHE_VARIABLE = "IAD_CACHE"


def cache_path() -> Path:
    """Return the cache's file: `$IAD_CACHE`, else in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "iad" / "completions.sqlite"


def load_cast(config: RunConfig, env: gym.Env[Any, Any]) -> Cast:
    """Return the agent, verifier and roles that a configuration names.

    Raises:
        UnknownName: No such agent or verifier.
        ValueError: The cache's file is something else.
    """
    agent = load_agent(config.agent, env, **config.agent_args)
    verifier = load_verifier(config.verifier, env) if config.verifier else None
    if config.cache:
        asked: tuple[Any, ...] = (agent, verifier)
        for one in asked:
            if hasattr(one, "model"):
                one.model = CachedModel(one.model, cache_path())
    return Cast(agent, verifier, default_roles(env, agent, verifier))
