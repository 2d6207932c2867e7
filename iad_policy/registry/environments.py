"""Finds registered environments, and the classes they are made of, without making one."""

from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec, load_env_creator

GROUP = "gymnasium.envs"
"""Entry points of installed packages: each is a module that registers environments, or a function that does."""


def registered(name: str) -> EnvSpec | None:
    """Return what is registered under an id (without a module), also by a package that is only installed; else None."""
    if name not in gym.registry:
        register_installed()
    return gym.registry.get(name)


@cache
def register_installed() -> None:
    """Let the installed packages register their environments, once. Gymnasium 1.0 has given this up.

    Raises:
        ImportError: A package can't do it.
    """
    for entry in entry_points(group=GROUP):
        try:
            found = entry.load()
            if not isinstance(found, ModuleType):
                found()
        except Exception as error:  # it may raise anything
            raise ImportError(
                f"expected the entry point {entry.name} = {entry.value!r} of {GROUP} to register environments, got "
                f"{type(error).__name__}: {error}; mend or uninstall its package"
            ) from error


def class_of(spec: EnvSpec) -> Any:
    """Return the class, or the function, that makes a registered environment. Its module is imported.

    Raises:
        Exception: Whatever the module raises.
    """
    entry = spec.entry_point
    return load_env_creator(entry) if isinstance(entry, str) else entry


def others() -> Iterator[EnvSpec]:
    """Return what is registered besides Gymnasium's own environments."""
    register_installed()
    for spec in list(gym.registry.values()):
        # Gymnasium's own are not imported to look at their classes.
        if not (isinstance(spec.entry_point, str) and spec.entry_point.startswith("gymnasium.")):
            yield spec
