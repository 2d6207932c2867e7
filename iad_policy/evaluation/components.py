"""Who answers in a run; language models behind one cache, so that a repeated comparison costs nothing."""

import os
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import gymnasium as gym
from platformdirs import user_cache_path

from iad_policy.agents import FunctionAgent, load_agent
from iad_policy.evaluation.config import RunConfig
from iad_policy.models import LanguageModel, allow_parallel
from iad_policy.models.cache import CachedModel
from iad_policy.registry import with_source_digest
from iad_policy.roles import ROLES, component_for, load_roles
from iad_policy.runtime.components import Components
from iad_policy.simulators import Simulator, load_simulator, require_no_gold
from iad_policy.types import LoadedAgent, LoadedVerifier
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
    components: tuple[Any, ...] = (loaded, verifier, simulator, *(component_for(roles, role) for role in ROLES))
    for one in components:
        if one is None or one.model is None:
            continue
        allow_parallel(one.model, config.workers * config.threads)
        if config.cache:
            one.model = _cached(one.model, cache_path())
    return Components(loaded, verifier, roles, simulator)


def identity_of(component: LoadedAgent | LoadedVerifier | Simulator | None, name: str) -> str:
    """Return a text that names the behaviour of a component.

    This is the component's own `identity`. If that is empty, it is the name, with a digest of the source for code that
    is not ours: changed code must not be answered from an old run.
    """
    if component is not None and component.identity:
        return component.identity
    return with_source_digest(name, component.function if isinstance(component, FunctionAgent) else component)


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
