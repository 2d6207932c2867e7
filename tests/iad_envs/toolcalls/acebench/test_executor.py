import pytest

from iad_envs.errors import UnknownTask
from iad_envs.toolcalls.acebench.executor import NOT_UNDERSTOOD, AceExecutor, as_data, saved_state
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.acebench.small_scenario import CLASSES, SAVED_HERE

BOTH = ("Lamp", "Radio")


def test_a_method_runs_on_every_class_that_has_it_and_the_last_result_counts() -> None:
    for rules in RULES:
        executor = AceExecutor(CLASSES, BOTH, rules)
        done = executor.execute(executor.start({}), "[switch()]")
        assert done.shown == [{"status": True, "message": "radio True"}]
        assert saved_state(done.state, SAVED_HERE) == [
            {"Lamp": {"on": True, "colours": []}},
            {"Radio": {"on": True, "stations": {"1": "one"}}},
        ]


def test_a_class_reads_its_own_configuration_and_then_the_base() -> None:
    state = AceExecutor(CLASSES, BOTH).start({"Lamp": {"on": True}, "BaseApi": {}})
    assert [one["on"] for (one,) in (found.values() for found in saved_state(state, SAVED_HERE))] == [True, False]
    state = AceExecutor(CLASSES, BOTH).start({"Lamp": {"on": True}, "BaseApi": {"on": False}})
    assert not state.instances["Lamp"].on


@pytest.mark.parametrize("rules", RULES)
def test_a_run_leaves_the_state_the_values_of_its_calls_and_what_it_does_not_touch(rules: Rules) -> None:
    executor = AceExecutor(CLASSES, BOTH, rules)
    state, colour = executor.start({"BaseApi": {"on": True}}), ["red"]
    done = executor.run(state, [FunctionCall("add_colour", {"colour": colour})])
    colour.append("blue")
    assert state.instances["Lamp"].colours == []
    assert done.state.instances["Lamp"].colours == [["red"]]
    assert done.state.instances["Radio"] is state.instances["Radio"]


def test_officially_an_unknown_function_returns_the_result_before_it() -> None:
    executor = AceExecutor(CLASSES, BOTH)
    done = executor.execute(executor.start({}), "[nothing(), tune(station=7), nothing(), a.tune(station=1)]")
    assert done.shown == [
        "Error during execution: cannot access local variable 'func_call_result' where it is not associated with "
        "a value",
        7,
        7,
        "Error during execution: name 'a' is not defined",
    ]
    assert [one.finding for one in done.results] == ["unknown_function", "", "unknown_function", "unknown_function"]


def test_officially_results_are_written_down_after_the_last_call() -> None:
    message = "[add_colour(colour='red'), add_colour(colour='blue')]"
    shown = {}
    for rules in RULES:
        executor = AceExecutor(CLASSES, BOTH, rules)
        shown[rules] = executor.execute(executor.start({"BaseApi": {"on": True}}), message).shown
    assert shown["official"] == ["['red', 'blue']"] * 2
    assert shown["sound"] == [["red"], ["red", "blue"]]


def test_an_error_changes_nothing_soundly_and_drops_the_rest_in_the_loop_with_a_user() -> None:
    message = "[break_down(when='later'), tune(station=1)]"
    executor = AceExecutor(CLASSES, BOTH)
    done = executor.execute(executor.start({}), message)
    assert done.shown == ["Error during execution: later", 1]
    assert done.state.instances["Lamp"].colours == ["broken"]
    executor = AceExecutor(CLASSES, BOTH, "sound")
    done = executor.execute(executor.start({}), message)
    assert done.shown == [{"error": "break_down failed: later"}, "1"]
    assert done.state.instances["Lamp"].colours == []
    assert [one.finding for one in done.results] == ["tool_error", ""]
    executor = AceExecutor(CLASSES, BOTH, loop="multi_turn")
    done = executor.execute(executor.start({}), "[switch(), break_down(), switch()]")
    assert done.shown == ["Error during execution: now"]
    assert (done.state.instances["Radio"].on, done.state.has_run) == (True, False)


def test_findings_say_what_is_wrong_with_a_call() -> None:
    executor = AceExecutor(CLASSES, BOTH, "sound", offered=["tune", "add_colour"])
    calls = {
        "switch": ({}, "withheld_function", "expected one of the functions add_colour, tune, got switch"),
        "wish": ({}, "unknown_function", "expected one of the functions add_colour, tune, got wish"),
        "tune": ({}, "missing_argument", "expected the arguments station of tune, got none"),
        "add_colour": ({"colour": "a", "b": 1}, "unknown_argument", "expected the arguments colour of add_colour, got"),
    }
    state = executor.start({})
    for name, (arguments, finding, message) in calls.items():
        (result,) = executor.run(state, [FunctionCall(name, arguments)]).results
        assert result.finding == finding
        assert result.shown["error"].startswith(message)
    (refused,) = executor.run(state, [FunctionCall("add_colour", {"colour": "red"})]).results
    assert refused.finding == "tool_error"


def test_a_message_without_calls_is_answered_by_a_sentence() -> None:
    for rules in RULES:
        executor = AceExecutor(CLASSES, BOTH, rules)
        state = executor.start({})
        done = executor.execute(state, "What is it?")
        assert (done.state is state, done.results[0].finding, done.state.has_run) == (True, "unreadable", False)
        assert (done.shown == NOT_UNDERSTOOD, "expected" in str(done.shown)) == (rules == "official", rules == "sound")


def test_officially_a_dictionary_as_an_argument_is_a_call_of_nothing() -> None:
    executor = AceExecutor(CLASSES, BOTH)
    done = executor.execute(executor.start({}), "[tune(station=dict(a=1)), tune(station=1e999)]")
    assert done.shown == [f"Error during execution: name '{name}' is not defined" for name in ("dict", "inf")]
    assert as_data({1: (1, 2.0), None: True, "x": {1.5: "y"}}) == {"1": [1, 2.0], "null": True, "x": {"1.5": "y"}}
    with pytest.raises(UnknownTask, match="expected a known simulated class"):
        AceExecutor(CLASSES, ["Lamps"])
