import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from iad_envs.toolcalls.acebench.reading import is_execution, read_agent, read_normal
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


def test_what_the_official_reader_takes_for_a_value_and_sound_values_are_literals() -> None:
    wrong: Sequence[tuple[str, Rules]] = (("[f(a=true)]", "sound"), ("[f('x')]", "sound"), ("[f(a=2*3)]", "official"))
    officially = {
        "true": "true", "+5": -5, "not True": -1, "x[1:2]": "x[1:2]", "g()": {"g": {}}, "g(a=1)": {"g": {"a": 1}},
        "(1, 2)": (1, 2), "...": "...",
    }  # fmt: skip
    assert {value: one(f"[f(a={value})]").arguments["a"] for value in officially} == officially
    assert one("[f(a=(1, -2), b=3)]", "sound").arguments == {"a": (1, -2), "b": 3}
    assert one("[f('x', a=1, a=2)]").arguments == {"a": 2}  # those without a name are dropped
    for text, rules in wrong:
        with pytest.raises(UnreadableCalls, match="expected"):
            one(text, rules)
    call = FunctionCall("f", {"a": "it's", "b": [1.5, None, {"c": True}]})
    assert one(f"[{call}]", "sound") == call  # a call as text is read again


@pytest.mark.parametrize("rules", RULES)
def test_limits(rules: Rules) -> None:
    def nested(depth: int) -> str:
        return f"[f(a={'[' * depth}{']' * depth})]"

    assert len(read_normal(f"[{'f(),' * MAX_CALLS}]", multi_turn=False, rules=rules)) == MAX_CALLS
    assert one(nested(MAX_DEPTH), rules)
    too_long = ("x" * (MAX_CHARACTERS + 1), f"[f(a={'9' * 5000})]", f"[f(a=0x{'f' * 9000})]", "[" * 9000)
    for text in (nested(MAX_DEPTH + 2), f"[{'f(),' * (MAX_CALLS + 1)}]", *too_long):
        with pytest.raises(UnreadableCalls, match="expected"):
            one(text, rules)


def test_nothing_warns_in_any_thread() -> None:
    def read(text: str) -> None:
        with suppress(UnreadableCalls):
            one(text)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(read, [r"[f(a='\d')]", "[f(a='3d')]", "[f(a=1if 1 else 2)]", r"[f(a='\400')]"] * 160))


def test_the_agents_reader_ignores_brackets_and_quotes_at_the_ends() -> None:
    assert [is_execution(text) for text in ("[f()] and more", "I call [f()]", "[\nf()]")] == [True, False, False]
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
