"""Executes the calls of agent tasks. State is a value: a run returns a new one, and copies only what its calls touch.

The official quirks are kept by the rules `official`: a method runs on every class that has it, and the last result
counts; an unknown function returns the result of the call before it; results are written down after the last call.
"""

import inspect
import json
import math
from collections.abc import Collection, Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from iad_envs.errors import UnknownTask
from iad_envs.toolcalls.acebench.checkout import Loop
from iad_envs.toolcalls.acebench.reading import read_agent
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls
from iad_envs.toolcalls.copying import copied
from iad_envs.toolcalls.executor import public_functions
from iad_envs.toolcalls.rules import Rules

SAVED: Mapping[str, tuple[str, ...]] = {
    "BaseApi": ("wifi", "logged_in"),
    "MessageApi": ("inbox",),
    "ReminderApi": ("reminder_list",),
    "FoodPlatform": ("users", "logged_in_users", "orders"),
    "Travel": ("users", "reservations"),
}
"""Attributes of the official classes that are compared with gold."""
NOT_UNDERSTOOD = "Please do not ask me any questions, use the known conditions to solve the problem"
"""What the official code answers to an agent's message without calls, in tasks without a user."""


class AceState(NamedTuple):
    """The state of an agent task. Instances are never changed: a run puts new ones in their place.

    Attributes:
        instances: The instances by class name, in the order of the task.
        has_run: Whether a message was executed. Before that the official code saves no state.
    """

    instances: Mapping[str, Any]
    has_run: bool = False


class CallResult(NamedTuple):
    """The result of a call.

    Attributes:
        call: The call, or None for a message that was not understood.
        shown: What the agent reads: text, or data of JSON.
        has_failed: Whether the call did not run, or was refused.
    """

    call: FunctionCall | None
    shown: Any
    has_failed: bool = False


class AceExecuted(NamedTuple):
    """What a message did."""

    state: AceState
    results: tuple[CallResult, ...]


class AceExecutor:
    """Executes calls on instances of simulated classes.

    Args:
        classes: The classes by name. Each has `_load_scenario(config, long_context=)`, and public methods to call.
        involved: The task's classes, in the official order.
        rules: `official` with its quirks; `sound`: only offered functions, an error changes nothing, each call has a
            result of its own.
        loop: After an error the official code goes on in `multi_step`, and drops the other calls in `multi_turn`.
        offered: Names of the functions that may be called under `sound`. None: all public methods.
        base: The part of the configuration that every class reads: `BaseApi`, of the bundled worlds `Phone`.
    """

    def __init__(
        self,
        classes: Mapping[str, type],
        involved: Sequence[str],
        rules: Rules = "official",
        *,
        loop: Loop = "multi_step",
        offered: Collection[str] | None = None,
        base: str = "BaseApi",
    ) -> None:
        for name in involved:
            if name not in classes:
                raise UnknownTask("simulated class", name, classes)
        self.rules = rules
        self.loop = loop
        self.offered = offered
        self.base = base
        self._classes = {name: classes[name] for name in involved}
        self._owners: dict[str, tuple[str, ...]] = {}
        """Public method -> the classes that have it, in order."""
        for name, simulated in self._classes.items():
            for method in public_functions(simulated):
                self._owners[method] = (*self._owners.get(method, ()), name)

    def start(self, config: Mapping[str, Mapping[str, Any]]) -> AceState:
        """Return the state at the start. Every class reads its own part of the configuration, then the base's."""
        instances = {}
        for name, simulated in self._classes.items():
            instance = simulated()
            for part in (name, self.base):
                instance._load_scenario(deepcopy(dict(config.get(part, {}))), long_context=False)
            instances[name] = instance
        return AceState(instances)

    def execute(self, state: AceState, message: str) -> AceExecuted:
        """Return what an agent's message does. One that holds no calls is answered by a sentence."""
        try:
            calls = read_agent(message, self.rules)
        except UnreadableCalls as error:
            shown = NOT_UNDERSTOOD if self.rules == "official" else str(error)
            return AceExecuted(state, (CallResult(None, shown, has_failed=True),))
        return self.run(state, calls)

    def run(self, state: AceState, calls: Sequence[FunctionCall]) -> AceExecuted:
        """Return what calls do."""
        if self.rules == "sound":
            return self._run_sound(state, calls)
        instances, forked = dict(state.instances), set[str]()
        raw: list[Any] = []
        failed: list[bool] = []
        earlier: list[Any] = []
        for call in calls:
            try:
                name = call.name
                first, _, rest = name.partition(".")
                if rest and rest.rpartition(".")[2] in self._owners:  # its last part is found, and its first one fails
                    raise NameError(f"name '{first}' is not defined")
                for owner in self._owners.get(name, ()):
                    if owner not in forked:
                        instances[owner] = copied(instances[owner])
                        forked.add(owner)
                    earlier[:] = [getattr(instances[owner], name)(**_evaluated(call.arguments))]
                if not earlier:
                    raise UnboundLocalError(
                        "cannot access local variable 'func_call_result' where it is not associated with a value"
                    )
                raw.append(earlier[0])
                failed.append(name not in self._owners)
            except Exception as error:
                raw.append(f"Error during execution: {error}")
                failed.append(True)
                if self.loop == "multi_turn":
                    return AceExecuted(AceState(instances, state.has_run), (CallResult(call, raw[-1], True),))
        shown = [_shown(value) for value in raw]
        results = [
            CallResult(call, value, has_failed or _is_refusal(value))
            for call, value, has_failed in zip(calls, shown, failed, strict=True)
        ]
        return AceExecuted(AceState(instances, True), tuple(results))

    def _run_sound(self, state: AceState, calls: Sequence[FunctionCall]) -> AceExecuted:
        instances = dict(state.instances)
        results = []
        for call in calls:
            if wrong := self._complaint(call):
                results.append(CallResult(call, {"error": wrong}, True))
                continue
            forks = {owner: copied(instances[owner]) for owner in self._owners[call.name]}
            try:
                for fork in forks.values():
                    value = getattr(fork, call.name)(**copied(dict(call.arguments)))
                shown = as_data(value)
            except Exception as error:
                results.append(CallResult(call, {"error": f"{call.name} failed: {error}"}, True))
                continue
            instances.update(forks)
            results.append(CallResult(call, shown, _is_refusal(shown)))
        return AceExecuted(AceState(instances, True), tuple(results))

    def _complaint(self, call: FunctionCall) -> str:
        """Return why a call can't be run, or ""."""
        if call.name not in self._owners or (self.offered is not None and call.name not in self.offered):
            known = sorted(self.offered if self.offered is not None else self._owners)
            return f"expected one of the functions {', '.join(known)}, got {call.name}"
        parameters = _parameters(self._classes[self._owners[call.name][-1]], call.name)
        is_complete = all(name in call.arguments or one.default is not one.empty for name, one in parameters.items())
        if is_complete and call.arguments.keys() <= parameters.keys():
            return ""
        wanted, given = (", ".join(names) or "none" for names in (parameters, call.arguments))
        return f"expected the arguments {wanted} of {call.name}, got {given}"


def saved_state(state: AceState, saved: Mapping[str, Sequence[str]] = SAVED) -> list[dict[str, dict[str, Any]]]:
    """Return the attributes that are compared with gold, as the official result file has them, by class.

    Attributes stand in the order in which the instance got them. Nothing of it is shared with the state.
    """
    return [
        {name: {key: as_data(value) for key, value in vars(instance).items() if key in saved.get(name, ())}}
        for name, instance in state.instances.items()
    ]


_PLAIN = frozenset({str, int, float, bool, type(None)})


def as_data(value: Any) -> Any:
    """Return a value as it is read back from JSON, or its text. Nothing is shared with the value."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {key if type(key) is str else _key(key): as_data(item) for key, item in value.items()}
    if kind is list or isinstance(value, list | tuple):
        return [item if type(item) in _PLAIN else as_data(item) for item in value]
    return value if isinstance(value, str | int | float) else str(value)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else json.dumps(key) if key is None or isinstance(key, int | float) else str(key)


def _evaluated(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments for one execution. What the official code can't evaluate again as Python fails as there."""
    for value in arguments.values():
        if isinstance(value, dict):
            raise NameError(f"name '{next(iter(value), '')}' is not defined")
        if isinstance(value, float) and not math.isfinite(value):
            raise NameError(f"name '{abs(value)}' is not defined")
    own: dict[str, Any] = copied(dict(arguments))
    return own


def _shown(value: Any) -> Any:
    """Return what the official code shows of a result: JSON is read where a text happens to be some."""
    try:
        text = value if isinstance(value, str) else json.dumps(value) if type(value) is dict else str(value)
    except (TypeError, ValueError):
        text = repr(type(value))
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_refusal(shown: Any) -> bool:
    """Whether the official classes, or the bundled worlds, refuse a call by this result."""
    if not isinstance(shown, Mapping):
        return False
    return shown.get("status") is False or shown.get("status") == "error" or shown.keys() == {"error"}


@cache
def _parameters(simulated: type, method: str) -> Mapping[str, inspect.Parameter]:
    """Return a method's parameters without the object itself."""
    return dict(list(inspect.signature(getattr(simulated, method)).parameters.items())[1:])
