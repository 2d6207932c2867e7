"""The two rules for calls that answer one question."""

from functools import partial
from typing import Any

import pytest

from iad_envs.toolcalls.bfcl.data import QuestionKind, SingleQuestion
from iad_envs.toolcalls.bfcl.decoding import decoded
from iad_envs.toolcalls.bfcl.scoring.single_turn import check_calls, with_numbers, without_punctuation
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls, read_calls
from iad_envs.toolcalls.rules import Rules

TYPES = {
    "text": {"type": "string"},
    "note": {"type": "string", "default": ""},
    "whole": {"type": "integer"},
    "number": {"type": "float"},
    "flag": {"type": "boolean"},
    "words": {"type": "array", "items": {"type": "string"}},
    "pair": {"type": "tuple", "items": {"type": "integer"}},
    "record": {"type": "dict"},
    "rows": {"type": "array", "items": {"type": "dict"}},
}


def question_of(gold: list[dict[str, Any]], kind: QuestionKind = "simple", required: Any = ()) -> SingleQuestion:
    documents = tuple(
        {"name": name, "parameters": {"properties": TYPES, "required": list(required)}} for name in ("f", "geo.find")
    )
    return SingleQuestion("simple_python_0", kind, (), documents, tuple(gold))


def error_of(scoring: Rules, question: SingleQuestion, text: str) -> str:
    try:
        calls = decoded(text) if scoring == "official" else read_calls(text, dots=True)
    except UnreadableCalls:
        return check_calls(question, None, scoring=scoring).error_type
    return check_calls(question, calls, scoring=scoring).error_type


official, sound = partial(error_of, "official"), partial(error_of, "sound")


@pytest.mark.parametrize("rule", [official, sound], ids=["official", "sound"])
@pytest.mark.parametrize(
    ("gold", "answer", "error"),
    [
        ({"whole": [5]}, "f(whole=5)", ""),
        ({"whole": [5]}, "f(whole=5.0)", "type_error:simple"),
        ({"whole": [1]}, "f(whole=True)", "type_error:simple"),
        ({"whole": [5]}, "f(whole=6)", "value_error:others"),
        ({"whole": [5]}, "g(whole=5)", "simple_function_checker:wrong_func_name"),
        ({"whole": [5]}, "f(whole=5, text='x')", "simple_function_checker:unexpected_param"),
        ({"whole": [5], "extra": [1]}, "f(whole=5, extra=1)", "simple_function_checker:unexpected_param"),
        ({"whole": [5], "text": ["x"]}, "f(whole=5)", "simple_function_checker:missing_optional"),
        ({"whole": [5], "text": ["x", ""]}, "f(whole=5)", ""),
        ({"whole": [5]}, "f(whole=5), f(whole=5)", "simple_function_checker:wrong_count"),
        ({"whole": [5]}, "[]", "simple_function_checker:wrong_count"),
        ({"whole": [5]}, "five", "ast_decoder:decoder_failed"),
        ({"whole": ["x"]}, "f(whole='x')", ""),
        ({"whole": ["x"]}, "f(whole='X')", "value_error:others"),
        ({"number": [5.0, 6]}, "f(number=5)", ""),
        ({"number": [5.0, 6]}, "f(number=6.0)", ""),
        ({"flag": [True]}, "f(flag=True)", ""),
        ({"flag": [True]}, "f(flag=1)", "type_error:simple"),
        ({"text": ["New York, NY"]}, "f(text='new york NY')", ""),
        ({"text": ["it's"]}, "f(text='it\"s')", ""),
        ({"text": ["x"]}, "f(text='y')", "value_error:string"),
        ({"words": [["A b", "c"]]}, "f(words=['a-B', 'C'])", ""),
        ({"words": [["a", "b"]]}, "f(words=['b', 'a'])", "value_error:list/tuple"),
        ({"words": [["a", "b"]]}, "f(words=('a', 'b'))", "type_error:simple"),
        ({"words": [["a", "b"]]}, "f(words=['a', 1])", "type_error:nested"),
        ({"pair": [[1, 2]]}, "f(pair=(1, 2))", ""),
        ({"pair": [[1, 2]]}, "f(pair=[1, 2])", ""),
        ({"record": [{"k": ["V", "w"], "l": [1, ""]}]}, "f(record={'k': 'v'})", ""),
        ({"record": [{"k": ["V", "w"], "l": [1, ""]}]}, "f(record={'k': 'v', 'l': 1})", ""),
        ({"record": [{"k": ["V", "w"], "l": [1, ""]}]}, "f(record={'k': 'x'})", "value_error:dict_value"),
        ({"record": [{"k": ["V", "w"], "l": [1, ""]}]}, "f(record={'l': 1})", "value_error:dict_key"),
        ({"record": [{"k": ["V", "w"], "l": [1, ""]}]}, "f(record={'K': 'v'})", "value_error:dict_key"),
        ({"record": [{"k": [1]}, {"l": [2]}]}, "f(record={'l': 2})", ""),
        ({"rows": [[{"k": [1]}, {"k": [2]}]]}, "f(rows=[{'k': 1}, {'k': 2}])", ""),
        ({"rows": [[{"k": [1]}, {"k": [2]}]]}, "f(rows=[{'k': 2}, {'k': 1}])", "value_error:dict_value"),
        ({"rows": [[{"k": [1]}, {"k": [2]}]]}, "f(rows=[{'k': 1}])", "value_error:list_dict_count"),
    ],
)
def test_both_rules_compare_a_call_as_the_original_does(
    rule: Any, gold: dict[str, Any], answer: str, error: str
) -> None:
    assert rule(question_of([{"f": gold}]), answer) == error


def test_a_required_argument_must_be_there_and_the_default_of_another_is_right() -> None:
    question = question_of([{"f": {"whole": [5], "text": ["", "x"]}}], required=["whole", "text"])
    for rule in (official, sound):
        assert rule(question, "f(whole=5)") == "simple_function_checker:missing_required"
        assert rule(question, "f(whole=5, text='')") == ""
        assert rule(question_of([{"f": {"note": ["x", ""]}}]), "f(note='')") == ""


@pytest.mark.parametrize(
    ("gold", "answer"),
    [
        ({"text": ["x", ""]}, "f(text='')"),
        ({"words": [["a"], ""]}, "f(words=[])"),
        ({"record": [{"k": [1], "l": ["x", ""]}]}, "f(record={'k': 1, 'l': ''})"),
        ({"text": ["3.5"]}, "f(text='35')"),
        ({"text": ["-5"]}, "f(text='5')"),
        ({"text": ["x**2"]}, "f(text='x2')"),
        ({"text": ["2*3"]}, "f(text='23')"),
        ({"text": ["1/2"]}, "f(text='12')"),
        ({"words": [["10 12"]]}, "f(words=['1012'])"),
        ({"text": [","]}, "f(text='-')"),
        ({"words": [["a", " "]]}, "f(words=['a', '-'])"),
    ],
)
def test_the_sound_rule_refuses_what_is_no_right_value(gold: dict[str, Any], answer: str) -> None:
    assert official(question_of([{"f": gold}]), answer) == ""
    assert sound(question_of([{"f": gold}]), answer) != ""


def test_texts_that_mean_the_same_are_equal_by_both_rules() -> None:
    for one, other in {
        "April 1, 2024": "april 1 2024", "April 1,2024": "April 1 2024", "2024-04-01": "2024/04/01",
        "2024-03-19 12:00": "2024-03-19-12:00", "1,000": "1000", "$1,234,567.50": "$1234567.50", "x^2": "x**2",
        "covid-19": "COVID 19", "New York, N.Y.": "new york ny", "it's": 'it"s',
    }.items():  # fmt: skip
        assert without_punctuation(one) == without_punctuation(other)
        assert with_numbers(one) == with_numbers(other), one


def test_parallel_calls_may_come_in_any_order() -> None:
    question = question_of([{"f": {"whole": [1]}}, {"geo.find": {"whole": [2]}}], "parallel_multiple")
    for rule in (official, sound):
        name = "parallel_function_checker_no_order"
        assert rule(question, "geo.find(whole=2), f(whole=1)") == ""
        assert rule(question, "f(whole=1)") == f"{name}:wrong_count"
        assert rule(question, "f(whole=1), f(whole=1)") == f"{name}:cannot_find_match"


def test_the_sound_rule_matches_as_well_as_possible() -> None:
    question = question_of([{"f": {"whole": one}} for one in ([1, 2], [1], [2, 3])], "parallel")
    none = "parallel_function_checker_no_order:cannot_find_match"
    for numbers, officially, soundly in (((2, 1, 3), "", ""), ((1, 2, 3), none, ""), ((3, 2, 3), none, none)):
        answer = ", ".join(f"f(whole={number})" for number in numbers)
        assert (official(question, answer), sound(question, answer)) == (officially, soundly), numbers


def test_the_right_document_is_found_among_several() -> None:
    question = question_of([{"geo.find": {"whole": [1]}}], "multiple")
    assert official(question, "geo.find(whole=1)") == ""
    assert official(question, "f(whole=1), f(whole=1)") == "multiple_function_checker:wrong_count"
    assert official(question, "geo_find(whole=1)") == "simple_function_checker:wrong_func_name"


def test_questions_that_no_function_answers_want_no_call() -> None:
    question = question_of([], "irrelevance")
    for rule in (official, sound):
        assert rule(question, "None of them fits.") == rule(question, "[]") == ""
        assert rule(question, "no_such()") == "irrelevance_error:decoder_success"
    assert official(question, "```python\n[f()]\n```") == ""
    assert sound(question, "```python\n[f()]\n```") == "irrelevance_error:decoder_success"


def test_questions_that_a_function_answers_want_a_call_and_soundly_one_of_these() -> None:
    question = question_of([], "relevance")
    for rule in (official, sound):
        assert rule(question, "geo.find(whole=1)") == ""
        assert rule(question, "Sorry.") == "relevance_error:decoder_failed"
    assert official(question, "no_such()") == ""
    assert sound(question, "no_such()") == "relevance_error:unknown_function"


def test_odd_arguments_are_wrong_and_nothing_breaks() -> None:
    question = question_of([{"f": {"number": [1.0], "rows": [[{"k": [1]}], ""], "record": [{"k": [1]}, ""]}}])
    for answer in ("f(number=" + "9" * 400 + ")", "f(rows=[1])", "f(rows=[[]])", "f(record=[1])", "f(record={1: {}})"):
        assert "" not in (official(question, answer), sound(question, answer))
    calls = [FunctionCall("f", [1])]  # type: ignore[arg-type]
    assert check_calls(question_of([{"f": {}}]), calls).error_type == "ast_decoder:decoder_wrong_output_format"
    assert check_calls(question_of([], "irrelevance"), calls).valid
