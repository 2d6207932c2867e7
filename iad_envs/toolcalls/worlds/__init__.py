"""The bundled simulated tools: six worlds with 56 functions, and a phone with four apps, which have 30 more.

A state is a frozen value, so a copy is a reference. The apps inherit the functions of the phone: each world has a Wi-Fi
and a log-in of its own, so a call of such a function belongs to every world of a task.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

from iad_envs.toolcalls.worlds.functions import FunctionWorld

WORLD_NAMES = ("Library", "Greenhouse", "Notebook", "Parcels", "Mail", "Units")
"""Worlds of the tasks in the form of BFCL."""
ACE_WORLD_NAMES = ("Phone", "Messages", "Reminders", "Takeaway", "Trips")
"""Worlds of the tasks in the form of ACEBench."""


@cache
def world(name: str) -> FunctionWorld[Any]:
    """Return the world of a name.

    Raises:
        LookupError: There is no such world.
    """
    known = (*WORLD_NAMES, *ACE_WORLD_NAMES)
    if name not in known:
        raise LookupError(f"expected the name of a world, got {name!r}; use one of {', '.join(known)}")
    made: FunctionWorld[Any] = getattr(import_module(f"{__name__}.{name.lower()}"), f"{name}World")()
    return made


class WorldInstance:
    """An object of a world, which the executors run like those of the official simulated classes.

    Its state is a frozen value, so a copy of it refers to the same. Its public attributes are what a checker compares,
    its public methods the world's functions.
    """

    world: ClassVar[FunctionWorld[Any]]

    def __init__(self) -> None:
        self._config: Mapping[str, Any] = {}

    def __copy__(self) -> "WorldInstance":
        copy = object.__new__(type(self))
        vars(copy).update(vars(self))
        return copy

    def __deepcopy__(self, memo: dict[int, Any]) -> "WorldInstance":
        return self.__copy__()

    def _load_scenario(self, scenario: Mapping[str, Any], long_context: bool = False) -> None:
        """Set the state up. What an earlier configuration said, and this one doesn't, stays."""
        self._config = {**self._config, **scenario}
        self._move(self.world.load(self._config, long_context=long_context))

    def _move(self, state: Any) -> None:
        self._state = state
        vars(self).update(self.world.public(state))


@cache
def class_of(name: str) -> type[WorldInstance]:
    """Return the class of a world.

    Raises:
        LookupError: There is no such world.
    """
    kind = world(name)
    methods = {document["name"]: _method(kind, document["name"]) for document in kind.documents}
    return type(name, (WorldInstance,), {"__doc__": kind.documents[0]["description"], "world": kind, **methods})


def _method(kind: FunctionWorld[Any], name: str) -> Callable[..., dict[str, Any]]:
    def method(self: WorldInstance, **arguments: Any) -> dict[str, Any]:
        state, result = self.world.call(self._state, name, arguments)
        self._move(state)
        return result

    of_world = inspect.signature(getattr(type(kind), name))
    itself, _, *own = of_world.parameters.values()
    method.__name__ = name
    method.__dict__["__signature__"] = of_world.replace(parameters=[itself, *own])
    return method
