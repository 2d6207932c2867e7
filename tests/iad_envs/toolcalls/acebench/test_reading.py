import threading
import warnings

import pytest

from iad_envs.toolcalls.acebench.reading import (
    is_execution,
    read_agent,
    read_normal,
)
from iad_envs.toolcalls.calls import MAX_CALLS, MAX_CHARACTERS, MAX_DEPTH, FunctionCall, UnreadableCalls
from iad_envs.toolcalls.rules import RULES, Rules


def one(text: str, rules: Rules = "official", *, multi_turn: bool = False) -> FunctionCall:
    (call,) = read_normal(text, multi_turn=multi_turn, rules=rules)
    return call


@pytest.mark.parametrize("rules", RULES)
def test_the_outermost_brackets_count(rules: Rules) -> None:
    text = "I call [a.b(x=1, y=[2, {'k': None}]), c()] now."
    expected = [FunctionCall("a.b", {"x": 1, "y": [2, {"k": None}]}), FunctionCall("c", {})]
    assert read_normal(text, multi_turn=False, rules=rules) == expected


def test_officially_a_multi_turn_answer_loses_its_blanks_and_is_read_whole() -> None:
    assert one("[f(x='New York')]", multi_turn=True).arguments == {"x": "NewYork"}
    assert one("[f(x='New York')]", "sound", multi_turn=True).arguments == {"x": "New York"}
    with pytest.raises(UnreadableCalls):
        one("Here: [f()]", multi_turn=True)
    assert one("Here: [f()]", "sound", multi_turn=True).name == "f"


@pytest.mark.parametrize(
    ("value", "officially"),
    [
        ("true", "true"),
        ("+5", -5),
        ("not True", -1),
        ("x[1:2]", "x[1:2]"),
        ("g()", {"g": {}}),
        ("g(a=1)", {"g": {"a": 1}}),
        ("(1, 2)", (1, 2)),
        ("...", "..."),
    ],
)
def test_what_the_official_reader_takes_for_a_value(value: str, officially: object) -> None:
    assert one(f"[f(a={value})]").arguments == {"a": officially}


def test_sound_values_are_literals() -> None:
    assert one("[f(a=(1, -2), b=3)]", "sound").arguments == {"a": (1, -2), "b": 3}
    for value in ("true", "not True", "+3", "x[1]", "g()", "...", "b'x'", "1j", "1e999", "-'x'", "-True", "{**{}}"):
        with pytest.raises(UnreadableCalls, match="expected"):
            one(f"[f(a={value})]", "sound")


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize(
    "value", ["2*3", "lambda: 1", "f'{1}'", "[x for x in (1,)]", "a if b else c", "{1, 2}", "{[]: 1}"]
)
def test_what_would_have_to_be_run_is_refused(value: str, rules: Rules) -> None:
    with pytest.raises(UnreadableCalls, match="expected"):
        one(f"[f(a={value})]", rules)


def test_arguments_without_a_name_are_dropped_officially_and_refused_soundly() -> None:
    assert one("[f('x', a=1, a=2)]").arguments == {"a": 2}
    for text in ("[f('x')]", "[f(**{'a': 1})]"):
        with pytest.raises(UnreadableCalls, match="expected"):
            one(text, "sound")


@pytest.mark.parametrize("rules", RULES)
def test_limits(rules: Rules) -> None:
    assert len(read_normal(f"[{'f(),' * MAX_CALLS}]", multi_turn=False, rules=rules)) == MAX_CALLS
    deepest = MAX_DEPTH
    assert one(f"[f(a={'[' * deepest}{']' * deepest})]", rules)
    too_deep = f"[f(a={'[' * (deepest + 1)}{']' * (deepest + 1)})]"
    too_many = f"[{'f(),' * (MAX_CALLS + 1)}]"
    for text in (
        too_deep,
        too_many,
        "x" * (MAX_CHARACTERS + 1),
        f"[f(a={'9' * 5000})]",
        f"[f(a=0x{'f' * 9000})]",
        "[" * 9000,
    ):
        with pytest.raises(UnreadableCalls, match="expected"):
            one(text, rules)


def test_nothing_warns_in_any_thread() -> None:
    texts = [r"[f(a='\d')]", "[f(a='3d')]", "[f(a=1if 1 else 2)]", r"[f(a='\400')]"]
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for text in texts * 20:
                try:
                    one(text)
                except UnreadableCalls:
                    continue
        except BaseException as error:
            failures.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        threads = [threading.Thread(target=read) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures


def test_a_message_that_starts_with_brackets_is_executed() -> None:
    assert is_execution("[f()] and more")
    assert not is_execution("I call [f()]")
    assert not is_execution("[\nf()]")


def test_the_agents_reader_ignores_brackets_and_quotes_at_the_ends() -> None:
    for text in ("[f(a=1)]", "f(a=1)", " [f(a=1)]", "'[f(a=1)]'", "[[f(a=1)]]"):
        assert read_agent(text) == [FunctionCall("f", {"a": 1})]
    assert read_agent("[f(), g()]") == [FunctionCall("f", {}), FunctionCall("g", {})]
    assert read_agent("hello") == []
    for text in ("", "Which city?", "[f()]\n", "[f(), 1]", "[f(a={'b': 1})]", "[f(a={})]"):
        with pytest.raises(UnreadableCalls):
            read_agent(text)
    assert read_agent("[f(a=g(b=1), c=h())]") == [FunctionCall("f", {"a": {"g": {"b": 1}}, "c": "h()"})]


def test_the_sound_agents_reader_wants_the_whole_message_in_brackets() -> None:
    assert read_agent("\n[f(a={'b': 1})] ", "sound") == [FunctionCall("f", {"a": {"b": 1}})]
    assert read_agent("[]", "sound") == []
    for text in ("f()", "[f()] now", "hello"):
        with pytest.raises(UnreadableCalls, match="expected"):
            read_agent(text, "sound")


def test_a_call_as_text_is_read_again() -> None:
    call = FunctionCall("f", {"a": "it's", "b": [1.5, None, {"c": True}]})
    assert one(f"[{call}]", "sound") == call
