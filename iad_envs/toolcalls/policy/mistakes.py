"""Mistakes of tool calls, for the solution agent: what models get wrong, each drawn as often as the others."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.policy.rendering import page_of
from iad_envs.toolcalls.responses import read_response
from iad_envs.toolcalls.schemas import properties_of, required_of
from iad_policy.types import State


def wrong_response(state: State, right: str, rng: Random) -> str:
    """Return a wrong response in a state, given the right one.

    In place of calls: another value of an argument, an argument dropped, another function of the offer, a call dropped
    or made twice, or words. In place of words: a call with values that nobody has said.
    """
    documents = {one["name"]: one for one in page_of(state).get("tools", ())}
    calls = list(read_response(right, dots=True).calls)
    if not calls:
        document = rng.choice(list(documents.values())) if documents else {"name": "nothing_such"}
        arguments = {name: _invented(properties_of(document).get(name, {})) for name in required_of(document)}
        return _written([FunctionCall(document["name"], arguments)])
    place = rng.randrange(len(calls))
    wrong = list(_wrong(calls[place], documents, rng))
    ways = [[*calls[:place], one, *calls[place + 1 :]] for one in wrong]
    ways.append([*calls[:place], *calls[place + 1 :]] if len(calls) > 1 else [*calls, *calls])
    words = rng.choice(("That is all done.", "Which one do you mean?", "I can't do this here."))
    return rng.choice([*map(_written, ways), f"reply[{words}]"])


def _wrong(call: FunctionCall, documents: Mapping[str, Mapping[str, Any]], rng: Random) -> Iterator[FunctionCall]:
    """Yield wrong forms of a call, one of each kind that is possible."""
    properties = properties_of(documents.get(call.name, {}))
    if call.arguments:
        name = rng.choice(list(call.arguments))
        value = _other(call.arguments[name], properties.get(name, {}), rng)
        yield FunctionCall(call.name, {**call.arguments, name: value})
        yield FunctionCall(call.name, {key: one for key, one in call.arguments.items() if key != name})
    others = [name for name in documents if name != call.name]
    if others:
        other = rng.choice(others)
        takes = properties_of(documents[other])
        missing = {name: _invented(takes.get(name, {})) for name in required_of(documents[other])}
        yield FunctionCall(other, {**missing, **{key: one for key, one in call.arguments.items() if key in takes}})


def _other(value: Any, schema: Mapping[str, Any], rng: Random) -> Any:
    """Return another value of a type."""
    choices = [one for one in schema.get("enum") or () if one != value]
    if choices:
        return rng.choice(choices)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + rng.choice((-1, 1, 10))
    if isinstance(value, list | tuple):
        return [*value[:-1]] if value else [_invented(schema.get("items") or {})]
    if isinstance(value, str):
        words = value.split()
        return " ".join(words[:-1]) if len(words) > 1 else f"{value}s"
    return None


def _invented(schema: Mapping[str, Any]) -> Any:
    """Return a value that nobody has said."""
    if choices := schema.get("enum"):
        return choices[0]
    by_type: Mapping[str, Any] = {
        **dict.fromkeys(("integer", "int", "float", "number", "double"), 3),
        **dict.fromkeys(("boolean", "bool"), True),
        **dict.fromkeys(("array", "list", "tuple"), ()),
        "dict": {},
        "object": {},
    }
    return by_type.get(str(schema.get("type", "")), "something")


def _written(calls: list[FunctionCall]) -> str:
    return f"[{', '.join(map(str, calls))}]"
