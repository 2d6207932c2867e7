from collections.abc import Mapping
from typing import Any

import pytest

from iad_envs.errors import UnknownTask
from iad_envs.toolcalls.acebench.executor import NOT_UNDERSTOOD, AceExecuted, AceExecutor, as_data, saved_state
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.rules import RULES, Rules
from tests.iad_envs.toolcalls.acebench.small_scenario import CLASSES, SAVED_HERE, shown

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
    done = executed("[nothing(), tune(station=7), nothing(), a.tune(station=1)]")
    first, *others = shown(done)
    assert first.startswith("Error during execution: cannot access local variable 'func_call_result'")
    assert others == [7, 7, "Error during execution: name 'a' is not defined"]
    assert [one.has_failed for one in done.results] == [True, False, True, True]


def test_officially_results_are_written_down_after_the_last_call() -> None:
    message, lit = "[add_colour(colour='red'), add_colour(colour='blue')]", {"BaseApi": {"on": True}}
    assert shown(executed(message, lit)) == ["['red', 'blue']"] * 2
    assert shown(executed(message, lit, rules="sound")) == [["red"], ["red", "blue"]]


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


def test_officially_a_dictionary_as_an_argument_is_a_call_of_nothing() -> None:
    done = executed("[tune(station=dict(a=1)), tune(station=1e999)]")
    assert shown(done) == [f"Error during execution: name '{name}' is not defined" for name in ("dict", "inf")]
    assert as_data({1: (1, 2.0), None: True, "x": {1.5: "y"}}) == {"1": [1, 2.0], "null": True, "x": {"1.5": "y"}}
    with pytest.raises(UnknownTask, match="expected a known simulated class"):
        AceExecutor(CLASSES, ["Lamps"])
