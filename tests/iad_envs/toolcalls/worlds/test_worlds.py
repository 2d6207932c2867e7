"""The worlds: their documents, and what each function answers and refuses, as the scripts in `scripts.toml` say."""

import inspect
import json
import math
import tomllib
from ast import literal_eval as literal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

from iad_envs.toolcalls.calls import read_calls
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, WORLD_NAMES, world

EVERY = (*WORLD_NAMES, *ACE_WORLD_NAMES)
STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**16, 1.5, math.nan, math.inf, -math.inf, "", "..", "/", "x" * 70_000, "\0", "\ud800"),
    *([], [[]], [None], {}, {"a": 1}, (), object(), float, b"x"),
)
TYPES = {"string", "integer", "float", "boolean", "array"}


COUNTS = {
    WORLD_NAMES: {"Library": 10, "Greenhouse": 10, "Notebook": 10, "Parcels": 10, "Mail": 8, "Units": 8},
    # With the phone's five.
    ACE_WORLD_NAMES: {"Phone": 5, "Messages": 12, "Reminders": 11, "Takeaway": 11, "Trips": 11},
}
LASTING = {
    WORLD_NAMES: "cancel_reservation pay_fine harvest_planting remove_note pay_parcel cancel_parcel "
    "send_draft reply_mail",
    ACE_WORLD_NAMES: "write_message answer_message remove_message remove_reminder order_dish cancel_dish put_money "
    "book_seats cancel_seats",
}


@pytest.mark.parametrize(("worlds", "n_names"), [(WORLD_NAMES, 56), (ACE_WORLD_NAMES, 30)])
def test_functions_have_names_of_their_own_and_some_last(worlds: tuple[str, ...], n_names: int) -> None:
    assert {name: len(world(name).documents) for name in worlds} == COUNTS[worlds]
    names = {one["name"] for name in worlds for one in world(name).documents}
    assert len(names) == n_names
    assert not names & {one["name"] for name in EVERY if name not in worlds for one in world(name).documents}
    assert set().union(*(world(name).lasting for name in worlds)) == set(LASTING[worlds].split())


@pytest.mark.parametrize("name", EVERY)
def test_documents_are_as_the_official_ones_and_have_the_parameters_of_their_functions(name: str) -> None:
    """In order, with the same defaults, and with the choices of a `Literal`. No description names another function."""
    for document in world(name).documents:
        assert json.loads(json.dumps(document)) == document
        assert list(document) == ["name", "description", "parameters", "response"]
        parameters, response = document["parameters"], document["response"]
        assert ("_" in document["description"], parameters["type"], response["type"]) == (False, "dict", "dict")
        assert all(
            value["type"] in TYPES | {"dict"} and value["description"] for value in response["properties"].values()
        )
        properties = parameters["properties"]
        assert set(parameters["required"]) == {key for key, value in properties.items() if "default" not in value}
        method = inspect.getattr_static(type(world(name)), document["name"])
        assert method.__doc__
        own = [*inspect.signature(method).parameters.values()][2:]
        assert [parameter.name for parameter in own] == list(properties)
        for parameter, value in zip(own, properties.values(), strict=True):
            assert (value["type"] in TYPES, value["description"][-1]) == (True, ".")
            assert value.get("default", inspect.Parameter.empty) == parameter.default
            assert value.get("default") in value.get("enum", (value.get("default"),)) or "default" not in value
            if get_origin(parameter.annotation) is Literal:
                assert value["enum"] == list(get_args(parameter.annotation))


@pytest.mark.parametrize("name", EVERY)
def test_nothing_that_is_passed_raises_and_an_unknown_function_is_an_error(name: str) -> None:
    one = world(name)
    state = one.load({})
    for document in one.documents:
        parameters = document["parameters"]["properties"]
        for value in STRANGE:
            for arguments in (dict.fromkeys(parameters, value), {"nonsense": value}, {}):
                after, result = one.call(state, document["name"], arguments)
                assert isinstance(result, dict)
                assert after is state or "error" not in result
    one = world(name)
    state = one.load({}, long_context=True)
    hash(state)
    for function_name in ("nonsense", "__init__", "load", "call", "documents"):
        assert one.call(state, function_name, {}) == (state, {"error": f"{name} has no function {function_name}."})
    with pytest.raises(LookupError, match="use one of Library"):
        world("Bakery")


@pytest.mark.parametrize("name", [name for name in WORLD_NAMES if name != "Units"])
def test_a_long_context_is_bulky_and_the_same_each_time(name: str) -> None:
    one = world(name)
    short, long = (one.public(one.load({}, long_context=is_long)) for is_long in (False, True))
    assert sum(len(long[key]) - len(short[key]) for key in short if isinstance(short[key], tuple)) >= 200
    assert long == one.public(one.load({}, long_context=True))


FILE = tomllib.loads(Path(__file__).with_name("scripts.toml").read_text(encoding="utf-8"))
SCRIPTS = {f"{name}: {one['about']}": (name, one) for one in FILE["script"] for name in one["worlds"]}
READING = (
    *("find_", "inspect_", "count_", "read_", "describe_", "list_", "search_", "show_", "quote_", "track_", "check_"),
    *("convert_", "total_", "average_", "percent_", "days_"),
)
"""How the names of functions begin that change nothing."""


def is_part(wanted: Any, found: Any) -> bool:
    """Whether everything that is wanted is there. Lists have the same length; of dicts some keys may be wanted."""
    if isinstance(wanted, Mapping):
        found = found._asdict() if hasattr(found, "_asdict") else found
        return isinstance(found, Mapping) and all(
            key in found and is_part(value, found[key]) for key, value in wanted.items()
        )
    if isinstance(wanted, list):
        return len(wanted) == len(found) and all(map(is_part, wanted, found))
    return type(wanted) is type(found) and bool(wanted == found)


@pytest.mark.parametrize("title", SCRIPTS)
def test_each_call_is_answered_or_refused(title: str) -> None:
    name, script = SCRIPTS[title]
    here = world(name)
    first = {**FILE["start"].get(script.get("start"), {}), **script.get("also", {})}
    state = here.load(first, long_context=False)
    for line in script["calls"].splitlines():
        text, _, reason = line.partition(" ! ")
        text, _, result_text = text.partition(" -> ")
        if line == "AGAIN":
            state = here.load(first, long_context=False)
        elif not text:
            assert is_part(literal(result_text), here.public(state)), (line, here.public(state))
            assert "4821" not in str(here.public(state)), "the PIN is not public"
        else:
            (call,) = read_calls(text.replace("LONG", repr("x" * 20_000)))
            after, result = here.call(state, call.name, call.arguments)
            if reason:
                assert (set(result), after is state) == ({"error"}, True), (line, result)
                assert reason in result["error"], (line, result)
            else:
                assert "error" not in result, (line, result)
                assert is_part(literal(result_text), result), (line, result)
                assert after == state or not text.startswith(READING), line
            state = after


def test_inherited_functions_keep_their_documents() -> None:
    own = world("Phone").documents
    for name in ACE_WORLD_NAMES:
        assert world(name).documents[: len(own)] == own
