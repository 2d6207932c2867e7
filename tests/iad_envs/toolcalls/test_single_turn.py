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
    "text": {"type": "string"}, "note": {"type": "string", "default": ""}, "whole": {"type": "integer"},
    "number": {"type": "float"}, "flag": {"type": "boolean"}, "words": {"type": "array", "items": {"type": "string"}},
    "pair": {"type": "tuple", "items": {"type": "integer"}}, "record": {"type": "dict"},
    "rows": {"type": "array", "items": {"type": "dict"}},
}  # fmt: skip


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


TYPE, NESTED, ELSE = "type_error:simple", "type_error:nested", "value_error:others"
SIMPLE = "simple_function_checker:"
FIVE, TEXT, PAIR, RECORD = {"whole": [5]}, {"text": ["x"]}, {"words": [["a", "b"]]}, {"k": ["V", "w"], "l": [1, ""]}
ROWS: dict[str, Any] = {"rows": [[{"k": [1]}, {"k": [2]}]]}
BOTH: list[tuple[dict[str, Any], dict[str, str]]] = [
    (FIVE, {
        "f(whole=5)": "", "f(whole=5.0)": TYPE, "f(whole=6)": ELSE, "g(whole=5)": f"{SIMPLE}wrong_func_name",
        "f(whole=5, text='x')": f"{SIMPLE}unexpected_param", "f(whole=5), f(whole=5)": f"{SIMPLE}wrong_count",
        "[]": f"{SIMPLE}wrong_count", "five": "ast_decoder:decoder_failed"}),
    ({"whole": [1]}, {"f(whole=True)": TYPE}),
    ({"whole": [5], "extra": [1]}, {"f(whole=5, extra=1)": f"{SIMPLE}unexpected_param"}),
    ({"whole": [5], "text": ["x"]}, {"f(whole=5)": f"{SIMPLE}missing_optional"}),
    ({"whole": [5], "text": ["x", ""]}, {"f(whole=5)": ""}),
    ({"whole": ["x"]}, {"f(whole='x')": "", "f(whole='X')": ELSE}),
    ({"number": [5.0, 6]}, {"f(number=5)": "", "f(number=6.0)": ""}),
    ({"flag": [True]}, {"f(flag=True)": "", "f(flag=1)": TYPE}),
    ({"text": ["New York, NY"]}, {"f(text='new york NY')": ""}),
    ({"text": ["it's"]}, {"f(text='it\"s')": ""}),
    (TEXT, {"f(text='y')": "value_error:string"}),
    ({"words": [["A b", "c"]]}, {"f(words=['a-B', 'C'])": ""}),
    (PAIR, {"f(words=['b', 'a'])": "value_error:list/tuple", "f(words=('a', 'b'))": TYPE, "f(words=['a', 1])": NESTED}),
    ({"pair": [[1, 2]]}, {"f(pair=(1, 2))": "", "f(pair=[1, 2])": ""}),
    ({"record": [RECORD]}, {
        "f(record={'k': 'v'})": "", "f(record={'k': 'v', 'l': 1})": "",
        "f(record={'k': 'x'})": "value_error:dict_value",
        "f(record={'l': 1})": "value_error:dict_key", "f(record={'K': 'v'})": "value_error:dict_key"}),
    ({"record": [{"k": [1]}, {"l": [2]}]}, {"f(record={'l': 2})": ""}),
    (ROWS, {
        "f(rows=[{'k': 1}, {'k': 2}])": "", "f(rows=[{'k': 2}, {'k': 1}])": "value_error:dict_value",
        "f(rows=[{'k': 1}])": "value_error:list_dict_count"}),
]  # fmt: skip


@pytest.mark.parametrize("rule", [official, sound], ids=["official", "sound"])
def test_both_rules_compare_a_call_as_the_original_does(rule: Any) -> None:
    for gold, answers in BOTH:
        for answer, error in answers.items():
            assert rule(question_of([{"f": gold}]), answer) == error, (gold, answer)


def test_a_required_argument_must_be_there_a_default_is_right_and_the_right_document_is_found() -> None:
    question = question_of([{"f": {"whole": [5], "text": ["", "x"]}}], required=["whole", "text"])
    for rule in (official, sound):
        assert rule(question, "f(whole=5)") == "simple_function_checker:missing_required"
        assert rule(question, "f(whole=5, text='')") == ""
        assert rule(question_of([{"f": {"note": ["x", ""]}}]), "f(note='')") == ""
    question = question_of([{"geo.find": {"whole": [1]}}], "multiple")
    assert official(question, "geo.find(whole=1)") == ""
    assert official(question, "f(whole=1), f(whole=1)") == "multiple_function_checker:wrong_count"
    assert official(question, "geo_find(whole=1)") == "simple_function_checker:wrong_func_name"


def test_the_sound_rule_refuses_what_is_no_right_value() -> None:
    texts = {"3.5": "35", "4.5": "4/5", "-5": "5", "x**2": "x2", "2*3": "23", "1/2": "12", ",": "-"}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"text": ["x", ""]}, "f(text='')"), ({"words": [["a"], ""]}, "f(words=[])"),
        ({"record": [{"k": [1], "l": ["x", ""]}]}, "f(record={'k': 1, 'l': ''})"),
        ({"words": [["10 12"]]}, "f(words=['1012'])"), ({"words": [["a", " "]]}, "f(words=['a', '-'])"),
        *(({"text": [gold]}, f"f(text='{given}')") for gold, given in texts.items()),
    ]  # fmt: skip
    for gold, answer in cases:
        assert official(question_of([{"f": gold}]), answer) == "", answer
        assert sound(question_of([{"f": gold}]), answer) != "", answer


def test_texts_that_mean_the_same_are_equal_by_both_rules() -> None:
    for one, other in {
        "April 1, 2024": "april 1 2024", "April 1,2024": "April 1 2024", "2024-04-01": "2024/04/01",
        "2024-03-19 12:00": "2024-03-19-12:00", "1,000": "1000", "$1,234,567.50": "$1234567.50", "x^2": "x**2",
        "covid-19": "COVID 19", "New York, N.Y.": "new york ny", "it's": 'it"s',
    }.items():  # fmt: skip
        assert without_punctuation(one) == without_punctuation(other)
        assert with_numbers(one) == with_numbers(other), one


def test_parallel_calls_may_come_in_any_order_and_are_soundly_matched_as_well_as_possible() -> None:
    question = question_of([{"f": {"whole": [1]}}, {"geo.find": {"whole": [2]}}], "parallel_multiple")
    for rule in (official, sound):
        name = "parallel_function_checker_no_order"
        assert rule(question, "geo.find(whole=2), f(whole=1)") == ""
        assert rule(question, "f(whole=1)") == f"{name}:wrong_count"
        assert rule(question, "f(whole=1), f(whole=1)") == f"{name}:cannot_find_match"
    question = question_of([{"f": {"whole": one}} for one in ([1, 2], [1], [2, 3])], "parallel")
    none = "parallel_function_checker_no_order:cannot_find_match"
    for numbers, officially, soundly in (((2, 1, 3), "", ""), ((1, 2, 3), none, ""), ((3, 2, 3), none, none)):
        answer = ", ".join(f"f(whole={number})" for number in numbers)
        assert (official(question, answer), sound(question, answer)) == (officially, soundly), numbers


def test_questions_that_no_function_answers_want_no_call_and_others_soundly_one_of_these() -> None:
    none, some = question_of([], "irrelevance"), question_of([], "relevance")
    for rule in (official, sound):
        assert rule(none, "None of them fits.") == rule(none, "[]") == rule(some, "geo.find(whole=1)") == ""
        assert rule(none, "no_such()") == "irrelevance_error:decoder_success"
        assert rule(some, "Sorry.") == "relevance_error:decoder_failed"
    assert official(none, "```python\n[f()]\n```") == official(some, "no_such()") == ""
    assert sound(none, "```python\n[f()]\n```") == "irrelevance_error:decoder_success"
    assert sound(some, "no_such()") == "relevance_error:unknown_function"


def test_odd_arguments_are_wrong_and_nothing_breaks() -> None:
    question = question_of([{"f": {"number": [1.0], "rows": [[{"k": [1]}], ""], "record": [{"k": [1]}, ""]}}])
    for answer in ("f(number=" + "9" * 400 + ")", "f(rows=[1])", "f(rows=[[]])", "f(record=[1])", "f(record={1: {}})"):
        assert "" not in (official(question, answer), sound(question, answer))
    calls = [FunctionCall("f", [1])]  # type: ignore[arg-type]
    assert check_calls(question_of([{"f": {}}]), calls).error_type == "ast_decoder:decoder_wrong_output_format"
    assert check_calls(question_of([], "irrelevance"), calls).valid
