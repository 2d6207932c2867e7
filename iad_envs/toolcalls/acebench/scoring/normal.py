"""Checks the calls of a normal task against gold.

Official rules (`model_eval/checker.py` at 56dd66c), whose faults count under `official`: numbers and booleans are
never compared unless they stand in a list or a dictionary; a text is right if it contains gold; a value in a dictionary
is right if its text contains that of gold; gold that the function does not require may be missing; two gold calls may
be met by the same call. Under `sound` calls must be equal to gold both ways, one to one.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from iad_envs.toolcalls.acebench.checkout import AceGold, AceTask
from iad_envs.toolcalls.acebench.equality import same_value
from iad_envs.toolcalls.acebench.reading import read_normal
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls
from iad_envs.toolcalls.matching import n_matched
from iad_envs.toolcalls.rules import Rules

_TYPES: Mapping[str, type | None] = {
    "string": str, "any": str,
    "integer": int, "int": int, "number": int,
    "float": float,
    "boolean": bool,
    "array": list, "list": list, "tuple": list, "objectArray": list, "list(string)": list, "list(enum)": list,
    "object": dict, "dict": dict,
    "enum": None,
}  # fmt: skip
"""Official type of a value by the type in the function's document. No value has that of `enum`."""


def check_normal(task: AceTask, gold: AceGold, answer: str, rules: Rules = "official") -> bool:
    """Whether an answer is right: one of the alternatives of gold fits."""
    try:
        calls = read_normal(answer, multi_turn=task.multi_turn, rules=rules)
    except UnreadableCalls:
        return False
    return any(_matches(task.functions, calls, alternative, rules) for alternative in gold.listed)


def share_right(task: AceTask, gold: AceGold, calls: Sequence[FunctionCall]) -> float:
    """Return the share of right calls in an answer, 0-1, soundly: of gold's, or of the answer's if these are more."""
    best = 0.0
    for alternative in gold.listed:
        expected = gold_calls(alternative, (document["name"] for document in task.functions))
        best = max(best, _n_right(calls, expected) / max(1, len(calls), len(expected)))
    return best


def gold_calls(alternative: Mapping[str, Mapping[str, Any]], offered: Iterable[str] = ()) -> list[FunctionCall]:
    """Return the calls of one alternative of gold. Repeated names are numbered there (`search_1`).

    Args:
        alternative: Arguments by numbered name.
        offered: Names of functions that are left as they are. The official code knows none, and cuts off all numbers.
    """
    known = frozenset(offered)
    return [
        FunctionCall(name if name in known else re.sub(r"_\d+$", "", name), dict(arguments))
        for name, arguments in alternative.items()
    ]


def gold_answer(task: AceTask, gold: AceGold) -> str:
    """Return the first alternative of gold as an answer."""
    calls = gold_calls(gold.listed[0], (document["name"] for document in task.functions))
    return f"[{', '.join(map(str, calls))}]"


def _matches(
    functions: Sequence[Mapping[str, Any]], calls: Sequence[FunctionCall], alternative: Mapping[str, Any], rules: Rules
) -> bool:
    """Whether calls are those of an alternative of gold."""
    try:
        if rules == "official":
            return _matches_officially(functions, calls, alternative)
        expected = gold_calls(alternative, (document["name"] for document in functions))
        return len(calls) == len(expected) == _n_right(calls, expected)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError):
        return False  # the official code fails on this answer


def _n_right(calls: Sequence[FunctionCall], expected: Sequence[FunctionCall]) -> int:
    """Return how many gold calls can each have an equal call of their own."""

    def is_met(one: FunctionCall, call: FunctionCall) -> bool:
        return call.name == one.name and same_value(call.arguments, one.arguments)

    return n_matched([[place for place, call in enumerate(calls) if is_met(one, call)] for one in expected])


def _matches_officially(
    functions: Sequence[Mapping[str, Any]], calls: Sequence[FunctionCall], alternative: Mapping[str, Any]
) -> bool:
    expected = gold_calls(alternative)
    if sorted(call.name for call in calls) != sorted(call.name for call in expected):
        return False
    for numbered, one in zip(alternative, expected, strict=True):
        # A document whose name is a part of gold's name is taken for it, whichever comes first.
        document = next((document for document in functions if document["name"] in numbered), None)
        if not any(call.name == one.name and _fits(call, one.arguments, document) for call in calls):
            return False
    return True


def _fits(call: FunctionCall, gold: Mapping[str, Any], document: Any) -> bool:
    """Whether the official code takes a call for the gold call of the same name."""
    parameters = document["parameters"]
    if not call.arguments or not parameters:
        # So a call without arguments fails where the document lists no properties.
        return not call.arguments and not parameters
    properties = parameters["properties"]
    if gold == properties:
        return True
    if not gold or document["name"] != call.name:
        return False
    if any(name not in call.arguments for name in parameters["required"]):
        return False
    return all(
        name in properties and name in gold and _argument_fits(value, gold[name], properties[name])
        for name, value in call.arguments.items()
    )


def _argument_fits(value: Any, gold: Any, schema: Mapping[str, Any]) -> bool:
    described = schema["type"]
    wanted = _TYPES[described]
    with_items = ("array", "tuple", "list(string)", "list(enum)", "object", "objectArray")
    has_items, inner = described in with_items, None
    if has_items:
        items = schema.get("items")
        if isinstance(items, Mapping) and "type" in items:
            inner = _TYPES[str(items["type"])]
        else:  # a list without described items holds dictionaries
            inner = _TYPES[next((kind for kind in ("string", "enum") if kind in described), "dict")]
    if described == "tuple" and isinstance(value, tuple):
        value = list(value)
    if described == "float" and type(value) is int:
        value = float(value)
    is_of_type, is_compared = _typed(value, gold, wanted, inner, has_items=has_items)
    if not is_of_type or not is_compared:
        return is_of_type
    if wanted is dict:
        return _dict_fits(value, gold)
    if wanted is list and inner is dict:
        return len(value) == len(gold) and all(map(_dict_fits, value, gold))
    if wanted is str:
        return _standard(gold) in _standard(value)
    if wanted is list:
        return list(map(_standard, value)) == list(map(_standard, gold))
    return True  # numbers and booleans are not compared


def _typed(value: Any, gold: Any, wanted: type | None, inner: type | None, *, has_items: bool) -> tuple[bool, bool]:
    """Return whether a value has an acceptable type, and whether it is then compared.

    It is not compared where gold itself is of another type than described.
    """
    is_variable = gold != "" and type(gold) is not wanted
    value = items = _boolean(value)
    if type(value) is wanted:
        if not has_items:
            return True, not is_variable
        for item in gold:  # the types of items are looked at only if an item of gold is itself a list
            if type(item) is not list or all(_typed(one, item, inner, None, has_items=False)[0] for one in items):
                return True, not is_variable
        return False, False
    return gold != "" and (type(value) is type(gold) or gold == value), False


def _dict_fits(value: Any, gold: Mapping[str, Any]) -> bool:
    """Whether a dictionary has the keys of gold and texts of values that contain gold's."""
    if not isinstance(value, dict) or len(value) != len(gold):
        return False
    for key, given in value.items():
        if key not in gold:
            return False
        wanted, item = gold[key], _boolean(given)
        if isinstance(wanted, dict):
            if not _dict_fits(item, wanted):
                return False
        elif str(_standard(wanted)) not in str(_standard(item)):
            return False
    return True


def _boolean(value: Any) -> Any:
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


def _standard(value: Any) -> Any:
    """Return a text as it is compared: without blanks and `,./-_*^`, in lower case. Other values as they are."""
    return re.sub(r"[ ,./\-_*^]", "", value).lower().replace("'", '"') if isinstance(value, str) else value
