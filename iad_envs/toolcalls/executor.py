"""Runs calls on simulated objects. The state is a value: running returns a new one and leaves the given one as it was.

The texts of results are those of the official BFCL executor: a text as it is, a dict as JSON, anything else as `str`
shows it, and `Error during execution: ...` for an exception.
"""

import inspect
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import MappingProxyType
from typing import Any, NamedTuple

from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.copying import copied

FAILED = "Error during execution: "
MAX_TEXT = 65_536
MAX_INTEGER = 10**15
"""Largest number without a fraction in an argument, in either direction."""


class ToolLimit(ValueError):
    """An argument would make a call take too long. The message becomes the call's result."""


class Precaution(NamedTuple):
    """What is done around calls of one function.

    Attributes:
        within: Entered around the call, to put back what the function changes for the whole process.
        arguments: Returns the arguments to call with, which are equal in effect, or raises `ToolLimit`.
        result: Returns the result as it is in every process, where a set's order would differ.
    """

    within: Callable[[], AbstractContextManager[Any]] = nullcontext
    arguments: Callable[[dict[str, Any]], dict[str, Any]] = lambda arguments: arguments
    result: Callable[[Any], Any] = lambda result: result


class ToolState(NamedTuple):
    """The simulated objects at one moment, by class name. A value: none of them is ever changed."""

    instances: Mapping[str, Any]


class RanCalls(NamedTuple):
    """What calls did: the state after them, and a text for each."""

    state: ToolState
    results: tuple[str, ...]


class Toolbox:
    """The functions of some simulated classes.

    Args:
        classes: The classes by name, with public methods as functions and public attributes as state. Copies of an
            instance are made of its attributes. `_load_scenario(scenario, long_context=)`, where there is one, sets its
            state up. Of two functions with one name the last one counts.
        precautions: By function.
        lock: Held during calls. For classes that share something that changes.
    """

    def __init__(
        self,
        classes: Mapping[str, type],
        *,
        precautions: Mapping[str, Precaution] = MappingProxyType({}),
        lock: AbstractContextManager[Any] | None = None,
    ) -> None:
        self.classes = dict(classes)
        self.functions = {name: kind for kind in self.classes for name in public_functions(self.classes[kind])}
        self._precautions = precautions
        self._lock = nullcontext() if lock is None else lock

    def start(self, config: Mapping[str, Mapping[str, Any]], *, long_context: bool = False) -> ToolState:
        """Return the state at the start of a scenario.

        Args:
            config: What the scenario sets up, by class.
            long_context: Fill the state with much that does not matter.
        """
        instances = {}
        with self._lock:
            for name, kind in self.classes.items():
                instance = kind()
                if hasattr(kind, "_load_scenario"):
                    instance._load_scenario(copied(dict(config.get(name, {}))), long_context=long_context)
                instances[name] = copied(instance)  # official classes refer to tables of their modules
        return ToolState(instances)

    def parameters(self, function: str) -> tuple[str, ...]:
        """Return the names of a function's parameters, in order. None of an unknown one."""
        if function not in self.functions:
            return ()
        return tuple(inspect.signature(getattr(self.classes[self.functions[function]], function)).parameters)[1:]

    def run(self, state: ToolState, calls: Sequence[FunctionCall], *, withheld: Collection[str] = ()) -> RanCalls:
        """Run calls in order. Only objects whose functions are called are copied.

        Args:
            state: The state before them.
            calls: The calls. An argument may itself be a call, which runs first.
            withheld: Functions that are treated as unknown.
        """
        instances = dict(state.instances)
        touched = {kind for name in _names(calls) if (kind := self.functions.get(name)) and name not in withheld}
        for kind in touched:
            instances[kind] = copied(instances[kind])
        results = tuple([self._text(instances, call, withheld) for call in calls])
        return RanCalls(ToolState(instances) if touched else state, results)

    def _text(self, instances: dict[str, Any], call: FunctionCall, withheld: Collection[str]) -> str:
        with self._lock, self._within(call.name):  # until the text is made, for which a precision counts as well
            try:
                return text_of(self._result(instances, call, withheld))
            except Exception as error:
                return f"{FAILED}{error}"

    def _within(self, function: str) -> AbstractContextManager[Any]:
        precaution = self._precautions.get(function)
        return nullcontext() if precaution is None else precaution.within()

    def _result(self, instances: dict[str, Any], call: FunctionCall, withheld: Collection[str]) -> Any:
        kind = self.functions.get(call.name)
        if kind is None or call.name in withheld:
            raise NameError(f"name {call.name.partition('.')[0]!r} is not defined")
        arguments = {name: self._argument(instances, name, call.arguments[name], withheld) for name in call.arguments}
        function = getattr(instances[kind], call.name)
        precaution = self._precautions.get(call.name)
        if precaution is None:
            return function(**arguments)
        return precaution.result(function(**precaution.arguments(arguments)))

    def _argument(self, instances: dict[str, Any], name: str, value: Any, withheld: Collection[str]) -> Any:
        """Return an argument that the function may keep and change."""
        kind = type(value)
        if kind is str:
            if len(value) > MAX_TEXT:
                raise ToolLimit(f"argument {name!r} must have at most {MAX_TEXT} characters, got {len(value)}")
            return value
        if kind is int:
            if not -MAX_INTEGER <= value <= MAX_INTEGER:
                raise ToolLimit(f"argument {name!r} must be between -{MAX_INTEGER} and {MAX_INTEGER}")
            return value
        if kind is float:
            if not math.isfinite(value):  # the original writes it as a name
                raise NameError(f"name {str(value).lstrip('-')!r} is not defined")
            return value
        if kind is FunctionCall:
            with self._within(value.name):
                return self._result(instances, value, withheld)
        if kind is list:
            return [self._argument(instances, name, item, withheld) for item in value]
        if kind is tuple:
            return tuple([self._argument(instances, name, item, withheld) for item in value])
        if kind is dict:
            return {key: self._argument(instances, name, item, withheld) for key, item in value.items()}
        return value


def public_functions(kind: type) -> list[str]:
    """Return the names of a class's functions."""
    return [name for name in dir(kind) if name[0] != "_" and inspect.isfunction(getattr(kind, name))]


def public_attributes(instance: Any) -> dict[str, Any]:
    """Return what counts when states are compared."""
    return {name: value for name, value in vars(instance).items() if name[0] != "_"}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the public attributes that differ between simulated objects, each as `Class.attribute`."""
    found = []
    for name, instance in after.items():
        old = before[name]
        if instance is not old:
            was = vars(old)
            found += [
                f"{name}.{key}" for key, value in public_attributes(instance).items() if _differs(was, key, value)
            ]
    return tuple(found)


def _differs(was: Mapping[str, Any], key: str, value: Any) -> bool:
    if key in was and was[key] is value:
        return False
    try:
        return key not in was or bool(was[key] != value)
    except RecursionError:  # directories in a circle can't be compared
        return True


def text_of(result: Any) -> str:
    """Return the text of a function's result."""
    if type(result) is str:
        return result
    if type(result) is dict:
        try:
            return json.dumps(result)
        except Exception:  # an object, a number with too many digits, a circle
            return str(result)
    return str(result)


def _names(calls: Iterable[FunctionCall]) -> Iterable[str]:
    """Yield the names of calls, and of calls in their arguments."""
    for call in calls:
        yield call.name
        for value in call.arguments.values():
            if type(value) is FunctionCall:
                yield from _names([value])
            elif type(value) is dict:
                yield from _names([item for item in value.values() if type(item) is FunctionCall])
