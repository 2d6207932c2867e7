"""Single-turn tasks: one message, some functions, and the calls that serve it, if any do."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from checking import single_faults
from drawing import Draw
from scenarios import written
from story import spoken

SPLITS = {"train": 0.4, "dev": 0.2, "test": 0.4}
"""Shares of the tasks, in the order of their numbers."""
N_TASKS = {
    "simple_python": 40,
    "multiple": 40,
    "parallel": 40,
    "parallel_multiple": 40,
    "irrelevance": 40,
    "live_relevance": 20,
}
WITHOUT_GOLD = ("irrelevance", "live_relevance")
LEADS = {
    2: ("Two things, please. ", "I have two requests. ", ""),
    3: ("Three things, please. ", "I have three requests. ", ""),
}
ATTEMPTS = 200
_NAMED = re.compile(r"{(\w+)}")


class Wording(NamedTuple):
    """A sentence, and the parameters it sets without naming a value."""

    text: str
    sets: Mapping[str, Any] = MappingProxyType({})

    @property
    def named(self) -> set[str]:
        """Return the parameters whose values it says."""
        return set(_NAMED.findall(self.text))


class Request(NamedTuple):
    """What the user asks of a function."""

    name: str
    said: str
    gold: Mapping[str, Any]


class SingleTask(NamedTuple):
    """A task and its gold, as rows of the official files. Without gold it is only looked whether a call comes."""

    entry: Mapping[str, Any]
    gold: Sequence[Mapping[str, Any]] | None


def read_functions() -> list[dict[str, Any]]:
    """Return the functions as they are written down."""
    path = Path(__file__).resolve().parent / "single_functions.toml"
    functions: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["functions"]
    return functions


def single_tasks(seed: int) -> Iterator[tuple[str, list[SingleTask]]]:
    """Yield each category's tasks."""
    functions = read_functions()
    for category, n in N_TASKS.items():
        yield category, [_accepted(functions, category, number, n, seed) for number in range(n)]


def _accepted(functions: Sequence[Mapping[str, Any]], category: str, number: int, n: int, seed: int) -> SingleTask:
    split, place = _split(number, n)
    own = [one for one in functions if one["split"] == split]
    # Every function once, before one comes again.
    order = Draw(seed, category, split, "order", place // len(own)).some(own, len(own))
    for attempt in range(ATTEMPTS):
        draw = Draw(seed, category, number, attempt)
        requests, offered = KINDS[category](order[place % len(own)], own, draw)
        lead = draw.one(LEADS[len(requests)]) if category == "parallel_multiple" else ""
        entry = {
            "id": f"{category}_{number}-{number}-0" if category.startswith("live") else f"{category}_{number}",
            "question": [[{"role": "user", "content": lead + " ".join(one.said for one in requests)}]],
            "function": [document(one) for one in draw.some(offered, len(offered))],
            "split": split,
            "difficulty": "easy" if len(requests) == 1 and category != "irrelevance" else "hard",
        }
        gold = [{one.name: one.gold} for one in requests]
        if category == "irrelevance" or not list(single_faults(entry, gold)):
            return SingleTask(entry, None if category in WITHOUT_GOLD else gold)
    raise SystemExit(f"no task was found for {category}_{number}; change the seed or the functions")


def _split(number: int, n: int) -> tuple[str, int]:
    """Return the split of the n-th task, and its number there."""
    start = 0
    for split, share in SPLITS.items():
        size = round(share * n)
        if number < start + size:
            return split, number - start
        start += size
    raise ValueError(f"expected a number below {n}, got {number}")


def _one(function: Mapping[str, Any], own: Sequence[Mapping[str, Any]], draw: Draw) -> Any:
    return [request(function, draw)], [function]


def _one_of_several(function: Mapping[str, Any], own: Sequence[Mapping[str, Any]], draw: Draw) -> Any:
    return [request(function, draw)], [function, *draw.some(_near(function, own), draw.integer((2, 3)))]


def _repeated(function: Mapping[str, Any], own: Sequence[Mapping[str, Any]], draw: Draw) -> Any:
    return repeated(function, draw.integer((2, 3)), draw), [function]


def _several(function: Mapping[str, Any], own: Sequence[Mapping[str, Any]], draw: Draw) -> Any:
    others = draw.some([one for one in own if one is not function], 3)
    if draw.chance(0.35):
        return [*repeated(function, 2, draw), request(others[0], draw)], [function, *others]
    wanted = [function, *others[: draw.integer((1, 2))]]
    return [request(one, draw) for one in wanted], [function, *others]


def _none_of_these(function: Mapping[str, Any], own: Sequence[Mapping[str, Any]], draw: Draw) -> Any:
    near = _near(function, own) if draw.chance(0.7) else [one for one in own if _topic(one) != _topic(function)]
    return [request(function, draw)], draw.some(near, draw.integer((1, 3)))


KINDS: Mapping[str, Callable[..., Any]] = {
    "simple_python": _one,
    "multiple": _one_of_several,
    "parallel": _repeated,
    "parallel_multiple": _several,
    "irrelevance": _none_of_these,
    "live_relevance": _one_of_several,
}
"""What is asked, and which functions are offered."""


def _topic(function: Mapping[str, Any]) -> str:
    return str(function["name"]).partition(".")[0]


def _near(function: Mapping[str, Any], own: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the other functions of the same topic."""
    return [one for one in own if _topic(one) == _topic(function) and one is not function]


def request(function: Mapping[str, Any], draw: Draw) -> Request:
    """Draw a request."""
    wording = draw.one([_wording(one) for one in function["says"]])
    return _request(function, wording, _values(function, wording, draw))


def repeated(function: Mapping[str, Any], n: int, draw: Draw) -> list[Request]:
    """Draw a request, and the same once more, or twice, with other values."""
    again = _wording(draw.one(function["again"]))
    firsts = [one for one in map(_wording, function["says"]) if not one.sets and one.named <= again.named]
    wordings = [draw.one(firsts), *[again] * (n - 1)]
    return [_request(function, wording, _values(function, wording, draw)) for wording in wordings]


def _wording(written_down: str | Mapping[str, Any]) -> Wording:
    return Wording(written_down) if isinstance(written_down, str) else Wording(**written_down)


def _values(function: Mapping[str, Any], wording: Wording, draw: Draw) -> dict[str, Any]:
    """Draw the values that a sentence says. A text with several ways to write it is a list."""
    return {name: draw.one(function["parameters"][name]["values"]) for name in _NAMED.findall(wording.text)}


def _request(function: Mapping[str, Any], wording: Wording, values: Mapping[str, Any]) -> Request:
    parameters = function["parameters"]
    said = wording.text.format(**{name: _said(parameters[name], value) for name, value in values.items()})
    gold = {
        name: _alternatives(one, values[name]) if name in values else _unsaid(one, wording.sets.get(name))
        for name, one in parameters.items()
    }
    return Request(function["name"], said[0].upper() + said[1:], gold)


def _said(parameter: Mapping[str, Any], value: Any) -> str:
    """Return how a value is said."""
    if parameter["type"] == "date":
        return spoken(value)
    if parameter["type"] == "array":
        return f"{', '.join(map(str, value[:-1]))} and {value[-1]}"
    if parameter["type"] == "dict":
        return str(parameter["joined"]).join(map(str, value.values()))
    return written(value[0] if isinstance(value, list) else value)


def _alternatives(parameter: Mapping[str, Any], value: Any) -> list[Any]:
    """Return what counts as a value."""
    if parameter["type"] == "dict":
        return [{name: [one] for name, one in value.items()}]
    return list(value) if isinstance(value, list) and parameter["type"] == "string" else [value]


def _unsaid(parameter: Mapping[str, Any], value: Any) -> list[Any]:
    """Return what counts as a value that is not named: the one that the wording sets, or the default, or none."""
    return [parameter["default"], ""] if value is None else [value]


def document(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's document in the official form."""
    parameters = function["parameters"]
    return {
        "name": function["name"],
        "description": function["description"],
        "parameters": {
            "type": "dict",
            "properties": {name: _schema(one) for name, one in parameters.items()},
            "required": [name for name, one in parameters.items() if "default" not in one],
        },
    }


def _schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    kind = "string" if parameter["type"] == "date" else parameter["type"]
    schema: dict[str, Any] = {"type": kind, "description": parameter["description"]}
    if "items" in parameter:
        schema["items"] = {"type": parameter["items"]}
    if "properties" in parameter:
        schema["properties"] = {
            name: {"type": inner, "description": f"{name.capitalize()}."}
            for name, inner in parameter["properties"].items()
        }
        schema["required"] = list(parameter["properties"])
    if "enum" in parameter:
        schema["enum"] = parameter["enum"]
    if "default" in parameter:
        schema["description"] += f" Defaults to {parameter['default']!r}."
        schema["default"] = parameter["default"]
    return schema
