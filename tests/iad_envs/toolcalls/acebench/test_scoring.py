"""Reading and scoring of answers to tasks of ACEBench."""

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.equality import same_value, sound_text
from iad_envs.toolcalls.acebench.executor import CallResult
from iad_envs.toolcalls.acebench.gold_classes import gold_by_class
from iad_envs.toolcalls.acebench.reading import is_execution, read_agent, read_normal
from iad_envs.toolcalls.acebench.scoring import agent_tasks
from iad_envs.toolcalls.acebench.scoring.agent_tasks import AgentScore, ends_right, process_share, score_agent
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, gold_calls
from iad_envs.toolcalls.acebench.scoring.special import check_special
from iad_envs.toolcalls.calls import MAX_CALLS, MAX_CHARACTERS, MAX_DEPTH, FunctionCall, UnreadableCalls
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.acebench.small_scenario import document, task


def one(text: str, rules: Rules = "official", *, multi_turn: bool = False) -> FunctionCall:
    (call,) = read_normal(text, multi_turn=multi_turn, rules=rules)
    return call


@pytest.mark.parametrize("rules", RULES)
def test_the_outermost_brackets_count_and_there_are_limits(rules: Rules) -> None:
    text = "I call [a.b(x=1, y=[2, {'k': None}]), c()] now."
    expected = [FunctionCall("a.b", {"x": 1, "y": [2, {"k": None}]}), FunctionCall("c", {})]
    assert read_normal(text, multi_turn=False, rules=rules) == expected

    def nested(depth: int) -> str:
        return f"[f(a={'[' * depth}{']' * depth})]"

    assert len(read_normal(f"[{'f(),' * MAX_CALLS}]", multi_turn=False, rules=rules)) == MAX_CALLS
    assert one(nested(MAX_DEPTH), rules)
    too_long = ("x" * (MAX_CHARACTERS + 1), f"[f(a={'9' * 5000})]", f"[f(a=0x{'f' * 9000})]", "[" * 9000)
    for text in (nested(MAX_DEPTH + 2), f"[{'f(),' * (MAX_CALLS + 1)}]", *too_long):
        with pytest.raises(UnreadableCalls, match="expected"):
            one(text, rules)


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


def test_nothing_warns_in_any_thread() -> None:
    def read(text: str) -> None:
        with suppress(UnreadableCalls):
            one(text)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(read, [r"[f(a='\d')]", "[f(a='3d')]", "[f(a=1if 1 else 2)]", r"[f(a='\400')]"] * 160))


def test_the_agents_reader_ignores_brackets_and_quotes_at_the_ends_and_the_sound_one_wants_brackets() -> None:
    assert [is_execution(text) for text in ("[f()] and more", "I call [f()]", "[\nf()]")] == [True, False, False]
    for text in ("[f(a=1)]", "f(a=1)", " [f(a=1)]", "'[f(a=1)]'", "[[f(a=1)]]"):
        assert read_agent(text) == [FunctionCall("f", {"a": 1})]
    assert read_agent("[f(), g()]") == [FunctionCall("f", {}), FunctionCall("g", {})]
    assert read_agent("hello") == []
    for text in ("", "Which city?", "[f()]\n", "[f(), 1]", "[f(a={'b': 1})]", "[f(a={})]"):
        with pytest.raises(UnreadableCalls):
            read_agent(text)
    assert read_agent("[f(a=g(b=1), c=h())]") == [FunctionCall("f", {"a": {"g": {"b": 1}}, "c": "h()"})]
    assert read_agent("\n[f(a={'b': 1})] ", "sound") == [FunctionCall("f", {"a": {"b": 1}})]
    assert read_agent("[]", "sound") == []
    for text in ("f()", "[f()] now", "hello"):
        with pytest.raises(UnreadableCalls, match="expected"):
            read_agent(text, "sound")


BOOK = document(
    "book", ("city",), city="string", nights="integer", price="number", breakfast="boolean", guest="object",
    kind="enum", tags={"type": "array", "items": {"type": "string"}},
    rooms={"type": "array", "items": {"type": "object"}},
)  # fmt: skip
GOLD = {
    "city": "St. Malo", "nights": 3, "price": 1.5, "breakfast": True, "tags": ["quiet"],
    "guest": {"name": "Ana", "age": 30}, "rooms": [{"beds": 2}], "kind": "suite",
}  # fmt: skip


def verdicts(answer: str, gold: Any = None, *documents: Any) -> tuple[bool, bool]:
    """Return the official and the sound verdict."""
    these = task(*(documents or (BOOK,)))
    wanted = AceGold(gold if gold is not None else {"book": GOLD})
    official, sound = (check_normal(these, wanted, answer, rules) for rules in ("official", "sound"))
    return official, sound


def booked(**changes: Any) -> str:
    arguments = {name: value for name, value in {**GOLD, **changes}.items() if value is not None}
    return f"[book({', '.join(f'{name}={value!r}' for name, value in arguments.items())})]"


def test_what_passes_officially_and_should_not() -> None:
    assert gold_answer(task(BOOK), AceGold({"book": GOLD})) == booked()
    for right in ({}, {"city": "st malo", "tags": ["Quiet."]}):
        assert verdicts(booked(**right)) == (True, True)
    holes: tuple[dict[str, Any], ...] = (
        {"nights": 4}, {"price": 99.0}, {"price": 2}, {"breakfast": False}, {"breakfast": "true"}, {"kind": "cellar"},
        {"city": "not St. Malo at all"}, {"nights": None}, {"guest": {"name": "Ana", "age": 130}},
        {"rooms": [{"beds": 12}]},
    )  # fmt: skip
    wrong: tuple[dict[str, Any], ...] = (
        {"city": None}, {"city": "Malo"}, {"city": 3}, {"nights": "3"}, {"breakfast": "yes"}, {"tags": ["loud"]},
        {"tags": ["quiet", "cheap"]}, {"guest": {"name": "Ana"}}, {"guest": {"name": "Ana", "years": 30}},
        {"guest": "Ana"}, {"rooms": [{"beds": 2}, {"beds": 1}]}, {"pets": 1},
    )  # fmt: skip
    for change in (*holes, *wrong):
        assert verdicts(booked(**change)) == (change in holes, False), change


def test_gold_calls_are_met_by_other_calls_officially_and_one_of_several_alternatives_is_enough() -> None:
    gold = {"book_0": {"city": "Rome"}, "book_1": {"city": "Oslo"}}
    assert verdicts("[book(city='Oslo'), book(city='Rome')]", gold) == (True, True)
    assert verdicts("[book(city='Rome and Oslo'), book(city='Nowhere')]", gold) == (True, False)
    assert verdicts("[book(city='Rome')]", gold) == (False, False)
    same = {"book_0": {"city": "Rome"}, "book_1": {"city": "Rome"}}
    assert verdicts("[book(city='Rome'), book(city='Oslo')]", same) == (True, False)
    either = [{"book": {"city": "Rome"}}, {"book": {"city": "Oslo"}}]
    assert verdicts("[book(city='Oslo')]", either) == (True, True)
    assert verdicts("[book(city='Nice')]", either) == (False, False)
    numbered = document("scan_3", city="string")
    assert verdicts("[scan_3(city='Rome')]", {"scan_3": {"city": "Rome"}}, numbered) == (False, True)
    assert [call.name for call in gold_calls({"scan_3": {}, "scan_3_1": {}}, ["scan_3"])] == ["scan_3", "scan_3"]
    assert verdicts("[ping()]", {"ping": {}}, document("ping")) == (False, True)
    assert verdicts("[ping(a=1)]", {"ping": {}}, document("ping")) == (True, False)
    for answer in ("none", "[]", "[cook(city='x')]", "[book(nights=1)]"):
        assert verdicts(answer) == (False, False), answer
    assert verdicts("[cook(a=1)]", {"cook": {"a": 1}}) == (False, True)


def test_sound_equality() -> None:
    for given, gold, same in (
        ("New York", "new york.", True), ("it's", 'it"s', True), ("3.5", "35", False), ("1, 2", "12", False),
        ("1 2", "12", False), ("-5", "5", False), (".5", "5", False), ("2022-04-12", "20220412", False),
        ("Covid-19", "Covid 19", True), ("well, then", "well then", True), ("...", "", False), (1, True, False),
        (True, 1, False), (1.0, 1, True), ("1", 1, False), (None, None, True), (None, 0, False),
        ([1, 2], (1, 2), True), ([1, 2], [2, 1], False), ({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {"A": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
    ):  # fmt: skip
        assert same_value(given, gold) is same, (given, gold)
    assert sound_text("...") == "..."


MISSING, VALUE, LIMITS = "Missing necessary parameters", "There is incorrect value", "the limitations of the function"
SEND = document("send_mail", ("to", "text"), to="string", text="string")


@pytest.mark.parametrize(
    ("category", "gold", "official", "sound"),
    [
        ("incomplete", {"send_mail": ["to", "text"]}, [
            f"{MISSING} (to, text, cc) for the api (send_mail)", f"{MISSING} (to, context) for the api (send_mail)",
            f"{MISSING} (to, text) for the api (send_mail_now)", f"{MISSING}, to and text of send_mail",
            f"{MISSING} (to, text) for the api (send_mail) [send_mail(to='x')]",
        ], [f"{MISSING} (to, text) for the api (send_mail)", f"{MISSING} ('text','to') for the api: send_mail."]),
        ("error_param", {"to": ["1,5 (x)"]}, [
            f"{VALUE} (1,5 (x)) for the parameters (text)", f"{VALUE} (1,5 (x), hello) for the parameters (to)",
            f"{VALUE}: all of 1,5 (x)",
        ], [f"{VALUE} (1,5 (x)) for the parameters (to) in the conversation history."]),
        ("irrelevant", f"Due to {LIMITS} ...", [f"Due to {LIMITS} [send_mail()]", f"{LIMITS}. {VALUE}"],
         [f"Due to {LIMITS}, I cannot solve this problem."]),
    ],
)  # fmt: skip
def test_a_sentence_is_looked_for_or_read(category: str, gold: object, official: list[str], sound: list[str]) -> None:
    wrong = (
        f"{MISSING} (to) for the api (send_mail)", "Please tell me to and text for send_mail", "I can't.",
        f"{VALUE} (15) for the parameters (to)",
    )  # fmt: skip
    for answer in (*official, *sound, *wrong):
        these, wanted = task(SEND, category=f"special_{category}"), AceGold(gold)
        found = [check_special(these, wanted, answer, rules) for rules in RULES]
        assert found == [answer not in wrong, answer in sound], answer


STATE = [{"Base": {"on": True}}, {"Messages": {"inbox": {"1": {"text": "a"}}, "names": ["x"]}}]
STONES = ("[switch()]", "[add(text='a')]", "[stop()]")


def both(final: list[Any], gold: list[Any] = STATE) -> tuple[bool, bool]:
    """Return the official and the sound verdict on a state."""
    return ends_right(AceGold(gold), final), agent_tasks.score_agent_soundly(AceGold(gold), final, ()).end_to_end


def changed(**attributes: Any) -> list[Any]:
    return [STATE[0], {"Messages": {**STATE[1]["Messages"], **attributes}}]


def test_states() -> None:
    two = {"1": {"text": "a"}, "2": {"text": "b"}}
    for final, expected in (
        (STATE, (True, True)), (STATE[::-1], (True, True)), (changed(names=["y"]), (False, False)),
        (changed(inbox={}), (False, False)), (changed(inbox=5), (False, False)), (changed(extra=1), (False, False)),
        (STATE[:1], (False, False)), ([], (False, False)), ([{"Base": {"on": 1}}, STATE[1]], (True, False)),
        # What gold lacks in a dictionary, and attributes that the answer lacks, pass officially.
        (changed(inbox=two), (True, False)), ([STATE[0], {"Messages": {}}], (True, False)),
        # A class without its name takes the verdict before it.
        ([{"Anything": {"on": False}}, STATE[1]], (True, False)), ([STATE[0], {"Anything": {}}], (True, False)),
    ):  # fmt: skip
        assert both(final) == expected, final
    gold = [{"Base": {"on": True}}, {"Mesages": {"inbox": 1}}]
    assert not ends_right(AceGold(gold), [{"Base": {"on": False}}, {"Messages": {"inbox": 1}}])
    right = AceGold(STATE, (STONES,))
    assert score_agent(right, STATE, []) == AgentScore(True, 1.0)
    assert score_agent(right, [], STONES) == AgentScore(False, 1.0)


def test_gold_that_misspells_a_class_still_means_it() -> None:
    gold = [{"BaseAPI": {"on": True}}, {"Reminderpi": {"list": [1]}}]
    final = [{"BaseApi": {"on": True}}, {"ReminderApi": {"list": [1]}}]
    assert both(final, gold) == (True, True)
    assert both([final[0], {"ReminderApi": {"list": [2]}}], gold) == (True, False)
    assert both([final[0], {"Kettle": {"list": [1]}}], gold) == (True, False)
    named = gold_by_class(AceGold(gold), ["BaseApi", "FoodPlatform", "ReminderApi"])
    assert named == {"BaseApi": {"on": True}, "ReminderApi": {"list": [1]}}


def test_milestones_are_texts_in_order_and_a_missing_one_eats_the_rest() -> None:
    for messages, share in (
        (STONES, 1), (("[noise()]", " [switch()] ", "[add(text='a')]", "[noise()]", "[stop()]"), 1), (STONES[1:], 0),
        ((STONES[0], STONES[2]), 1 / 3), (STONES[:2], 2 / 3), (("[switch()]", '[add(text="a")]', "[stop()]"), 1 / 3),
        ((), 0),
    ):  # fmt: skip
        assert process_share([STONES], messages) == pytest.approx(share)
    assert process_share([STONES, ("[stop()]",)], ["[stop()]"]) == 1.0
    assert process_share([STONES, STONES], STONES[:1]) == 0.333
    assert process_share([()], ["[stop()]"]) == 1.0


def test_soundly_calls_that_ran_count_as_data_and_bare_apostrophes_are_read() -> None:
    def share(*ran: CallResult, stones: tuple[str, ...] = STONES) -> float:
        return agent_tasks.score_agent_soundly(AceGold(STATE, (stones,)), [], ran).process

    made = FunctionCall("switch", {}), FunctionCall("add", {"text": "a"}), FunctionCall("stop", {})
    on, add, stop = (CallResult(call, 1) for call in made)
    assert share(on, add, stop) == 1.0
    assert share(add, stop) == pytest.approx(2 / 3)  # the missing one eats nothing
    assert share(stop, add, on) == pytest.approx(1 / 3)
    assert share(on, CallResult(add.call, {"status": False}, True), stop) == pytest.approx(2 / 3)
    assert share(CallResult(None, "?", True)) == 0.0
    assert share(on, stones=('[ switch( ), add(text="a")] ',)) == 0.5
    assert share(on, stones=()) == 0.0
    stone = "[order(shop='Domino's', items=[{'name': 'Tom's pie', 'n': 1}], note='Don't, it's \"Ana's\".')]"
    (call,) = agent_tasks.milestone_calls(stone)
    assert call.arguments == {
        "shop": "Domino's", "items": [{"name": "Tom's pie", "n": 1}], "note": "Don't, it's \"Ana's\".",
    }  # fmt: skip
    with pytest.raises(UnreadableCalls):
        agent_tasks.milestone_calls("hello")
