"""The two rules for conversations of several turns, on small simulated classes, and for answers to one question."""

from functools import partial
from typing import Any

import pytest

from iad_envs.toolcalls.bfcl.conversations import PlayedTurn, extended
from iad_envs.toolcalls.bfcl.data import Conversation, QuestionKind, SingleQuestion, gold_calls
from iad_envs.toolcalls.bfcl.decoding import decoded
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge, TurnsVerdict, has_equal_state
from iad_envs.toolcalls.bfcl.scoring.single_turn import check_calls, with_numbers, without_punctuation
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls, read_calls
from iad_envs.toolcalls.executor import ToolState
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.counter_desk import TicketDesk, toolbox
from tests.iad_envs.toolcalls.official_answers import check, play, read_officially

OPEN = "open_ticket(title='lamp')"
GOLD = ((OPEN, "describe()"), (), ("total([1, 2])",))
RIGHT = [[f"[{OPEN}, describe()]"], [], ["[total(numbers=[1, 2])]"]]


def judge_of(scoring: Rules = "official", gold: Any = GOLD) -> TurnsJudge:
    task = Conversation(
        "multi_turn_base_0", ((), (), ()), {"TicketDesk": {"random_seed": 2}}, ("TicketDesk", "PlainSums"),
        {2: ("total",)}, gold, False,
    )  # fmt: skip
    return TurnsJudge(task, toolbox(), scoring=scoring)


def verdict(answer: list[list[str]], scoring: Rules = "official") -> TurnsVerdict:
    judge = judge_of(scoring)
    return check(judge, play(judge, answer, read_officially))


def changed(turn: int, *responses: str) -> list[list[str]]:
    return [list(responses) if index == turn else given for index, given in enumerate(RIGHT)]


STATE, RESPONSE, EMPTY = "instance_state_mismatch", "execution_response_mismatch", "empty_turn_model_response"
CALLED, WITHHELD, FORCED = "irrelevance_error:decoder_success", "withheld_function", "force_terminated"
MANY = ["[describe()]"] * 20


@pytest.mark.parametrize(("answer", "error", "turn", "said"), [
    (RIGHT, "", None, ""), (changed(0, f"[{OPEN}]", "[describe()]", "I am done."), "", None, ""),
    (changed(0, f"[{OPEN}, describe(), describe()]"), "", None, ""),
    (changed(0, f"[no_such(), {OPEN}, describe()]"), "", None, ""),
    (changed(0, "[describe()]"), STATE, 0, "tickets: expected {1926: {'title': 'lamp', 'tags': []}}, got {}"),
    (changed(0, f"[{OPEN}, {OPEN}, describe()]"), STATE, 0, "TicketDesk.tickets"),
    (changed(0, f"[write_log(line='x'), {OPEN}, describe()]"), STATE, 0, "log: missing [], too many ['x']"),
    (changed(0, f"[{OPEN}]"), RESPONSE, 0, "in turn 1: no result as that of 'describe()'"),
    (changed(0, "Which lamp?"), EMPTY, 0, "in turn 1"),
    (changed(2), EMPTY, 2, "in turn 3: expected 'total(numbers=[1, 2])', got no call"),
    (RIGHT[:2], FORCED, None, "2 of 3 turns came to their end"), ([*RIGHT, []], FORCED, None, ""),
])  # fmt: skip
def test_both_rules_agree_but_for_holes(answer: list[list[str]], error: str, turn: int | None, said: str) -> None:
    for scoring in RULES:
        assert verdict(answer, scoring) == TurnsVerdict(not error, error and f"multi_turn:{error}", turn), scoring
    explained = judge_of("sound").explained(play(judge_of("sound"), answer, read_officially))
    assert said in explained
    assert (explained == "") == (error == "")


@pytest.mark.parametrize(("answer", "error", "turn", "said"), [
    (changed(1, "[describe()]"), CALLED, 1, "in turn 2: nothing was to be called, got 'describe()'"),
    (changed(1, "[total(numbers=[1, 2])]"), CALLED, 1, "in turn 2"),
    (changed(0, f"[{OPEN}, describe(), total(numbers=[1, 2])]"), WITHHELD, 0, "in turn 1: not offered yet: total"),
    (changed(2, *MANY, "[total(numbers=[1, 2])]"), FORCED, 2, "in turn 3: 21 responses"),
    (changed(0, *["[list_tickets()]"] * 20, f"[{OPEN}, describe()]"), FORCED, 0, "in turn 1"),
])  # fmt: skip
def test_the_sound_rule_closes_holes(answer: list[list[str]], error: str, turn: int, said: str) -> None:
    assert verdict(answer, "official") == TurnsVerdict(True)
    assert verdict(answer, "sound") == TurnsVerdict(False, f"multi_turn:{error}", turn)
    assert said in judge_of("sound").explained(play(judge_of("sound"), answer, read_officially))


def test_a_result_of_an_earlier_turn_counts_in_a_later_one_but_only_once() -> None:
    gold = ((OPEN, "describe()"), ("describe()",))
    answers = {1: [[OPEN, "describe()"], ["no_such()"]], 2: [[OPEN, "describe()", "describe()"], ["no_such()"]]}
    for n_times, answer in answers.items():
        judge = judge_of(gold=gold)
        # Only the results of the second turn's gold are looked for: one is enough.
        assert check(judge, play(judge, answer, read_officially)).valid, n_times
    twice = judge_of(gold=((OPEN, "describe()"), ("describe()", "describe()")))
    assert check(twice, play(twice, answers[1], read_officially)).error_type == "multi_turn:execution_response_mismatch"
    assert check(twice, play(twice, answers[2], read_officially)).valid
    # Gold's calls get names for their arguments.
    calls = gold_calls(("open_ticket('lamp', tags=['x'])", "total([1, 2])", "describe()"), toolbox())
    named = {"open_ticket": {"title": "lamp", "tags": ["x"]}, "total": {"numbers": [1, 2]}, "describe": {}}
    assert calls == tuple(FunctionCall(name, arguments) for name, arguments in named.items())
    for text in ("describe(1)", "1 + 1", "total(x)"):
        with pytest.raises(ValueError, match="expected"):
            gold_calls((text,), toolbox())


def test_progress_grows_with_turns_and_results_and_parts_say_what_was_wrong() -> None:
    judge = judge_of()

    def progress(turns: list[PlayedTurn], n_over: int | None = None) -> float:
        tally = judge.tallied(turns[:n_over])
        return judge.progress_after(tally, turns[tally.n_turns :])

    turn = PlayedTurn(judge.start)
    assert progress([]) == progress([turn], n_over=0) == 0
    turn = extended(turn, read_calls(OPEN), judge.toolbox)  # where the turn is over, a result is missing
    assert [progress([turn], n_over=0), progress([turn])] == pytest.approx([1 / 6, 1 / 6])
    turn = extended(turn, read_calls("describe()"), judge.toolbox)
    turns = [turn, PlayedTurn(turn.state)]
    shares = [progress([turn]), progress(turns, n_over=1), progress(turns)]
    assert shares == pytest.approx([1 / 3, 1 / 3, 2 / 3])
    last = extended(PlayedTurn(turn.state), read_calls("total(numbers=[1, 2])"), judge.toolbox)
    assert progress([*turns, last]) == 1
    judge, names = judge_of("sound"), ("state", "response", "irrelevance", "cap", "turns_passed")

    def parts(answer: list[list[str]]) -> list[float]:
        found = judge.parts_of(judge.tallied(play(judge, answer, read_officially)))
        return [found[name] for name in names] if found.keys() == {*names} else []

    assert parts(RIGHT) == [1, 1, 1, 1, 3]
    assert parts([["[describe()]"], ["[describe()]"], ["[total(numbers=[1, 2])]"]]) == [0, 0.5, 0, 1, 0]
    assert parts(changed(2, *["[describe()]"] * 21))[3] == 0
    assert parts([]) == [0, 0, 0, 1, 0]


def test_states_that_cannot_be_compared_are_unequal() -> None:
    def circular() -> ToolState:
        desk = TicketDesk()
        desk.tickets = {1: {"title": "x"}}
        desk.tickets[1]["itself"] = desk.tickets
        return ToolState({"TicketDesk": desk})

    assert not has_equal_state(circular(), circular())
    assert not has_equal_state(ToolState({}), circular())
    assert has_equal_state(ToolState({"TicketDesk": TicketDesk()}), ToolState({"TicketDesk": TicketDesk()}))


TYPES = {
    "text": {"type": "string"}, "note": {"type": "string", "default": ""}, "whole": {"type": "integer"},
    "number": {"type": "float"}, "flag": {"type": "boolean"}, "words": {"type": "array", "items": {"type": "string"}},
    "pair": {"type": "tuple", "items": {"type": "integer"}}, "record": {"type": "dict"},
    "rows": {"type": "array", "items": {"type": "dict"}},
}  # fmt: skip


def question_of(gold: list[dict[str, Any]], kind: QuestionKind = "simple", required: Any = ()) -> SingleQuestion:
    parameters = {"properties": TYPES, "required": list(required)}
    documents = tuple({"name": name, "parameters": parameters} for name in ("f", "geo.find"))
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
SAME: list[tuple[dict[str, Any], dict[str, str]]] = [
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
    for gold, answers in SAME:
        for answer, error in answers.items():
            assert rule(question_of([{"f": gold}]), answer) == error, (gold, answer)


def test_required_arguments_and_defaults_and_that_nothing_odd_breaks_it() -> None:
    question = question_of([{"f": {"whole": [5], "text": ["", "x"]}}], required=["whole", "text"])
    for rule in (official, sound):
        assert rule(question, "f(whole=5)") == "simple_function_checker:missing_required"
        assert rule(question, "f(whole=5, text='')") == ""
        assert rule(question_of([{"f": {"note": ["x", ""]}}]), "f(note='')") == ""
    question = question_of([{"geo.find": {"whole": [1]}}], "multiple")
    assert official(question, "geo.find(whole=1)") == ""
    assert official(question, "f(whole=1), f(whole=1)") == "multiple_function_checker:wrong_count"
    assert official(question, "geo_find(whole=1)") == "simple_function_checker:wrong_func_name"
    question = question_of([{"f": {"number": [1.0], "rows": [[{"k": [1]}], ""], "record": [{"k": [1]}, ""]}}])
    for answer in ("f(number=" + "9" * 400 + ")", "f(rows=[1])", "f(rows=[[]])", "f(record=[1])", "f(record={1: {}})"):
        assert "" not in (official(question, answer), sound(question, answer))
    calls = [FunctionCall("f", [1])]  # type: ignore[arg-type]
    assert check_calls(question_of([{"f": {}}]), calls).error_type == "ast_decoder:decoder_wrong_output_format"
    assert check_calls(question_of([], "irrelevance"), calls).valid


def test_the_sound_rule_refuses_what_is_no_right_value_and_other_spellings_are_equal_by_both() -> None:
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
