"""Who answers in a run; language models behind one cache, so that a repeated comparison costs nothing."""

import os
from pathlib import Path
from typing import Any

import gymnasium as gym

from iad_policy.adapters import adapt
from iad_policy.agents import load_agent
from iad_policy.cast import Cast
from iad_policy.evaluation.config import RunConfig
from iad_policy.models.cache import CachedModel
from iad_policy.roles import ROLES, load_roles, player_of
from iad_policy.simulators import load_simulator, require_no_gold
from iad_policy.verifiers import load_verifier

CACHE_VARIABLE = "IAD_CACHE"


def cache_path() -> Path:
    """Return the cache's file: `$IAD_CACHE`, else in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "iad" / "completions.sqlite"


def load_cast(config: RunConfig, env: gym.Env[Any, Any]) -> Cast:
    """Return the agent, verifier, roles and simulator that a configuration names.

    Raises:
        UnknownName: No such agent, verifier, role or simulator.
        SimulationError: A verifier that reads gold with a simulator that isn't perfect.
        ValueError: The cache's file is something else.
    """
    agent = load_agent(config.agent, env)
    verifier = load_verifier(config.verifier, env) if config.verifier else None
    roles = load_roles(config.roles, env, agent, verifier)
    simulator = load_simulator(config.simulator, adapt(env))
    require_no_gold(simulator, agent, verifier)
    if config.cache:
        asked: tuple[Any, ...] = (agent, verifier, simulator, *(player_of(roles, role) for role in ROLES))
        for one in asked:
            if hasattr(one, "model") and not isinstance(one.model, CachedModel):
                one.model = CachedModel(one.model, cache_path())
    return Cast(agent, verifier, roles, simulator)
