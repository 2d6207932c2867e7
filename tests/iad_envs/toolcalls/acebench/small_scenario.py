"""Simulated classes and tasks of our own, in the form that a checkout has."""

from typing import Any

from iad_envs.toolcalls.acebench.checkout import AceTask
from iad_envs.toolcalls.acebench.executor import AceExecuted


class _Switched:
    def __init__(self) -> None:
        self.on = False

    def _load_scenario(self, scenario: dict[str, Any], long_context: bool = False) -> None:
        self.on = scenario.get("on", self.on)

    def switch(self) -> dict[str, Any]:
        self.on = not self.on
        return {"status": True, "message": f"{type(self).__name__.lower()} {self.on}"}


class Lamp(_Switched):
    def __init__(self) -> None:
        super().__init__()
        self.colours: list[str] = []

    def add_colour(self, colour: str) -> Any:
        """Return the list itself, as some official methods do."""
        if not self.on:
            return {"status": False, "message": "off"}
        self.colours.append(colour)
        return self.colours

    def break_down(self, when: str = "now") -> None:
        self.colours.append("broken")
        raise RuntimeError(when)


class Radio(_Switched):
    def __init__(self) -> None:
        super().__init__()
        self.stations = {1: "one"}

    def tune(self, station: int) -> str:
        """Return text that happens to be JSON."""
        return str(station)


def shown(done: AceExecuted) -> Any:
    if done.results and done.results[0].call is None:
        return done.results[0].shown
    return [result.shown for result in done.results]


CLASSES = {"Lamp": Lamp, "Radio": Radio}
SAVED_HERE = {"Lamp": ("on", "colours"), "Radio": ("on", "stations")}


def document(name: str, required: tuple[str, ...] = (), **types: Any) -> dict[str, Any]:
    properties = {key: {"type": kind} if isinstance(kind, str) else kind for key, kind in types.items()}
    return {"name": name, "parameters": {"type": "object", "properties": properties, "required": list(required)}}


def task(*documents: dict[str, Any], category: str = "normal_single_turn_single_function") -> AceTask:
    return AceTask(f"{category}_0_0", category, "", documents)
