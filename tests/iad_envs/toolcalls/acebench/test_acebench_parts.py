"""ACEBench: a checkout, its simulated classes, the scripted user, and reading and scoring of answers."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from iad_envs.errors import DataNotFound, UnknownTask
from iad_envs.toolcalls.acebench import executor as execution
from iad_envs.toolcalls.acebench import user
from iad_envs.toolcalls.acebench.checkout import AceCheckout, AceGold
from iad_envs.toolcalls.acebench.equality import same_value, sound_text
from iad_envs.toolcalls.acebench.executor import AceExecuted, AceExecutor, CallResult, saved_state
from iad_envs.toolcalls.acebench.gold_classes import gold_by_class
from iad_envs.toolcalls.acebench.reading import is_execution, read_agent, read_normal
from iad_envs.toolcalls.acebench.scoring import agent_tasks
from iad_envs.toolcalls.acebench.scoring.agent_tasks import AgentScore, ends_right, process_share, score_agent
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, gold_calls
from iad_envs.toolcalls.acebench.scoring.special import check_special
from iad_envs.toolcalls.acebench.user import DONT_KNOW, STOP, UserFact, UserGoal, UserScript, next_message
from iad_envs.toolcalls.calls import MAX_CALLS, MAX_CHARACTERS, MAX_DEPTH, FunctionCall, UnreadableCalls
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.acebench.small_scenario import CLASSES, SAVED_HERE, document, shown, task

BASE = """
class BaseApi:
    def __init__(self):
        self.wifi = False

    def turn_on_wifi(self):
        print("this is not seen")
        self.wifi = True
        return {"status": True}
"""
MESSAGE = """
from datetime import datetime
from model_inference.multi_turn.scenariosen.phone_platform.base_api import BaseApi


class MessageApi(BaseApi):
    def year(self):
        return datetime(2024, 1, 1).year
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data_all" / "data_en" / "possible_answer"
    data.mkdir(parents=True)
    question = {
        "question": "Send it.", "function": [], "initial_config": {}, "involved_classes": ["BaseApi", "MessageApi"],
    }  # fmt: skip
    answer = {"ground_truth": [{"BaseApi": {"wifi": True}}], "mile_stone": ["[turn_on_wifi()]"]}
    for place, row in ((data.parent, question), (data, answer)):
        (place / "data_agent_multi_step.json").write_text(json.dumps({"id": "agent_multi_step_0", **row}) + "\n\n")
    for loop in ("multi_step", "multi_turn"):
        code = tmp_path / "model_inference" / loop / "scenariosen" / "phone_platform"
        code.mkdir(parents=True)
        (code / "base_api.py").write_text(BASE)
        (code / "message.py").write_text(MESSAGE)
    return tmp_path


def test_tasks_and_gold_are_read_apart_and_it_is_said_how_to_get_what_is_missing(folder: Path, tmp_path: Path) -> None:
    checkout = AceCheckout(folder)
    (task,) = checkout.tasks("agent_multi_step")
    assert (task.task_id, task.question, task.multi_turn) == ("agent_multi_step_0", "Send it.", False)
    assert task.involved_classes == ("BaseApi", "MessageApi")
    gold = checkout.gold("agent_multi_step")
    assert gold == {"agent_multi_step_0": AceGold([{"BaseApi": {"wifi": True}}], (("[turn_on_wifi()]",),))}
    path = folder / "data_all" / "data_en" / "possible_answer" / "data_agent_multi_step.json"
    path.write_text(json.dumps({"id": "a", "ground_truth": [], "mile_stone": [["[f()]"], ["[g()]", "[h()]"]]}))
    assert AceCheckout(folder).gold("agent_multi_step")["a"].milestones == (("[f()]",), ("[g()]", "[h()]"))
    for call, error, said in (
        (lambda: AceCheckout(tmp_path / "nowhere"), DataNotFound, r"nowhere.* git clone"),
        (lambda: checkout.tasks("normal_preference"), DataNotFound, r"data_normal_preference\.json.* git clone"),
        (lambda: checkout.classes()["Travel"], DataNotFound, r"travel\.py.* git clone"),
        (lambda: checkout.tasks("agent_multistep"), UnknownTask, "near: agent_multi_step"),
    ):
        with pytest.raises(error, match=said):
            call()


def test_simulated_classes_leave_no_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    modules, path = set(sys.modules), list(sys.path)
    classes = AceCheckout(folder).classes("multi_step")
    phone = classes["MessageApi"]()
    assert phone.turn_on_wifi() == {"status": True}
    assert phone.year() == 2024
    assert classes["MessageApi"] is classes["MessageApi"]
    assert "BaseApi" in classes
    assert len(list(classes)) == len(classes)
    assert (set(sys.modules), sys.path) == (modules, path)
    assert capsys.readouterr().out == ""


BOTH = ("Lamp", "Radio")


def executed(message: str, config: Mapping[str, Any] = {}, **options: Any) -> AceExecuted:
    executor = AceExecutor(CLASSES, BOTH, **options)
    return executor.execute(executor.start(config), message)


@pytest.mark.parametrize("rules", RULES)
def test_a_method_runs_on_every_class_that_has_it_the_last_result_counts_and_no_call_is_answered(rules: Rules) -> None:
    done = executed("[switch()]", rules=rules)
    assert shown(done) == [{"status": True, "message": "radio True"}]
    lamp, radio = {"on": True, "colours": []}, {"on": True, "stations": {"1": "one"}}
    assert saved_state(done.state, SAVED_HERE) == [{"Lamp": lamp}, {"Radio": radio}]
    done = executed("What is it?", rules=rules)
    assert (done.results[0].has_failed, done.state.has_run) == (True, False)
    assert (shown(done) == execution.NOT_UNDERSTOOD) == (rules == "official")
    assert ("expected" in shown(done)) == (rules == "sound")
    executor = AceExecutor(CLASSES, BOTH, rules)
    state, colour = executor.start({"BaseApi": {"on": True}}), ["red"]
    done = executor.run(state, [FunctionCall("add_colour", {"colour": colour})])
    colour.append("blue")
    assert state.instances["Lamp"].colours == []
    assert done.state.instances["Lamp"].colours == [["red"]]
    assert done.state.instances["Radio"] is state.instances["Radio"]
    for base, lamp in (({}, True), ({"on": False}, False)):
        state = AceExecutor(CLASSES, BOTH).start({"Lamp": {"on": True}, "BaseApi": base})
        assert (state.instances["Lamp"].on, state.instances["Radio"].on) == (lamp, False)


def test_officially_an_unknown_function_returns_the_result_before_it_and_results_are_written_down_last() -> None:
    done = executed("[nothing(), tune(station=7), nothing(), a.tune(station=1)]")
    first, *others = shown(done)
    assert first.startswith("Error during execution: cannot access local variable 'func_call_result'")
    assert others == [7, 7, "Error during execution: name 'a' is not defined"]
    assert [one.has_failed for one in done.results] == [True, False, True, True]
    message, lit = "[add_colour(colour='red'), add_colour(colour='blue')]", {"BaseApi": {"on": True}}
    assert shown(executed(message, lit)) == ["['red', 'blue']"] * 2
    assert shown(executed(message, lit, rules="sound")) == [["red"], ["red", "blue"]]
    done = executed("[tune(station=dict(a=1)), tune(station=1e999)]")
    assert shown(done) == [f"Error during execution: name '{name}' is not defined" for name in ("dict", "inf")]
    plain = {"1": [1, 2.0], "null": True, "x": {"1.5": "y"}}
    assert execution.as_data({1: (1, 2.0), None: True, "x": {1.5: "y"}}) == plain
    with pytest.raises(UnknownTask, match="expected a known simulated class"):
        AceExecutor(CLASSES, ["Lamps"])


def test_an_error_changes_nothing_soundly_drops_the_rest_with_a_user_and_a_refused_call_says_why() -> None:
    message = "[break_down(when='later'), tune(station=1)]"
    done = executed(message)
    assert shown(done) == ["Error during execution: later", 1]
    assert done.state.instances["Lamp"].colours == ["broken"]
    done = executed(message, rules="sound")
    assert shown(done) == [{"error": "break_down failed: later"}, "1"]
    assert done.state.instances["Lamp"].colours == []
    assert [one.has_failed for one in done.results] == [True, False]
    done = executed("[switch(), break_down(), switch()]", loop="multi_turn")
    assert shown(done) == ["Error during execution: now"]
    assert (done.state.instances["Radio"].on, done.state.has_run) == (True, False)
    for call, said in {
        **{f"{name}()": f"expected one of the functions add_colour, tune, got {name}" for name in ("switch", "wish")},
        "tune()": "expected the arguments station of tune, got none",
        "add_colour(colour='a', b=1)": "expected the arguments colour of add_colour, got colour, b",
        "add_colour(colour='red')": "off",  # which the class itself says
    }.items():
        (result,) = executed(f"[{call}]", rules="sound", offered=["tune", "add_colour"]).results
        assert (result.has_failed, said in result.shown.values()) == (True, True), call


SCRIPT = UserScript(
    (
        UserGoal("I want a reminder.", {"Reminders": {"list": [{"title": "Tea"}]}}),
        UserGoal("And I want a message sent.", {"Messages": {"sent": {"7": {"to": "Ana"}}}}),
    ),
    (
        UserFact("reminder title", "The title is Tea."), UserFact("reminder time", "It is at 9.", ("when", "hour")),
        UserFact("message receiver", "It is for Ana.", ("whom", "person")), UserFact("message text", "It says hello."),
    ),
)  # fmt: skip
NOTHING: dict[str, Any] = {"Reminders": {"list": []}}
REMINDED = {"Reminders": {"list": [{"title": "Soup"}, {"title": "tea", "time": 9}]}}
ALL = {**REMINDED, "Messages": {"sent": {"7": {"to": "Ana", "text": "hello"}}}}


def test_it_goes_from_goal_to_goal_and_a_question_gets_at_most_two_facts() -> None:
    said = user.first_message(SCRIPT)
    assert (said.text, said.goal, said.is_last) == ("I want a reminder.", 0, False)
    assert next_message(SCRIPT, 0, "Done!", NOTHING).text == DONT_KNOW
    reached = next_message(SCRIPT, 0, "Done!", REMINDED)
    assert (reached.text, reached.goal) == ("And I want a message sent.", 1)
    last = next_message(SCRIPT, 1, "Done!", ALL)
    assert (last.text, last.goal, last.is_last) == (STOP, 2, True)
    assert next_message(SCRIPT, 0, "Both are done.", ALL).is_last
    assert user.first_message(UserScript(())).is_last
    for question, names in {
        "What is the title?": ["reminder title"],
        "Which title and time should the reminder have?": ["reminder title", "reminder time"],
        "At which HOUR?": ["reminder time"], "Who is the person?": ["message receiver"],
        "What should the messages say?": ["message receiver", "message text"],
        "Title, time, receiver and text, please.": ["reminder title", "reminder time"], "Which colour?": [], "": [],
    }.items():  # fmt: skip
        said = user.asked_facts(question, SCRIPT.facts)
        assert [fact.name for fact in said] == names
        told = " ".join(fact.says for fact in said) or "I don't know."
        assert next_message(SCRIPT, 0, question, NOTHING).text == told
    # A rarer word counts more.
    assert [fact.name for fact in user.asked_facts("The text of the reminder?", SCRIPT.facts)][-1] == "message text"
    assert user.words_of("What are the 2 names of the flights?") == {"2", "name", "flight"}


def test_what_holds_and_that_a_script_is_data() -> None:
    for wanted, state, is_held in (
        ({}, {}, True), ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True), ({"a": {"b": 1}}, {"a": {}}, False),
        ({"a": None}, {}, True), ({"a": None}, {"a": 1}, False), ({"a": 1}, {"a": True}, False),
        ([1, 1], [1, 2], False), ([{"x": 1}, {}], [{"y": 1}, {"x": 1}], True), ([1], {"1": 1}, False),
        ({"a": 1}, [1], False), ("New York", "new york", True),
    ):  # fmt: skip
        assert user.holds(wanted, state) is is_held, (wanted, state)
    assert user.by_class([{"A": {"x": 1}}, {"B": {}}]) == {"A": {"x": 1}, "B": {}}
    goals = [goal._asdict() for goal in SCRIPT.goals]
    facts = [{**fact._asdict(), "words": list(fact.words)} for fact in SCRIPT.facts]
    assert UserScript.from_record({"goals": goals, "facts": facts}) == SCRIPT
    assert UserScript.from_record({"goals": goals}) == SCRIPT._replace(facts=())


def test_a_script_from_an_instruction_speaks_in_the_first_person() -> None:
    instruction = (
        "You are Ana. You need to answer a message Bob sent to you: 'Are you free, isn't it?'. Your account is Ana. "
        "You will respond to the agent but will not say more. If one must go, you delete the oldest message."
    )
    assert user.first_person("You say 'you are' and \"your\".") == "I say 'you are' and \"your\"."
    script = user.script_of_instruction(instruction, {"Messages": {"sent": [1]}})
    assert script.goals[0].says == "I need to answer a message Bob sent to me: 'Are you free, isn't it?'."
    said = next_message(script, 0, "What is the account?", {})
    assert said.text == "My account is Ana."
    told = "If one must go, I delete the oldest message."
    assert next_message(script, 0, "Which message should I delete?", {}).text == told
    assert next_message(script, 0, "Shall I proceed?", {}).text == "Yes, please."
    assert next_message(script, 0, "Which colour?", {}).text == DONT_KNOW
    assert next_message(script, 0, "Done.", {"Messages": {"sent": [1]}}).is_last


def the_call(text: str, rules: Rules = "official", *, multi_turn: bool = False) -> FunctionCall:
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
    assert the_call(nested(MAX_DEPTH), rules)
    too_long = ("x" * (MAX_CHARACTERS + 1), f"[f(a={'9' * 5000})]", f"[f(a=0x{'f' * 9000})]", "[" * 9000)
    for text in (nested(MAX_DEPTH + 2), f"[{'f(),' * (MAX_CALLS + 1)}]", *too_long):
        with pytest.raises(UnreadableCalls, match="expected"):
            the_call(text, rules)


def test_officially_an_answer_loses_its_blanks_and_names_are_values_and_sound_values_are_literals() -> None:
    assert the_call("[f(x='New York')]", multi_turn=True).arguments == {"x": "NewYork"}
    assert the_call("[f(x='New York')]", "sound", multi_turn=True).arguments == {"x": "New York"}
    with pytest.raises(UnreadableCalls):
        the_call("Here: [f()]", multi_turn=True)
    assert the_call("Here: [f()]", "sound", multi_turn=True).name == "f"
    wrong: Sequence[tuple[str, Rules]] = (("[f(a=true)]", "sound"), ("[f('x')]", "sound"), ("[f(a=2*3)]", "official"))
    officially = {
        "true": "true", "+5": -5, "not True": -1, "x[1:2]": "x[1:2]", "g()": {"g": {}}, "g(a=1)": {"g": {"a": 1}},
        "(1, 2)": (1, 2), "...": "...",
    }  # fmt: skip
    assert {value: the_call(f"[f(a={value})]").arguments["a"] for value in officially} == officially
    assert the_call("[f(a=(1, -2), b=3)]", "sound").arguments == {"a": (1, -2), "b": 3}
    assert the_call("[f('x', a=1, a=2)]").arguments == {"a": 2}  # those without a name are dropped
    for text, rules in wrong:
        with pytest.raises(UnreadableCalls, match="expected"):
            the_call(text, rules)
    call = FunctionCall("f", {"a": "it's", "b": [1.5, None, {"c": True}]})
    assert the_call(f"[{call}]", "sound") == call  # a call as text is read again


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


@pytest.mark.parametrize(("category", "gold", "official", "sound"), [
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
])  # fmt: skip
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


def verdicts_on(final: list[Any], gold: list[Any] = STATE) -> tuple[bool, bool]:
    return ends_right(AceGold(gold), final), agent_tasks.score_agent_soundly(AceGold(gold), final, ()).end_to_end


def changed(**attributes: Any) -> list[Any]:
    return [STATE[0], {"Messages": {**STATE[1]["Messages"], **attributes}}]


def test_states_and_that_gold_that_misspells_a_class_still_means_it() -> None:
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
        assert verdicts_on(final) == expected, final
    gold = [{"Base": {"on": True}}, {"Mesages": {"inbox": 1}}]
    assert not ends_right(AceGold(gold), [{"Base": {"on": False}}, {"Messages": {"inbox": 1}}])
    right = AceGold(STATE, (STONES,))
    assert score_agent(right, STATE, []) == AgentScore(True, 1.0)
    assert score_agent(right, [], STONES) == AgentScore(False, 1.0)
    gold = [{"BaseAPI": {"on": True}}, {"Reminderpi": {"list": [1]}}]
    final = [{"BaseApi": {"on": True}}, {"ReminderApi": {"list": [1]}}]
    assert verdicts_on(final, gold) == (True, True)
    assert verdicts_on([final[0], {"ReminderApi": {"list": [2]}}], gold) == (True, False)
    assert verdicts_on([final[0], {"Kettle": {"list": [1]}}], gold) == (True, False)
    named = gold_by_class(AceGold(gold), ["BaseApi", "FoodPlatform", "ReminderApi"])
    assert named == {"BaseApi": {"on": True}, "ReminderApi": {"list": [1]}}


def test_milestones_are_texts_in_order_and_soundly_calls_that_ran() -> None:
    for messages, part in (
        (STONES, 1), (("[noise()]", " [switch()] ", "[add(text='a')]", "[noise()]", "[stop()]"), 1), (STONES[1:], 0),
        ((STONES[0], STONES[2]), 1 / 3), (STONES[:2], 2 / 3), (("[switch()]", '[add(text="a")]', "[stop()]"), 1 / 3),
        ((), 0),
    ):  # fmt: skip
        assert process_share([STONES], messages) == pytest.approx(part)
    assert process_share([STONES, ("[stop()]",)], ["[stop()]"]) == 1.0
    assert process_share([STONES, STONES], STONES[:1]) == 0.333
    assert process_share([()], ["[stop()]"]) == 1.0

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
