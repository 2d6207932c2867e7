"""What each function of each world answers, and what it refuses: the scripts of calls in `scripts.toml`."""

import tomllib
from ast import literal_eval as literal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from iad_envs.toolcalls.calls import read_calls
from iad_envs.toolcalls.worlds import ACE_WORLD_NAMES, world

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
