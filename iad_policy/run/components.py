"""Loads the components of a run. Language models share one cache, so that a repeated comparison costs nothing."""

import os
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import gymnasium as gym
from platformdirs import user_cache_path

from iad_policy.agents import FunctionAgent
from iad_policy.models import LanguageModel, allow_parallel
from iad_policy.models.cache import CachedModel
from iad_policy.registry.source import with_source_digest
from iad_policy.run.config import RunConfig
from iad_policy.runtime.components import Components
from iad_policy.runtime.components import load_components as components_of
from iad_policy.strategies import declaration_of
from iad_policy.types import LoadedAgent, LoadedVerifier
from iad_policy.types.names import NO_VERIFIER
from iad_policy.world.simulator import Simulator

CACHE_VARIABLE = "IAD_CACHE"


def cache_path() -> Path:
    """Return the path of the cache: `$IAD_CACHE`, else a file in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return user_cache_path("iad", appauthor=False) / "completions.sqlite"


def load_components(config: RunConfig, env: gym.Env[Any, Any], agent: str) -> Components:
    """Return an agent with the verifier, roles and simulator of a configuration with one verifier.

    Raises:
        UnknownName: There is no such agent, verifier, role or simulator.
        SimulationError: The verifier reads what the simulator does not have: gold, or structured info.
        ValueError: The file of the cache is not a cache.
    """
    (verifier,) = config.verifier
    components = components_of(
        env,
        config.own.get(agent, agent),
        config.own.get(verifier, verifier) or NO_VERIFIER,
        roles=config.roles,
        simulator=config.own.get(config.simulator, config.simulator),
        needs_info=any(declaration_of(config.strategy(name)).needs != "nothing" for name in config.strategies),
        **config.agent_args,
    )
    for one in asking(components):
        allow_parallel(one.model, config.workers * config.threads)
        if config.cache:
            one.model = _cached(one.model, cache_path())
    return components


def asking(components: Components) -> list[Any]:
    """Return the components that ask a language model."""
    found = (components.agent, components.verifier, components.simulator, *components.by_role.values())
    return [one for one in found if getattr(one, "model", None) is not None]


def identity_of(component: LoadedAgent | LoadedVerifier | Simulator | None, name: str) -> str:
    """Return a text that identifies the behaviour of a component.

    This is the component's own `identity`. If that is empty, it is the name, with a digest of the source for code of
    users: answers of an old run must not be reused for changed code.
    """
    if component is not None and component.identity:
        return component.identity
    return with_source_digest(name, code_of(component))


def code_of(component: Any) -> Any:
    """Return the user's function where a component is one."""
    return component.function if isinstance(component, FunctionAgent) else component


_caches: WeakValueDictionary[tuple[int, Path], CachedModel] = WeakValueDictionary()
_caches_lock = Lock()


def _cached(model: LanguageModel, path: Path) -> CachedModel:
    """Return the model with its cache. All workers share one, so that the file is opened once."""
    if isinstance(model, CachedModel):
        return model
    with _caches_lock:
        found = _caches.get((id(model), path))  # the cache holds the model, so its id is not reused meanwhile
        if found is None:
            found = _caches[id(model), path] = CachedModel(model, path)
        return found
