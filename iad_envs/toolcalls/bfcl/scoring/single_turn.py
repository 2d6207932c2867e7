"""Checks the calls that answer one question, by the official rule and by a sound one.

The official rule compares a call with gold by its name, the names of its arguments, their exact types (an int passes
for a float), and their values: texts without blanks, `,./-_*^` and case, in lists and dicts as well; else by `==`.

`sound` differs in five points:

- parallel calls are matched with gold as well as possible; the original takes for each gold call the first answer that
  fits and never reconsiders;
- between digits, and before one, punctuation counts: "3.5" is not "35", nor "-5" "5", while "1,000" is "1000"; it also
  counts in a text that is nothing else: "," is not "-";
- the mark "" in gold, which says that an argument may be left out, is no right text, unless it is the default;
- where a call is wanted (relevance), it must be of an offered function;
- answers are expected to be read by `read_calls`: in a fence with a language, or as JSON, they are calls as well.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from iad_envs.toolcalls.bfcl.data import SingleQuestion
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.matching import n_matched
from iad_envs.toolcalls.rules import Rules

Alternatives = Sequence[Any]
Normalise = Callable[[str], str]

_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "float": float,
    "boolean": bool,
    "array": list,
    "tuple": list,
    "dict": dict,
    "any": str,
}


class CallsVerdict(NamedTuple):
    """The verdict on an answer: `error_type` in the official words, or ""."""

    valid: bool
    error_type: str = ""


class _ValueRules(NamedTuple):
    """What differs between the scorings.

    Attributes:
        normalise: The form in which texts are compared.
        is_mark_right: Whether the mark of an argument that may be left out is a value as well.
    """

    normalise: Normalise
    is_mark_right: bool

    @classmethod
    def of(cls, scoring: Rules) -> "_ValueRules":
        """Return those of a scoring."""
        return cls(without_punctuation, True) if scoring == "official" else cls(with_numbers, False)

    def values(self, right: Alternatives) -> Alternatives:
        """Return gold's values without the mark, unless that is one."""
        return right if self.is_mark_right else [one for one in right if one != ""]


def check_calls(
    question: SingleQuestion, calls: Sequence[FunctionCall] | None, *, scoring: Rules = "official"
) -> CallsVerdict:
    """Return the verdict on the answer to a question.

    Args:
        question: The question with gold.
        calls: The answer, or None if it could not be read as calls.
        scoring: `official` expects calls by `decoding.decoded`, `sound` by `read_calls(..., dots=True)`.
    """
    if question.kind in ("irrelevance", "relevance"):
        return _checked_relevance(question, calls or (), scoring)
    if calls is None:
        return CallsVerdict(False, "ast_decoder:decoder_failed")
    if not all(isinstance(call.arguments, dict) for call in calls):
        return CallsVerdict(False, "ast_decoder:decoder_wrong_output_format")
    rules = _ValueRules.of(scoring)
    is_parallel = question.kind.startswith("parallel")
    checker = "parallel_function_checker_no_order" if is_parallel else f"{question.kind}_function_checker"
    if len(calls) != len(question.gold):
        return CallsVerdict(False, f"{checker}:wrong_count")

    def verdict(call: FunctionCall, index: int) -> CallsVerdict:
        gold = question.gold[index]
        document = question.functions[0] if question.kind == "simple" else _document(question, next(iter(gold)))
        return _checked_call(call, document, next(iter(gold.values())), rules)

    if not is_parallel:
        return verdict(calls[0], 0)
    fits = [[n for n, call in enumerate(calls) if verdict(call, gold).valid] for gold in range(len(calls))]
    if scoring == "sound":
        is_matched = n_matched(fits) == len(calls)
    else:  # in order, each gold call takes the first answer that is left
        taken: list[int] = []
        for fitting in fits:
            taken += [call for call in fitting if call not in taken][:1]
        is_matched = len(taken) == len(calls)
    return CallsVerdict(True) if is_matched else CallsVerdict(False, f"{checker}:cannot_find_match")


def share_right(question: SingleQuestion, calls: Sequence[FunctionCall], *, scoring: Rules = "official") -> float:
    """Return the share of right calls in an answer, 0-1: of gold's calls, or of the answer's if these are more."""
    if question.kind in ("irrelevance", "relevance"):
        return float(_checked_relevance(question, calls, scoring).valid)
    rules = _ValueRules.of(scoring)

    def fits(gold: int, call: int) -> bool:
        name, right = next(iter(question.gold[gold].items()))
        return _checked_call(calls[call], _document(question, name), right, rules).valid

    fitting = [[call for call in range(len(calls)) if fits(gold, call)] for gold in range(len(question.gold))]
    return n_matched(fitting) / max(len(calls), len(question.gold))


def gold_answer(question: SingleQuestion) -> str:
    """Return gold as an answer: of each argument the first value that is right. Relevance has no gold but a call."""
    if question.kind == "irrelevance":
        return "[]"
    if question.kind == "relevance":
        return f"[{FunctionCall(question.functions[0]['name'], {})}]"
    calls = []
    for gold in question.gold:
        for name, arguments in gold.items():
            parameters = _document(question, name)["parameters"]["properties"]
            given = {
                key: _first(right)
                for key, right in arguments.items()
                # Two golds offer parameters that their functions don't have.
                if _is_given(right) and (key in parameters or "" not in right)
            }
            calls.append(FunctionCall(name, given))
    return f"[{', '.join(map(str, calls))}]"


def _is_given(right: Any) -> bool:
    return not isinstance(right, list) or any(one != "" for one in right)


def _first(right: Alternatives) -> Any:
    """Return the first right value. Entries of dicts have alternatives of their own."""
    value = next(one for one in right if one != "")
    if isinstance(value, dict):
        return _given_entries(value)
    if isinstance(value, list) and value and all(isinstance(one, dict) for one in value):
        return [_given_entries(one) for one in value]
    return value


def _given_entries(gold: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _first(right) if isinstance(right, list) else right for key, right in gold.items() if _is_given(right)}


def _checked_relevance(question: SingleQuestion, calls: Sequence[FunctionCall], scoring: Rules) -> CallsVerdict:
    """Check whether there is a call: there should be none for irrelevance, and one for relevance."""
    are_calls = bool(calls) and all(isinstance(call.arguments, dict) for call in calls)
    if question.kind == "irrelevance":
        return CallsVerdict(False, "irrelevance_error:decoder_success") if are_calls else CallsVerdict(True)
    if not are_calls:
        return CallsVerdict(False, "relevance_error:decoder_failed")
    offered = {document["name"] for document in question.functions}
    if scoring == "sound" and not all(call.name in offered for call in calls):
        return CallsVerdict(False, "relevance_error:unknown_function")
    return CallsVerdict(True)


def _document(question: SingleQuestion, name: str) -> Mapping[str, Any]:
    found = [document for document in question.functions if document["name"] == name]
    if not found:
        raise ValueError(f"expected a document of the gold function {name} in {question.task_id}, found none")
    return found[0]


def _checked_call(
    call: FunctionCall, document: Mapping[str, Any], gold: Mapping[str, Alternatives], rules: _ValueRules
) -> CallsVerdict:
    """Check a call against one gold call: parameter -> right values."""
    if call.name != document["name"]:
        return CallsVerdict(False, "simple_function_checker:wrong_func_name")
    parameters, required = document["parameters"]["properties"], document["parameters"]["required"]
    if any(name not in call.arguments for name in required):
        return CallsVerdict(False, "simple_function_checker:missing_required")
    for name, value in call.arguments.items():
        if name not in parameters or name not in gold:
            return CallsVerdict(False, "simple_function_checker:unexpected_param")
        right = gold[name]
        is_empty_right = rules.is_mark_right or name in required or parameters[name].get("default") == ""
        if error := _error_of(value, parameters[name], right, _ValueRules(rules.normalise, is_empty_right)):
            return CallsVerdict(False, error)
    if any(name not in call.arguments and "" not in right for name, right in gold.items()):
        return CallsVerdict(False, "simple_function_checker:missing_optional")
    return CallsVerdict(True)


def _error_of(value: Any, parameter: Mapping[str, Any], right: Alternatives, rules: _ValueRules) -> str:
    """Return what is wrong with an argument, or ""."""
    described = parameter["type"]
    wanted = _TYPES[described]
    inner = _TYPES[parameter["items"]["type"]] if described in ("array", "tuple") else None
    if described == "tuple" and type(value) is tuple:
        value = list(value)
    if described == "float" and type(value) is int:
        try:
            value = float(value)
        except OverflowError:
            return "type_error:simple"
    error, is_as_gold = _type_error(value, wanted, inner, right)
    if error:
        return error
    try:
        return _value_error(value, None if is_as_gold else wanted, inner, right, rules)
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError):
        return "value_error:others"  # the original ends with this error


def _type_error(value: Any, wanted: type, inner: type | None, right: Alternatives) -> tuple[str, bool]:
    """Return the error of an argument's type, or "", and whether gold's type is another one than the schema's.

    Gold's type is that of its first value but for the mark "". An argument of that type is right as well.
    """
    gold_type = next((type(one) for one in right if one != ""), None)
    if type(value) is wanted:
        items: Sequence[Any] = value if isinstance(value, list) else ()
        is_as_gold = gold_type is not None and gold_type is not wanted
        # The items of a list have the types of the schema, or of one of gold's lists.
        if inner is None or any(
            type(one) is not list or all(not _type_error(item, inner, None, one)[0] for item in items) for one in right
        ):
            return "", is_as_gold
        return ("type_error:nested" if type(value) is gold_type else "type_error:simple"), False
    if gold_type is not None and type(value) is gold_type:
        return "", True
    return "type_error:simple", False


def _value_error(value: Any, wanted: type | None, inner: type | None, right: Alternatives, rules: _ValueRules) -> str:
    """Return the error of an argument's value, or "". `wanted` is None where values are compared as they are."""
    if wanted is dict:
        return _dict_error(value, right, rules)
    if wanted is list and inner is dict:
        return _dicts_error(value, right, rules)
    right = rules.values(right)
    if wanted is str:
        is_right = rules.normalise(value) in [rules.normalise(one) for one in right if type(one) is str]
        return "" if is_right else "value_error:string"
    if wanted is list:
        is_right = _normalised(value, rules.normalise) in [_normalised(one, rules.normalise) for one in right]
        return "" if is_right else "value_error:list/tuple"
    return "" if value in right else "value_error:others"


def _dict_error(value: Mapping[Any, Any], right: Alternatives, rules: _ValueRules) -> str:
    """Return the error against the last of gold's dicts, or "" if one fits. Each of them gives right values by key."""
    error = "dict_checker:unclear"
    for gold in right:
        if gold == "":
            continue
        error = ""
        for key, item in value.items():
            if key not in gold:
                error = "value_error:dict_key"
                break
            if _text_form(item, rules.normalise) not in _normalised(rules.values(gold[key]), rules.normalise):
                error = "value_error:dict_value"
                break
        if any(key not in value and "" not in items for key, items in gold.items()):
            error = "value_error:dict_key"
        if not error:
            return ""
    return error


def _dicts_error(value: Sequence[Any], right: Alternatives, rules: _ValueRules) -> str:
    """Return the error of a list of dicts against the last of gold's lists, or "" if one fits."""
    error = "list_dict_checker:unclear"
    for gold in rules.values(right):
        if len(value) != len(gold):
            error = "value_error:list_dict_count"
            continue
        errors = (_dict_error(item, [one], rules) for item, one in zip(value, gold, strict=True))
        error = next(filter(None, errors), "")
        if not error:
            return ""
    return error


def _normalised(values: Sequence[Any], normalise: Normalise) -> list[Any]:
    return [_text_form(value, normalise) for value in values]


def _text_form(value: Any, normalise: Normalise) -> Any:
    return normalise(value) if type(value) is str else value


def without_punctuation(text: str) -> str:
    """Return the form in which the original compares texts."""
    return re.sub(r"[ ,./\-_*^]", "", text).lower().replace("'", '"')


def with_numbers(text: str) -> str:
    """Return a form in which punctuation in numbers counts."""
    # Stand-ins for a sign, a point, times, to the power of, and what else separates two numbers. All ways to write a
    # date and a time separate alike.
    kept = {"-": "\x00", ".": "\x01", "*": "\x02", "^": "\x03", " ": "\x04"}
    text = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text)
    text = re.sub(r"(?<=[\w)\]])(?:\^|\*\*)(?=\d)", kept["^"], text)
    text = re.sub(
        r"(?<=\d)[ ,./\-_*^]+(?=\d)",
        lambda run: kept["." if run[0] == "." else "*" if "*" in run[0] else " "],
        text,
    )
    # From the first sign that doesn't follow a word: the run's first or second.
    signs = r"(?:(?<![\w)\].-])|(?<=[\w)\]][-.]))[-.]++(?=\d)"
    text = re.sub(signs, lambda found: "".join(kept[one] for one in found[0]), text)
    return without_punctuation(text) or text  # of a separator nothing would be left
