"""The bundled simulated tools: six worlds, 56 functions. A state is a frozen value, so a copy is a reference."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any, Protocol, TypeVar

from iad_envs.toolcalls.worlds.functions import FunctionDoc, Result

__all__ = ["WORLD_NAMES", "FunctionDoc", "Result", "ToolWorld", "world"]

S = TypeVar("S")

_CLASSES = {
    "Library": "library:LibraryWorld",
    "Greenhouse": "greenhouse:GreenhouseWorld",
    "Notebook": "notebook:NotebookWorld",
    "Parcels": "parcels:ParcelsWorld",
    "Mail": "mail:MailWorld",
    "Units": "units:UnitsWorld",
}
WORLD_NAMES = tuple(_CLASSES)


class ToolWorld(Protocol[S]):
    """Tools over one state."""

    @property
    def name(self) -> str:
        """As in a task's `involved_classes` and `initial_config`."""

    @property
    def documents(self) -> tuple[FunctionDoc, ...]:
        """One for each function, in the official form."""

    @property
    def lasting(self) -> frozenset[str]:
        """Functions whose effect can't be taken back: a payment, a sent mail ..."""

    def load(self, config: Mapping[str, Any], *, long_context: bool = False) -> S:
        """Return the state at the start. A long context adds hundreds of records that no task is about.

        Raises:
            TypeError: The configuration is not this world's.
        """

    def call(self, state: S, function: str, arguments: Mapping[str, Any]) -> tuple[S, Result]:
        """Return the state after a call, and its result: `{"error": text}` where it was refused. Never raises."""

    def public(self, state: S) -> Mapping[str, Any]:
        """Return what a checker compares, by name: values with `==`."""


@cache
def world(name: str) -> ToolWorld[Any]:
    """Return the world of a name.

    Raises:
        LookupError: There is no such world.
    """
    if name not in _CLASSES:
        raise LookupError(f"expected the name of a world, got {name!r}; use one of {', '.join(WORLD_NAMES)}")
    module, _, of_class = _CLASSES[name].partition(":")
    made: ToolWorld[Any] = getattr(import_module(f"{__name__}.{module}"), of_class)()
    return made
