"""A checkout of ACEBench, its simulated classes, and the scripted user."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from iad_envs.errors import DataNotFound, UnknownTask
from iad_envs.toolcalls.acebench import user
from iad_envs.toolcalls.acebench.checkout import AceCheckout, AceGold
from iad_envs.toolcalls.acebench.executor import NOT_UNDERSTOOD, AceExecuted, AceExecutor, as_data, saved_state
from iad_envs.toolcalls.acebench.user import DONT_KNOW, STOP, UserFact, UserGoal, UserScript, next_message
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.acebench.small_scenario import CLASSES, SAVED_HERE, shown

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


def test_tasks_and_gold_are_read_apart(folder: Path) -> None:
    checkout = AceCheckout(folder)
    (task,) = checkout.tasks("agent_multi_step")
    assert (task.task_id, task.question, task.multi_turn) == ("agent_multi_step_0", "Send it.", False)
    assert task.involved_classes == ("BaseApi", "MessageApi")
    gold = checkout.gold("agent_multi_step")
    assert gold == {"agent_multi_step_0": AceGold([{"BaseApi": {"wifi": True}}], (("[turn_on_wifi()]",),))}
    path = folder / "data_all" / "data_en" / "possible_answer" / "data_agent_multi_step.json"
    path.write_text(json.dumps({"id": "a", "ground_truth": [], "mile_stone": [["[f()]"], ["[g()]", "[h()]"]]}))
    assert AceCheckout(folder).gold("agent_multi_step")["a"].milestones == (("[f()]",), ("[g()]", "[h()]"))


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


def test_what_is_missing_says_how_to_get_it(folder: Path, tmp_path: Path) -> None:
    checkout = AceCheckout(folder)
    for call, error, said in (
        (lambda: AceCheckout(tmp_path / "nowhere"), DataNotFound, r"nowhere.* git clone"),
        (lambda: checkout.tasks("normal_preference"), DataNotFound, r"data_normal_preference\.json.* git clone"),
        (lambda: checkout.classes()["Travel"], DataNotFound, r"travel\.py.* git clone"),
        (lambda: checkout.tasks("agent_multistep"), UnknownTask, "near: agent_multi_step"),
    ):
        with pytest.raises(error, match=said):
            call()


BOTH = ("Lamp", "Radio")


def executed(message: str, config: Mapping[str, Any] = {}, **options: Any) -> AceExecuted:
    """What a message does at the start."""
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
    assert (shown(done) == NOT_UNDERSTOOD, "expected" in shown(done)) == (rules == "official", rules == "sound")
    executor = AceExecutor(CLASSES, BOTH, rules)
    state, colour = executor.start({"BaseApi": {"on": True}}), ["red"]
    done = executor.run(state, [FunctionCall("add_colour", {"colour": colour})])
    colour.append("blue")
    assert state.instances["Lamp"].colours == []
    assert done.state.instances["Lamp"].colours == [["red"]]
    assert done.state.instances["Radio"] is state.instances["Radio"]


def test_a_class_reads_its_own_configuration_and_then_the_base() -> None:
    state = AceExecutor(CLASSES, BOTH).start({"Lamp": {"on": True}, "BaseApi": {}})
    assert [one["on"] for (one,) in (found.values() for found in saved_state(state, SAVED_HERE))] == [True, False]
    state = AceExecutor(CLASSES, BOTH).start({"Lamp": {"on": True}, "BaseApi": {"on": False}})
    assert not state.instances["Lamp"].on


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
    assert as_data({1: (1, 2.0), None: True, "x": {1.5: "y"}}) == {"1": [1, 2.0], "null": True, "x": {"1.5": "y"}}
    with pytest.raises(UnknownTask, match="expected a known simulated class"):
        AceExecutor(CLASSES, ["Lamps"])


def test_an_error_changes_nothing_soundly_and_drops_the_rest_in_the_loop_with_a_user() -> None:
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


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("switch()", "expected one of the functions add_colour, tune, got switch"),
        ("wish()", "expected one of the functions add_colour, tune, got wish"),
        ("tune()", "expected the arguments station of tune, got none"),
        ("add_colour(colour='a', b=1)", "expected the arguments colour of add_colour, got colour, b"),
        ("add_colour(colour='red')", "off"),  # which the class itself says
    ],
)
def test_soundly_a_call_that_is_refused_says_why(call: str, said: str) -> None:
    (result,) = executed(f"[{call}]", rules="sound", offered=["tune", "add_colour"]).results
    assert result.has_failed
    assert said in result.shown.values()


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


def test_it_opens_with_its_first_goal_and_goes_on_when_the_state_holds() -> None:
    said = user.first_message(SCRIPT)
    assert (said.text, said.goal, said.is_last) == ("I want a reminder.", 0, False)
    assert next_message(SCRIPT, 0, "Done!", NOTHING).text == DONT_KNOW
    reached = next_message(SCRIPT, 0, "Done!", REMINDED)
    assert (reached.text, reached.goal) == ("And I want a message sent.", 1)
    last = next_message(SCRIPT, 1, "Done!", ALL)
    assert (last.text, last.goal, last.is_last) == (STOP, 2, True)
    assert next_message(SCRIPT, 0, "Both are done.", ALL).is_last
    assert user.first_message(UserScript(())).is_last


def test_a_question_gets_at_most_two_facts() -> None:
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
    assert next_message(script, 0, "Which message should I delete?", {}).text == (
        "If one must go, I delete the oldest message."
    )
    assert next_message(script, 0, "Shall I proceed?", {}).text == "Yes, please."
    assert next_message(script, 0, "Which colour?", {}).text == DONT_KNOW
    assert next_message(script, 0, "Done.", {"Messages": {"sent": [1]}}).is_last
