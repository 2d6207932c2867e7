"""Mistakes of tool calls: what models get wrong, each drawn as often as the others, and what functions refuse."""

from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.policy.rendering import offered, page_of
from iad_envs.toolcalls.responses import read_response
from iad_envs.toolcalls.schemas import properties_of, required_of
from iad_policy.types import State

NEXT_DIGIT = str.maketrans("0123456789", "1234567890")


def wrong_response(state: State, right: str, rng: Random) -> str:
    """Return a wrong response in a state, given the right one.

    In place of calls: another value of an argument, an argument dropped, another function of the offer, a call dropped
    or made twice, or words. In place of words: a call with values that nobody has said.
    """
    documents = {one["name"]: one for one in page_of(state).get("tools", ())}
    calls = list(read_response(right, dots=True).calls)
    if not calls:
        return _written([_made_up(rng.choice(list(documents.values())) if documents else {"name": "nothing_such"})])
    place = rng.randrange(len(calls))
    wrong = list(_wrong(calls[place], documents, rng))
    ways = [[*calls[:place], one, *calls[place + 1 :]] for one in wrong]
    ways.append([*calls[:place], *calls[place + 1 :]] if len(calls) > 1 else [*calls, *calls])
    words = rng.choice(("That is all done.", "Which one do you mean?", "I can't do this here."))
    return rng.choice([*map(_written, ways), f"reply[{words}]"])


def failing_responses(state: State, action: str) -> Iterator[str]:
    """Yield responses that should fail, made from one that was proposed and the documents of the functions.

    For each of its calls: another name of the function, each argument dropped, one that is not documented, and each
    argument with a value of another type, one outside of its choices, and one that no object has (0, below 0, huge; a
    name or an id that nobody has said). Then each other function of the offer with values that nobody has said.
    """
    documents = {one["name"]: one for one in offered([*state.history, state])}
    calls = list(read_response(action, dots=True).calls)
    for place, call in enumerate(calls):
        for wrong in _refused(call, properties_of(documents.get(call.name, {}))):
            yield _written([*calls[:place], wrong, *calls[place + 1 :]])
    for name, document in documents.items():
        if name not in {call.name for call in calls}:
            yield _written([_made_up(document)])


def _refused(call: FunctionCall, properties: Mapping[str, Any]) -> Iterator[FunctionCall]:
    yield FunctionCall(f"{call.name}s", call.arguments)
    yield FunctionCall(call.name, {**call.arguments, "nothing_such": 1})
    for name, value in call.arguments.items():
        yield FunctionCall(call.name, {key: one for key, one in call.arguments.items() if key != name})
        others: list[Any] = [3, "nothing such"] if properties.get(name, {}).get("enum") else []
        if isinstance(value, int | float) and not isinstance(value, bool):
            others += ["three", 0, -value, 10**6]
        elif isinstance(value, str):
            others += [3, f"{value}s", "", value.translate(NEXT_DIGIT)]
        else:
            others += ["nothing such"]
        for other in others:
            if other != value:
                yield FunctionCall(call.name, {**call.arguments, name: other})


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
        other = documents[rng.choice(others)]
        kept = {key: one for key, one in call.arguments.items() if key in properties_of(other)}
        yield FunctionCall(other["name"], {**_made_up(other).arguments, **kept})


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


def _made_up(document: Mapping[str, Any]) -> FunctionCall:
    """Return a call of a function with values that nobody has said."""
    takes = properties_of(document)
    return FunctionCall(document["name"], {name: _invented(takes.get(name, {})) for name in required_of(document)})


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
