"""The worlds: their documents, and what each function answers and refuses, as the scripts in `scripts.toml` say."""

import math
import tomllib
from ast import literal_eval as literal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from iad_envs.toolcalls.calls import read_calls
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, WORLD_NAMES, world

EVERY = (*WORLD_NAMES, *ACE_WORLD_NAMES)
STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 10**16, 1.5, math.nan, math.inf, -math.inf, "", "..", "/", "x" * 70_000, "\0", "\ud800"),
    *([], [[]], [None], {}, {"a": 1}, (), object(), float, b"x"),
)
LASTING = {
    WORLD_NAMES: "cancel_reservation pay_fine harvest_planting remove_note pay_parcel cancel_parcel "
    "send_draft reply_mail",
    ACE_WORLD_NAMES: "write_message answer_message remove_message remove_reminder order_dish cancel_dish put_money "
    "book_seats cancel_seats",
}


def test_functions_have_names_of_their_own_and_some_last() -> None:
    """Their documents are compared with the data's, see `test_bundled_tasks.py`."""
    for worlds, n_names in ((WORLD_NAMES, 56), (ACE_WORLD_NAMES, 30)):
        assert len({one["name"] for name in worlds for one in world(name).documents}) == n_names
        assert set().union(*(world(name).lasting for name in worlds)) == set(LASTING[worlds].split())


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
READS = "average check convert count days describe find inspect list percent quote read search show total track"
"""How the names of functions begin that change nothing."""


def is_part(wanted: Any, found: Any) -> bool:
    """Whether everything that is wanted is there. Lists have the same length; of dicts some keys may be wanted."""
    if isinstance(wanted, Mapping):
        found = found._asdict() if hasattr(found, "_asdict") else found
        return wanted.keys() <= found.keys() and all(is_part(value, found[key]) for key, value in wanted.items())
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
                assert after == state or text.partition("_")[0] not in READS.split(), line
            state = after
