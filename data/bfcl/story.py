"""A scenario, played forward: calls are run as they are drawn, so that later ones can use what they returned."""

import re
import sys
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

sys.path.append(str(Path(__file__).resolve().parents[2]))

from checking import MONTHS, leaves
from scenes import DrawnScene

from iad_envs.toolcalls.worlds import world

T = TypeVar("T")

LOOKUPS = ("find_", "list_", "search_")
"""How the functions begin that are called for ids."""
_ID = re.compile(r"^[A-Z]{2}-\d+$|@")

Said = Mapping[str, object]
"""What the user says in a turn, by the names in its wording."""


class Unfit(Exception):
    """A kind of turn that can't come here. Another one is drawn."""


class GoldCall(NamedTuple):
    """A call, and the class it belongs to."""

    world: str
    function: str
    arguments: Mapping[str, Any]

    def __str__(self) -> str:
        """Return the call as the official files write it."""
        return f"{self.function}({', '.join(f'{name}={value!r}' for name, value in self.arguments.items())})"


class PlayedTurn(NamedTuple):
    """A turn of the user: what kind it is, what is said, and what has to be called."""

    kind: str
    said: Said
    calls: tuple[GoldCall, ...]


class TurnKind(NamedTuple):
    """A kind of turn.

    Attributes:
        worlds: The worlds it needs.
        way: `plain`: all is said; `looked_up`: something has to be looked up; `follows`: it goes on with what the turn
            before was about.
        play: Runs its calls and returns what is said, or raises `Unfit`.
    """

    name: str
    worlds: frozenset[str]
    way: str
    play: Callable[["Story"], Said]


TURN_KINDS: dict[str, TurnKind] = {}


def turn(way: str, *worlds: str) -> Callable[[Callable[["Story"], Said]], Callable[["Story"], Said]]:
    """Register a kind of turn under the function's name, which is the one of its wording, too."""

    def registered(play: Callable[["Story"], Said]) -> Callable[["Story"], Said]:
        TURN_KINDS[play.__name__] = TurnKind(play.__name__, frozenset(worlds), way, play)
        return play

    return registered


class Story:
    """A scenario that is being drawn."""

    def __init__(self, scene: DrawnScene, draw: Any) -> None:
        self.scene = scene
        self.draw = draw
        self.turns: tuple[PlayedTurn, ...] = ()
        self.memory: Mapping[str, Any] = {}
        """What the turn before was about, by what it is called: loan, parcel ..."""
        self._states = {name: world(name).load(scene.config.get(name, {})) for name in scene.worlds}
        self._functions = {one["name"]: name for name in scene.worlds for one in world(name).documents}
        self._results: tuple[tuple[str, object], ...] = ()
        self._used: frozenset[Hashable] = frozenset()
        self._calls: tuple[GoldCall, ...] = ()
        self._noted: dict[str, Any] = {}

    def add(self, kind: TurnKind) -> bool:
        """Add a turn of a kind, or leave all as it was where it does not fit."""
        before = (dict(self._states), self._results, self._used)
        self._calls, self._noted = (), {}
        try:
            said = kind.play(self)
        except Unfit:
            self._states, self._results, self._used = before
            return False
        self.turns += (PlayedTurn(kind.name, said, self._calls),)
        self.memory = self._noted
        return True

    def state(self, name: str) -> Any:
        """Return a world's state."""
        return self._states[name]

    def call(self, function: str, **arguments: Any) -> dict[str, Any]:
        """Run a call, which belongs to gold from now on, and return its result.

        Raises:
            Unfit: It is refused, or could be left out, because all that it tells is known.
        """
        name = self._functions[function]
        before = self._states[name]
        self._states[name], result = world(name).call(before, function, arguments)
        is_again = before is self._states[name] and any(call[1:] == (function, arguments) for call in self._all_calls())
        if "error" in result or is_again or (function, result) in self._results or not self._is_news(function, result):
            raise Unfit
        self._results += ((function, result),)
        self._calls += (GoldCall(name, function, arguments),)
        return result

    def _all_calls(self) -> Iterator[GoldCall]:
        yield from (call for turn in self.turns for call in turn.calls)
        yield from self._calls

    def _is_news(self, function: str, result: object) -> bool:
        """Whether what is looked up has an id, or a mail address, that no result had before."""
        known = {leaf for _, one in self._results for leaf in leaves(one)}
        found = {leaf for leaf in leaves(result) if _ID.search(str(leaf))}
        return not function.startswith(LOOKUPS) or not found or bool(found - known)

    def new(self, values: Iterable[T]) -> T:
        """Draw one of the values that no turn was about yet."""
        fresh = [value for value in values if _name(value) not in self._used]
        if not fresh:
            raise Unfit
        value: T = self.draw.one(fresh)
        self._used |= {_name(value)}
        return value

    def word(self, kind: str) -> Any:
        """Draw words of a kind that were not used yet."""
        return self.new(self.scene.words[kind])

    def note(self, **about: Any) -> None:
        """Note what this turn is about."""
        self._noted |= about

    def recall(self, what: str) -> Any:
        """Return what the turn before was about."""
        if what not in self.memory:
            raise Unfit
        return self.memory[what]


def _name(value: object) -> Hashable:
    """Return by what a value counts as the same: records by their first field, notes by folder and title."""
    if isinstance(value, list):
        return str(value[0])
    if not isinstance(value, tuple):
        return str(value)
    return tuple(value[:2]) if str(value[0]).startswith("/") else str(value[0])


def spoken(day: str) -> str:
    """Return a date as people say it: `March 4, 2026`."""
    found = date.fromisoformat(day)
    return f"{MONTHS[found.month - 1]} {found.day}, {found.year}"


def only(values: Iterable[T]) -> T:
    """Return the only value.

    Raises:
        Unfit: There are several, or none.
    """
    one = list(values)
    if len(one) != 1:
        raise Unfit
    return one[0]
