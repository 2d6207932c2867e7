"""What the worlds share: functions are methods, checked by their documents, over records."""

import json
import math
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, get_args, get_type_hints

S = TypeVar("S")
Row = TypeVar("Row", bound=NamedTuple)

Result = dict[str, Any]
"""JSON-like: texts, numbers, booleans, lists and dicts."""
After = tuple[S, Result]
"""The state after a call, and what the call returns."""

MAX_TEXT = 64_000
"""Characters of a text."""


class Refused(Exception):
    """A call that can't be done. Its text is the call's result."""


class FunctionWorld(Generic[S]):
    """A world of methods `f(state, **arguments) -> (state, result)`, which raise `Refused` where it can't be done.

    What a function takes and returns is in `documents/<world>.json`, in the official form.
    """

    name: ClassVar[str]
    state: ClassVar[Any]
    """Class of its states: a named tuple whose fields have defaults. One of type `tuple[Row, ...]` holds records."""
    more: ClassVar[Mapping[str, Callable[[], tuple[Any, ...]]]] = {}
    """Field -> returns the records that a long context adds, which no task is about."""
    inherits: ClassVar[tuple[str, ...]] = ()
    """Worlds whose functions it has, too. They come first."""
    lasting: ClassVar[frozenset[str]] = frozenset()
    """Functions whose effect can't be taken back."""

    def __init__(self) -> None:
        names = dict.fromkeys((*self.inherits, self.name))
        files = [Path(__file__).parent / "documents" / f"{name.lower()}.json" for name in names]
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        self.documents: tuple[dict[str, Any], ...] = tuple(map(json.loads, lines))
        self._parameters = {one["name"]: one["parameters"] for one in self.documents}

    def load(self, config: Mapping[str, Any], *, long_context: bool = False) -> S:
        """Return the state at the start.

        Raises:
            TypeError: The configuration is not this world's.
        """
        found = {}
        for key, hint in get_type_hints(self.state).items():
            if key in config:
                (row, *_) = get_args(hint) or (None,)
                has_rows = isinstance(row, type) and issubclass(row, tuple)
                found[key] = tuple(row(**one) for one in config[key]) if has_rows else config[key]
            if long_context and key in self.more:
                found[key] = (*found.get(key, ()), *self.more[key]())
        made: S = self.state(**found)
        return made

    def public(self, state: Any) -> Mapping[str, Any]:
        """Return what a checker compares, by name: values with `==`."""
        shown: Mapping[str, Any] = state._asdict()
        return shown

    def call(self, state: S, function: str, arguments: Mapping[str, Any]) -> After[S]:
        """Return the state after a call, and its result: `{"error": text}` where it was refused."""
        if function not in self._parameters:
            return state, {"error": f"{self.name} has no function {function}."}
        wrong = complaint(self._parameters[function], arguments)
        if wrong:
            return state, {"error": wrong}
        try:
            after: After[S] = getattr(self, function)(state, **arguments)
        except Refused as refused:
            return state, {"error": str(refused)}
        return after


def complaint(parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with arguments by a function's document, or ""."""
    properties = parameters["properties"]
    for name in arguments:
        if name not in properties:
            return f"There is no parameter {name}; expected {', '.join(properties) or 'none'}."
    for name in parameters["required"]:
        if name not in arguments:
            return f"{name} is missing."
    for name, value in arguments.items():
        wrong = _wrong_type(properties[name], value)
        if wrong:
            return f"{name} must be {wrong}."
    return ""


def _wrong_type(schema: Mapping[str, Any], value: object) -> str:
    """Return what was expected in place of a value, or ""."""
    kind = schema["type"]
    if kind == "string":
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            return f"a text of at most {MAX_TEXT} characters"
        choices = schema.get("enum")
        return f"one of {', '.join(choices)}" if choices and value not in choices else ""
    if kind == "boolean":
        return "" if isinstance(value, bool) else "True or False"
    if kind == "array":
        if not isinstance(value, list | tuple) or len(value) > 1000:
            return "a list of at most 1000 elements"
        return next((f"a list of {wrong}" for one in value if (wrong := _wrong_type(schema["items"], one))), "")
    fits = isinstance(value, int if kind == "integer" else int | float) and not isinstance(value, bool)
    if fits and isinstance(value, int | float) and abs(value) <= 10**15 and math.isfinite(value):
        return ""
    return f"{'a whole number' if kind == 'integer' else 'a number'} of at most 1e+15"


def found(rows: tuple[Row, ...], key: str) -> Row | None:
    """Return the record whose first field is the key."""
    return next((row for row in rows if row[0] == key), None)


def known(rows: tuple[Row, ...], key: str, kind: str) -> Row:
    """Return the record whose first field is the key.

    Raises:
        Refused: There is none.
    """
    row = found(rows, key)
    if row is None:
        raise Refused(f"There is no {kind} {key!r}.")
    return row


def named(rows: tuple[Any, ...], name: str, refusal: str) -> Any:
    """Return the record with a name, in any case.

    Raises:
        Refused: There is none. `refusal` says so.
    """
    for row in rows:
        if row.name.lower() == name.strip().lower():
            return row
    raise Refused(refusal)


def day_of(text: str) -> date:
    """Return the day of an argument `day`.

    Raises:
        Refused: It is not YYYY-MM-DD.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    if day is None or day.isoformat() != text:
        raise Refused(f"day must be a date as YYYY-MM-DD, got {text!r}.")
    return day


def replaced(rows: tuple[Row, ...], new: Row) -> tuple[Row, ...]:
    """Return the records with the one of the same first field replaced."""
    return tuple(new if row[0] == new[0] else row for row in rows)


def without(rows: tuple[Row, ...], key: str) -> tuple[Row, ...]:
    """Return the records but the one whose first field is the key."""
    return tuple(row for row in rows if row[0] != key)
