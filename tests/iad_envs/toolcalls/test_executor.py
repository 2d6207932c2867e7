"""Running of calls: results as texts, and states as values."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from iad_envs.toolcalls.calls import FunctionCall, read_calls
from iad_envs.toolcalls.copying import copied
from iad_envs.toolcalls.executor import (
    MAX_INTEGER,
    MAX_TEXT,
    Precaution,
    Toolbox,
    ToolLimit,
    public_attributes,
    text_of,
)
from tests.iad_envs.toolcalls.counter_desk import PlainSums, TicketDesk, toolbox

OPEN = read_calls("open_ticket(title='broken lamp', tags=['light'])")


def ran(calls: Sequence[FunctionCall], tickets: Mapping[int, Any] = {}, **options: Any) -> tuple[str, ...]:
    """The results of calls, with these tickets at the start."""
    box = toolbox()
    return box.run(box.start({"TicketDesk": {"tickets": dict(tickets)}}), calls, **options).results


def test_results_have_the_official_texts() -> None:
    calls = read_calls(
        "describe(), list_tickets(), total(numbers=[1, 2.5]), itself(), read_ticket(ticket=1), total(), total(n=1),"
        " no_such(a=1), total(numbers=['a'])"
    )
    assert ran(calls) == (
        "0 tickets",
        "[]",
        '{"result": 3.5}',
        "{'object': <sums>}",
        "Error during execution: 1",
        "Error during execution: PlainSums.total() missing 1 required positional argument: 'numbers'",
        "Error during execution: PlainSums.total() got an unexpected keyword argument 'n'",
        "Error during execution: name 'no_such' is not defined",
        "Error during execution: unsupported operand type(s) for +: 'int' and 'str'",
    )


def test_a_state_is_a_value_and_only_what_is_called_is_copied() -> None:
    box = toolbox()
    start = box.start({"TicketDesk": {"random_seed": 3}})
    once, again = box.run(start, OPEN), box.run(start, OPEN)
    assert once.results == again.results
    assert vars(start.instances["TicketDesk"])["tickets"] == {}
    assert once.state.instances["PlainSums"] is start.instances["PlainSums"]
    assert once.state.instances["TicketDesk"] is not again.state.instances["TicketDesk"]
    more = box.run(once.state, OPEN)
    assert more.results != once.results, "the generator goes on from where it was"
    assert box.run(start, read_calls("no_such()")).state is start


def test_what_a_function_keeps_and_changes_is_not_the_calls_own() -> None:
    box = toolbox()
    opened = box.run(box.start({"TicketDesk": {"random_seed": 3}}), OPEN)
    number = next(iter(opened.state.instances["TicketDesk"].tickets))
    tagged = box.run(opened.state, [FunctionCall("tag_ticket", {"ticket": number, "tag": "urgent"})])
    assert tagged.state.instances["TicketDesk"].tickets[number]["tags"] == ["light", "urgent"]
    assert opened.state.instances["TicketDesk"].tickets[number]["tags"] == OPEN[0].arguments["tags"] == ["light"]


def test_a_scenario_is_not_changed() -> None:
    box = toolbox()
    config: dict[str, Any] = {"TicketDesk": {"tickets": {1: {"title": "x", "tags": []}}}}
    before = copy.deepcopy(config)
    state = box.start(config, long_context=True)
    box.run(state, read_calls("tag_ticket(ticket=1, tag='y')"))
    assert config == before
    assert len(public_attributes(state.instances["TicketDesk"])["log"]) == 100
    assert set(public_attributes(state.instances["TicketDesk"])) == {"tickets", "log"}


def test_withheld_functions_are_unknown() -> None:
    results = ran(read_calls("describe(), list_tickets()"), withheld={"describe"})
    assert results == ("Error during execution: name 'describe' is not defined", "[]")


def test_a_call_in_an_argument_runs_first() -> None:
    calls = [FunctionCall("total", {"numbers": FunctionCall(name, {})}) for name in ("list_tickets", "no_such")]
    assert ran(calls, {4: {}, 5: {}}) == (
        '{"result": 9}',
        "Error during execution: name 'no_such' is not defined",
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * (MAX_TEXT + 1), "at most 65536 characters"),
        (MAX_INTEGER + 1, "must be between"),
        ([1, -MAX_INTEGER - 1], "must be between"),
        ({"a": float("inf")}, "name 'inf' is not defined"),
        (float("nan"), "name 'nan' is not defined"),
    ],
)
def test_arguments_that_are_too_large_fail_as_a_call_does(value: Any, said: str) -> None:
    (result,) = ran([FunctionCall("open_ticket", {"title": value})])
    assert result.startswith("Error during execution: ")
    assert said in result


def test_precautions_stand_around_a_function() -> None:
    def at_most_two(arguments: dict[str, Any]) -> dict[str, Any]:
        if len(arguments["numbers"]) > 2:
            raise ToolLimit("at most two numbers")
        return {"numbers": [10 * number for number in arguments["numbers"]]}

    precaution = Precaution(arguments=at_most_two, result=lambda result: {**result, "checked": True})
    box = Toolbox({"PlainSums": PlainSums}, precautions={"total": precaution})
    done = box.run(box.start({}), read_calls("total(numbers=[1, 2]), total(numbers=[1, 2, 3])"))
    assert done.results == ('{"result": 30, "checked": true}', "Error during execution: at most two numbers")


def test_a_copy_has_the_same_shape_and_shares_nothing_that_changes() -> None:
    desk = TicketDesk()
    shared = ["x"]
    desk.tickets = {
        1: {"title": "a", "tags": shared},
        2: {"title": "b", "tags": shared, "pair": (shared, 1), "set": {1}},
    }
    desk.tickets[2]["itself"] = desk
    desk.tickets[1]["circle"] = desk.tickets
    new = copied(desk)
    first, second = new.tickets[1], new.tickets[2]
    assert first["tags"] == ["x"]
    assert first["tags"] is not shared
    assert first["tags"] is second["tags"] is second["pair"][0]
    assert second["itself"] is new
    assert first["circle"] is new.tickets
    assert second["set"] == {1}
    assert second["set"] is not desk.tickets[2]["set"]
    assert new._random is not desk._random
    assert new._random.random() == desk._random.random()


def test_a_copy_may_be_deeper_than_functions_may_call_one_another() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    depth, inner = 0, copied(deep)
    while inner:
        depth, inner = depth + 1, inner[0]
    assert depth == 100_000
    while deep:  # taken apart here: freeing it all at once would be deep as well
        deep = deep[0]


def test_a_result_that_json_cannot_hold_is_shown_by_str() -> None:
    circle: dict[str, Any] = {}
    circle["it"] = circle
    assert text_of(circle) == "{'it': {...}}"
    assert text_of({"a": 1 + 2j}) == "{'a': (1+2j)}"
    assert text_of(None) == "None"
