"""Checks the calls of a normal task against gold.

Official rules (`model_eval/checker.py` at 56dd66c), whose faults count under `official`: numbers and booleans are
never compared unless they stand in a list or a dictionary; a text is right if it contains gold; a value in a dictionary
is right if its text contains that of gold; gold that the function does not require may be missing; two gold calls may
be met by the same call. Under `sound` calls must be equal to gold both ways, one to one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from iad_envs.toolcalls.acebench.checkout import AceGold, AceTask
from iad_envs.toolcalls.acebench.equality import same_value
from iad_envs.toolcalls.acebench.reading import read_normal
from iad_envs.toolcalls.acebench.scoring import RIGHT, AnswerVerdict
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


class _Mismatch(Exception):
    """An answer differs from gold: what is wrong, and an explanation."""


def check_normal(task: AceTask, gold: AceGold, answer: str, rules: Rules = "official") -> AnswerVerdict:
    """Return the verdict on an answer. One of the alternatives of gold must fit; else the first one's fault is told."""
    try:
        calls = read_normal(answer, multi_turn=task.multi_turn, rules=rules)
    except UnreadableCalls as error:
        return AnswerVerdict(False, "unreadable", str(error))
    return check_calls(task, gold, calls, rules)


def check_calls(
    task: AceTask, gold: AceGold, calls: Sequence[FunctionCall], rules: Rules = "official"
) -> AnswerVerdict:
    """Return the verdict on calls that were read."""
    verdict = RIGHT
    for alternative in gold.answer if isinstance(gold.answer, list) else [gold.answer]:
        try:
            if rules == "official":
                _match_officially(task.functions, calls, alternative)
            else:
                _match_soundly(task.functions, calls, alternative)
            found = RIGHT
        except _Mismatch as mismatch:
            found = AnswerVerdict(False, *mismatch.args)
        except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
            found = AnswerVerdict(False, "crash", f"{type(error).__name__}: {error}")
        if found.valid:
            return found
        verdict = verdict if verdict is not RIGHT else found
    return verdict


def share_right(task: AceTask, gold: AceGold, calls: Sequence[FunctionCall]) -> float:
    """Return the share of right calls in an answer, 0-1, soundly: of gold's, or of the answer's if these are more."""
    offered = [document["name"] for document in task.functions]
    best = 0.0
    for alternative in gold.answer if isinstance(gold.answer, list) else [gold.answer]:
        expected = gold_calls(alternative, offered)
        fits = [
            [place for place, call in enumerate(calls) if call.name == one.name and _same_call(call, one).valid]
            for one in expected
        ]
        best = max(best, n_matched(fits) / max(1, len(calls), len(expected)))
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
    first = gold.answer[0] if isinstance(gold.answer, list) else gold.answer
    calls = gold_calls(first, (document["name"] for document in task.functions))
    return f"[{', '.join(map(str, calls))}]"


def _match_officially(
    functions: Sequence[Mapping[str, Any]], calls: Sequence[FunctionCall], alternative: Mapping[str, Any]
) -> None:
    expected = gold_calls(alternative)
    _require_same_names(calls, expected)
    for numbered, one in zip(alternative, expected, strict=True):
        # A document whose name is a part of gold's name is taken for it, whichever comes first.
        document = next((document for document in functions if document["name"] in numbered), None)
        failure: _Mismatch | None = None
        for call in calls:
            if call.name != one.name:
                continue
            try:
                _require_fits(call, one.arguments, document)
                break
            except _Mismatch as mismatch:
                failure = mismatch
        else:
            raise failure or _Mismatch("wrong_function", f"expected {one.name}, got none")


def _require_same_names(calls: Sequence[FunctionCall], expected: Sequence[FunctionCall]) -> None:
    if len(calls) != len(expected):
        raise _Mismatch("wrong_count", f"expected {len(expected)} calls, got {len(calls)}")
    given, wanted = (Counter(call.name for call in these) for these in (calls, expected))
    if given != wanted:
        raise _Mismatch("wrong_function", f"expected {_listed(wanted)}, got {_listed(given)}")


def _require_fits(call: FunctionCall, gold: Mapping[str, Any], document: Any) -> None:
    """Refuse a call that the official code does not take for the gold call of the same name."""
    parameters = document["parameters"]
    if not call.arguments or not parameters:
        if call.arguments or parameters:  # so a call without arguments fails where the document lists no properties
            raise _Mismatch("missing_argument", f"expected arguments of {call.name}, got none")
        return
    properties = parameters["properties"]
    if gold == properties:
        return
    if not gold:
        raise _Mismatch("unknown_argument", f"expected no arguments of {call.name}, got some")
    if document["name"] != call.name:
        raise _Mismatch("wrong_function", f"expected {document['name']}, got {call.name}")
    for name in parameters["required"]:
        if name not in call.arguments:
            raise _Mismatch("missing_argument", f"expected {name} in {call.name}, got none")
    for name, value in call.arguments.items():
        if name not in properties or name not in gold:
            raise _Mismatch("unknown_argument", f"expected no {name} in {call.name}, got one")
        _require_argument(name, value, gold[name], properties[name])


def _require_argument(name: str, value: Any, gold: Any, schema: Mapping[str, Any]) -> None:
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
    if not is_of_type:
        raise _Mismatch("wrong_type", f"expected {described} for {name}, got {value!r:.80}")
    if not is_compared:
        return
    if wanted is dict:
        fits = _dict_fits(value, gold)
    elif wanted is list and inner is dict:
        fits = len(value) == len(gold) and all(map(_dict_fits, value, gold))
    elif wanted is str:
        fits = _standard(gold) in _standard(value)
    elif wanted is list:
        fits = list(map(_standard, value)) == list(map(_standard, gold))
    else:
        fits = True  # numbers and booleans are not compared
    if not fits:
        raise _Mismatch("wrong_value", f"expected {gold!r:.200} for {name}, got {value!r:.200}")


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


def _match_soundly(
    functions: Sequence[Mapping[str, Any]], calls: Sequence[FunctionCall], alternative: Mapping[str, Any]
) -> None:
    expected = gold_calls(alternative, (document["name"] for document in functions))
    _require_same_names(calls, expected)
    fits: list[list[int]] = []
    for one in expected:
        verdicts = {place: _same_call(call, one) for place, call in enumerate(calls) if call.name == one.name}
        fits.append([place for place, verdict in verdicts.items() if verdict.valid])
        if not fits[-1]:
            verdict = next(iter(verdicts.values()))
            raise _Mismatch(verdict.error, verdict.message)
    if n_matched(fits) < len(expected):
        raise _Mismatch("wrong_value", "expected every gold call to have a call of its own")


def _same_call(call: FunctionCall, gold: FunctionCall) -> AnswerVerdict:
    for name, wanted in gold.arguments.items():
        if name not in call.arguments:
            return AnswerVerdict(False, "missing_argument", f"expected {name} in {call.name}, got none")
        if not same_value(call.arguments[name], wanted):
            given = call.arguments[name]
            return AnswerVerdict(False, "wrong_value", f"expected {wanted!r:.200} for {name}, got {given!r:.200}")
    if extra := call.arguments.keys() - gold.arguments.keys():
        return AnswerVerdict(False, "unknown_argument", f"expected no {min(extra)} in {call.name}, got one")
    return RIGHT


def _listed(names: Counter[str]) -> str:
    return ", ".join(sorted(names.elements())) or "no calls"
