"""Running of calls: results as texts, and states as values."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

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
    error = "Error during execution: "
    expected = {
        "describe()": "0 tickets", "list_tickets()": "[]", "total(numbers=[1, 2.5])": '{"result": 3.5}',
        "itself()": "{'object': <sums>}", "read_ticket(ticket=1)": f"{error}1",
        "total()": f"{error}PlainSums.total() missing 1 required positional argument: 'numbers'",
        "total(n=1)": f"{error}PlainSums.total() got an unexpected keyword argument 'n'",
        "no_such(a=1)": f"{error}name 'no_such' is not defined",
        "total(numbers=['a'])": f"{error}unsupported operand type(s) for +: 'int' and 'str'",
    }  # fmt: skip
    assert ran(read_calls(", ".join(expected))) == tuple(expected.values())
    circle: dict[str, Any] = {}
    circle["it"] = circle
    assert text_of(circle) == "{'it': {...}}"
    assert text_of({"a": 1 + 2j}) == "{'a': (1+2j)}"
    assert text_of(None) == "None"
    unknown = "Error during execution: name '{}' is not defined"
    assert ran(read_calls("describe(), list_tickets()"), withheld={"describe"}) == (unknown.format("describe"), "[]")
    calls = [FunctionCall("total", {"numbers": FunctionCall(name, {})}) for name in ("list_tickets", "no_such")]
    assert ran(calls, {4: {}, 5: {}}) == ('{"result": 9}', unknown.format("no_such"))


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


def test_what_a_function_keeps_and_changes_is_not_the_calls_or_the_scenarios_own() -> None:
    box = toolbox()
    opened = box.run(box.start({"TicketDesk": {"random_seed": 3}}), OPEN)
    number = next(iter(opened.state.instances["TicketDesk"].tickets))
    tagged = box.run(opened.state, [FunctionCall("tag_ticket", {"ticket": number, "tag": "urgent"})])
    assert tagged.state.instances["TicketDesk"].tickets[number]["tags"] == ["light", "urgent"]
    assert opened.state.instances["TicketDesk"].tickets[number]["tags"] == OPEN[0].arguments["tags"] == ["light"]
    config: dict[str, Any] = {"TicketDesk": {"tickets": {1: {"title": "x", "tags": []}}}}
    before = copy.deepcopy(config)
    state = box.start(config, long_context=True)
    box.run(state, read_calls("tag_ticket(ticket=1, tag='y')"))
    assert config == before
    public = public_attributes(state.instances["TicketDesk"])
    assert (set(public), len(public["log"])) == ({"tickets", "log"}, 100)


def test_arguments_that_are_too_large_fail_as_a_call_does() -> None:
    values: tuple[tuple[Any, str], ...] = (
        ("x" * (MAX_TEXT + 1), "at most 65536 characters"), (MAX_INTEGER + 1, "must be between"),
        ([1, -MAX_INTEGER - 1], "must be between"), ({"a": float("inf")}, "name 'inf'"), (float("nan"), "name 'nan'"),
    )  # fmt: skip
    for value, said in values:
        (result,) = ran([FunctionCall("open_ticket", {"title": value})])
        assert (result.startswith("Error during execution: "), said in result) == (True, True), said
    for value in ("x" * MAX_TEXT, MAX_INTEGER, -MAX_INTEGER):
        assert ran([FunctionCall("open_ticket", {"title": value})])[0].startswith('{"ticket": ')


def test_precautions_stand_around_a_function() -> None:
    def at_most_two(arguments: dict[str, Any]) -> dict[str, Any]:
        if len(arguments["numbers"]) > 2:
            raise ToolLimit("at most two numbers")
        return {"numbers": [10 * number for number in arguments["numbers"]]}

    around = {"total": Precaution(arguments=at_most_two, result=lambda result: {**result, "checked": True})}
    box = Toolbox({"PlainSums": PlainSums}, precautions=around)
    done = box.run(box.start({}), read_calls("total(numbers=[1, 2]), total(numbers=[1, 2, 3])"))
    assert done.results == ('{"result": 30, "checked": true}', "Error during execution: at most two numbers")


def test_a_copy_has_the_same_shape_shares_nothing_that_changes_and_may_be_deep() -> None:
    desk, shared = TicketDesk(), ["x"]
    desk.tickets = {1: {"tags": shared}, 2: {"tags": shared, "pair": (shared, 1), "set": {1}, "itself": desk}}
    desk.tickets[1]["circle"] = desk.tickets
    new = copied(desk)
    first, second = new.tickets[1], new.tickets[2]
    assert (first["tags"], first["tags"] is shared) == (["x"], False)
    assert first["tags"] is second["tags"] is second["pair"][0]
    assert second["itself"] is new
    assert first["circle"] is new.tickets
    assert (second["set"], second["set"] is desk.tickets[2]["set"]) == ({1}, False)
    assert new._random is not desk._random
    assert new._random.random() == desk._random.random()
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    depth, inner = 0, copied(deep)
    while inner:
        depth, inner = depth + 1, inner[0]
    assert depth == 100_000
    while deep:  # taken apart here: freeing it all at once would be deep as well
        deep = deep[0]
