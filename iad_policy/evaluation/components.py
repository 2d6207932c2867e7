"""Who answers in a run; language models behind one cache, so that a repeated comparison costs nothing."""

import os
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import gymnasium as gym
from platformdirs import user_cache_path

from iad_policy.agents import load_agent
from iad_policy.evaluation.config import RunConfig
from iad_policy.models import LanguageModel
from iad_policy.models.cache import CachedModel
from iad_policy.registry import with_source_digest
from iad_policy.roles import ROLES, component_for, load_roles
from iad_policy.runtime.components import Components
from iad_policy.simulators import load_simulator, require_no_gold
from iad_policy.verifiers import load_verifier

CACHE_VARIABLE = "IAD_CACHE"


def cache_path() -> Path:
    """Return the cache's file: `$IAD_CACHE`, else in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return user_cache_path("iad", appauthor=False) / "completions.sqlite"


def load_components(config: RunConfig, env: gym.Env[Any, Any], agent: str) -> Components:
    """Return an agent, and the verifier, roles and simulator that a configuration names.

    Raises:
        UnknownName: No such agent, verifier, role or simulator.
        SimulationError: A verifier that reads gold with a simulator that isn't perfect.
        ValueError: The cache's file is something else.
    """
    loaded = load_agent(config.own.get(agent, agent), env, **config.agent_args)
    verifier = load_verifier(config.own.get(config.verifier, config.verifier), env) if config.verifier else None
    roles = load_roles(config.roles, env, loaded, verifier)
    simulator = load_simulator(config.simulator, env)
    require_no_gold(simulator, loaded, verifier)
    asked: tuple[Any, ...] = (loaded, verifier, simulator, *(component_for(roles, role) for role in ROLES))
    for one in asked:
        gate = getattr(getattr(one, "model", None), "gate", None)
        if gate is not None:
            gate.widen(config.workers * config.threads)
        if config.cache and hasattr(one, "model"):
            one.model = _cached(one.model, cache_path())
    return Components(loaded, verifier, roles, simulator)


def identity_of(role: Any, name: str) -> str:
    """Return what names the behaviour of an agent, a verifier, roles or a strategy of one's own.

    It is their own word for it (`identity`); else, for code that is not ours, the name and a digest of its source, so
    that changed code is not answered from an old run; else the name alone.
    """
    return str(getattr(role, "identity", "")) or with_source_digest(name, getattr(role, "function", role))


_caches: WeakValueDictionary[tuple[int, Path], CachedModel] = WeakValueDictionary()
_caches_lock = Lock()


def _cached(model: LanguageModel, path: Path) -> CachedModel:
    """Return the model behind its cache, the same for all workers: each would open the file for itself."""
    if isinstance(model, CachedModel):
        return model
    with _caches_lock:
        found = _caches.get((id(model), path))  # it holds the model, so the number is not given again while it is there
        if found is None:
            found = _caches[id(model), path] = CachedModel(model, path)
        return found
