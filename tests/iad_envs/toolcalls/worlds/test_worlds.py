import inspect
import json
import math
from typing import Any, Literal, get_args, get_origin

import pytest

from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, WORLD_NAMES, world
from iad_envs.toolcalls.worlds.functions import complaint

N_FUNCTIONS = {"Library": 10, "Greenhouse": 10, "Notebook": 10, "Parcels": 10, "Mail": 8, "Units": 8}
N_ON_PHONE = {"Phone": 5, "Messages": 12, "Reminders": 11, "Takeaway": 11, "Trips": 11}
"""With the five that the apps inherit."""
EVERY = (*WORLD_NAMES, *ACE_WORLD_NAMES)
LASTING = {"cancel_reservation", "pay_fine", "harvest_planting", "remove_note", "pay_parcel", "cancel_parcel"} | {
    "send_draft",
    "reply_mail",
}
LASTING_ON_PHONE = {"write_message", "answer_message", "remove_message", "remove_reminder", "book_seats"} | {
    "order_dish",
    "cancel_dish",
    "put_money",
    "cancel_seats",
}
STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**16, 1.5, math.nan, math.inf, -math.inf, "", "..", "/", "x" * 70_000, "\0", "\ud800"),
    *([], [[]], [None], {}, {"a": 1}, (), object(), float, b"x"),
)
TYPES = {"string", "integer", "float", "boolean", "array"}


def test_56_functions_and_no_name_twice() -> None:
    names = [one["name"] for name in WORLD_NAMES for one in world(name).documents]
    assert {name: len(world(name).documents) for name in WORLD_NAMES} == N_FUNCTIONS
    assert len(set(names)) == len(names) == 56


def test_30_functions_on_the_phone_and_no_other_has_their_names() -> None:
    assert {name: len(world(name).documents) for name in ACE_WORLD_NAMES} == N_ON_PHONE
    names = {one["name"] for name in ACE_WORLD_NAMES for one in world(name).documents}
    assert len(names) == 30
    assert not names & {one["name"] for name in WORLD_NAMES for one in world(name).documents}


def test_what_lasts() -> None:
    assert set().union(*(world(name).lasting for name in WORLD_NAMES)) == LASTING
    assert set().union(*(world(name).lasting for name in ACE_WORLD_NAMES)) == LASTING_ON_PHONE


def test_an_unknown_world_lists_the_known_ones() -> None:
    with pytest.raises(LookupError, match="use one of Library"):
        world("Bakery")


@pytest.mark.parametrize("name", EVERY)
def test_documents_are_as_the_official_ones(name: str) -> None:
    for one in world(name).documents:
        assert json.loads(json.dumps(one)) == one
        assert list(one) == ["name", "description", "parameters", "response"]
        assert one["parameters"]["type"] == one["response"]["type"] == "dict"
        properties = one["parameters"]["properties"]
        assert set(one["parameters"]["required"]) == {
            key for key, value in properties.items() if "default" not in value
        }
        for value in properties.values():
            assert value["type"] in TYPES
            assert value["description"].endswith(".")
            if "enum" in value and "default" in value:
                assert value["default"] in value["enum"]
        for value in one["response"]["properties"].values():
            assert value["type"] in TYPES | {"dict"}
            assert value["description"]


@pytest.mark.parametrize("name", EVERY)
def test_nothing_that_is_passed_raises(name: str) -> None:
    one = world(name)
    state = one.load({})
    for document in one.documents:
        parameters = document["parameters"]["properties"]
        for value in STRANGE:
            for arguments in (dict.fromkeys(parameters, value), {"nonsense": value}, {}):
                after, result = one.call(state, document["name"], arguments)
                assert isinstance(result, dict)
                assert after is state or "error" not in result


@pytest.mark.parametrize("name", EVERY)
def test_an_unknown_function_is_an_error(name: str) -> None:
    one = world(name)
    state = one.load({})
    for function_name in ("nonsense", "__init__", "load", "call", "documents"):
        assert one.call(state, function_name, {}) == (state, {"error": f"{name} has no function {function_name}."})


@pytest.mark.parametrize("name", [name for name in WORLD_NAMES if name != "Units"])
def test_a_long_context_is_bulky_and_the_same_each_time(name: str) -> None:
    one = world(name)
    short, long = (one.public(one.load({}, long_context=is_long)) for is_long in (False, True))
    assert sum(len(long[key]) - len(short[key]) for key in short if isinstance(short[key], tuple)) >= 200
    assert long == one.public(one.load({}, long_context=True))


def test_a_state_is_hashable_and_so_can_not_change() -> None:
    for name in EVERY:
        hash(world(name).load({}, long_context=True))


def test_arguments_are_checked_by_the_document() -> None:
    parameters = {
        "type": "dict",
        "properties": {"count": {"type": "integer"}, "kind": {"type": "string", "enum": ["a", "b"]}},
        "required": ["count"],
    }
    assert complaint(parameters, {"count": 1}) == ""
    assert complaint(parameters, {}) == "count is missing."
    assert complaint(parameters, {"count": True}).startswith("count must be a whole number")
    assert complaint(parameters, {"count": 1.0}).startswith("count must be a whole number")
    assert complaint(parameters, {"count": 1, "kind": "c"}) == "kind must be one of a, b."
    assert complaint(parameters, {"count": 1, "size": 2}) == "There is no parameter size; expected count, kind."


@pytest.mark.parametrize("name", EVERY)
def test_a_document_has_the_parameters_of_its_function(name: str) -> None:
    """In order, with the same defaults, and with the choices of a `Literal`."""
    one = world(name)
    for document in one.documents:
        method = inspect.getattr_static(type(one), document["name"])
        own = [*inspect.signature(method).parameters.values()][2:]
        properties = document["parameters"]["properties"]
        assert [parameter.name for parameter in own] == list(properties)
        for parameter in own:
            described = properties[parameter.name]
            assert described.get("default", inspect.Parameter.empty) == parameter.default
            if get_origin(parameter.annotation) is Literal:
                assert described["enum"] == list(get_args(parameter.annotation))


@pytest.mark.parametrize("name", EVERY)
def test_descriptions_name_no_other_function(name: str) -> None:
    one = world(name)
    for document in one.documents:
        method = inspect.getattr_static(type(one), document["name"])
        assert method.__doc__
        assert "_" not in document["description"]
