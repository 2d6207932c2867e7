"""Normal and special tasks: a request, or a dialogue, and functions that serve it, or do not."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from ace_checking import RELATIVE, as_json, faults
from agent_tasks import AceRecord, placeholders, read
from drawing import Draw
from scenarios import written
from story import spoken

from iad_envs.toolcalls.acebench.checkout import NORMAL, SPECIAL
from iad_envs.toolcalls.calls import FunctionCall

WRITTEN: Mapping[str, Any] = tomllib.loads(
    (Path(__file__).resolve().parent / "functions.toml").read_text(encoding="utf-8")
)
FUNCTIONS: Sequence[Mapping[str, Any]] = WRITTEN["functions"]
TALK: Mapping[str, Sequence[str]] = WRITTEN["talk"]
SPLITS = ("train", "dev", "test")
N_NORMAL = (4, 2, 4)
"""Tasks of a normal category in each split."""
N_SPECIAL = (8, 4, 8)
N_TURNS = 2
"""Of a dialogue."""
RELATIVE_SHARE = 0.5
"""Of the days in single-turn tasks, said as `tomorrow`."""
TIME_SHARE = 0.3
"""Of the other tasks, which tell the time, too."""
ASKED_SHARE = 0.5
"""Of the dialogues about a changed wish that begin with a question."""
ATTEMPTS = 200


class AceSaying(NamedTuple):
    """A sentence, and the parameters it sets without naming a value, or from the user's profile."""

    text: str
    sets: Mapping[str, Any]
    profile: Mapping[str, str]


class AceRequest(NamedTuple):
    """What is asked of a function.

    Attributes:
        is_relative: Whether a day is said by its distance from today.
    """

    function: Mapping[str, Any]
    said: str
    arguments: Mapping[str, Any]
    named: tuple[str, ...]
    is_relative: bool = False

    @property
    def call(self) -> str:
        """The call as an answer has it."""
        return f"[{FunctionCall(self.function['name'], self.arguments)}]"

    @property
    def is_deep(self) -> bool:
        """Whether a value is a dictionary, or holds one."""
        return any('{"' in json.dumps(value) for value in self.arguments.values())


class DrawnTask(NamedTuple):
    """A task before it is written down: its parts, and the gold."""

    question: str
    offered: Sequence[Mapping[str, Any]]
    truth: Any
    difficulty: str
    more: Mapping[str, str] = {}


Maker = Callable[[str, str, int, Draw], DrawnTask]


def function_tasks(seed: int) -> Iterator[tuple[str, list[AceRecord]]]:
    """Yield each normal and special category's tasks."""
    for category in (*NORMAL, *SPECIAL):
        if "multi_turn" in category:
            yield category, list(_dialogues(seed, category))
            continue
        sizes = N_SPECIAL if category in SPECIAL else N_NORMAL
        places = [(split, place) for split, n in zip(SPLITS, sizes, strict=True) for place in range(n)]
        seen = set[str]()
        yield category, [_accepted(seed, category, number, *one, seen) for number, one in enumerate(places)]


def _accepted(seed: int, category: str, number: int, split: str, place: int, seen: set[str]) -> AceRecord:
    """Return the first drawn task that nothing is wrong with. What was asked before is not asked again."""
    maker = MAKERS.get(category, _atom)
    for attempt in range(ATTEMPTS):
        drawn = maker(category, split, place, Draw(seed, category, number, attempt))
        record = _record(f"{category}_{number}", category, split, drawn)
        words = f"{drawn.question}{drawn.more.get('profile')}"
        if words not in seen and not faults(*read(record, category)):
            seen.add(words)
            return record
    raise SystemExit(f"no task was found for {category}_{number}; change the seed or the functions")


def _record(task_id: str, category: str, split: str, drawn: DrawnTask) -> AceRecord:
    entry: dict[str, Any] = {
        "id": task_id,
        "question": drawn.question,
        "function": [document(one) for one in drawn.offered],
        **drawn.more,
    }
    entry |= {"split": split, "difficulty": drawn.difficulty}
    return AceRecord(as_json(entry), as_json({"id": task_id, "ground_truth": drawn.truth}))


def _one(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw a request and some functions."""
    return _single(request(_turn_of(own(split), place, draw), draw), split, draw, (1, 2))


def _atom(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw a request with a value of the category's kind."""
    fits = ATOMS[category.removeprefix("normal_atom_")]
    here = [(one, says) for one in own(split) for says in _sayings(one, "says") if fits(one, says)]
    names = list(dict.fromkeys(one["name"] for one, _ in here))
    name = names[place % len(names)]
    function, says = draw.one([one for one in here if one[0]["name"] == name])
    return _single(request(function, draw, says), split, draw, (2, 4))


def _single(asked: AceRequest, split: str, draw: Draw, n_others: tuple[int, int]) -> DrawnTask:
    others = draw.some(_unlike([asked.function], split), draw.integer(n_others))
    difficulty = "hard" if asked.is_relative else "medium" if asked.is_deep else "easy"
    offered = draw.some([asked.function, *others], 1 + len(others))
    more = _time_of(asked, draw)
    return DrawnTask(f"user: {asked.said}\n", offered, _truth([asked]), difficulty, more)


def _parallel(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw several requests, of one function or of different ones."""
    first = _turn_of(own(split), place, draw)
    n_calls = draw.integer((2, 3))
    functions = [first] * n_calls if draw.chance(0.4) else [first, *draw.some(_unlike([first], split), n_calls - 1)]
    asked = [request(one, draw, is_absolute=True) for one in functions]
    others = draw.some(_unlike(functions, split), 1)
    kinds = list({one["name"]: one for one in [*functions, *others]}.values())
    question = "user: " + " ".join(one.said for one in asked) + "\n"
    return DrawnTask(question, draw.some(kinds, len(kinds)), _truth(asked), "hard")


def _similar(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw a request of a function that is easily taken for another one."""
    function = _turn_of([one for one in own(split) if "near" in one], place, draw)
    asked = request(function, draw, is_absolute=True)
    near = next(one for one in own(split) if one["name"] == function["near"])
    offered = [function, near, *draw.some(_unlike([function], split), draw.integer((0, 1)))]
    return DrawnTask(f"user: {asked.said}\n", draw.some(offered, len(offered)), _truth([asked]), "medium")


def _preference(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw a request with values that only the user's profile tells."""
    function = _turn_of([one for one in own(split) if "prefers" in one], place, draw)
    profile = draw.one([one for one in WRITTEN["profiles"] if one["split"] == split])
    says = draw.one(_sayings(function, "prefers"))
    known = {name: profile["values"][key] for name, key in says.profile.items()}
    asked = request(function, draw, says._replace(sets=known), is_absolute=True)
    others = draw.some(_unlike([function], split), draw.integer((1, 3)))
    shown = {"basic_features": profile["values"], "user_history": profile["history"]}
    more = {"profile": json.dumps(shown)}
    offered = draw.some([function, *others], 1 + len(others))
    return DrawnTask(f"user: {asked.said}\n", offered, _truth([asked]), "hard", more)


def _dialogues(seed: int, category: str) -> Iterator[AceRecord]:
    """Yield the turns of each dialogue."""
    number = 0
    for split, n in zip(SPLITS, N_NORMAL, strict=True):
        for _ in range(n // N_TURNS):
            yield from _dialogue(seed, category, number, split)
            number += 1


def _dialogue(seed: int, category: str, number: int, split: str) -> list[AceRecord]:
    for attempt in range(ATTEMPTS):
        draw = Draw(seed, category, number, attempt)
        turns = (_switched if category.endswith("switch") else _adjusted)(split, number, draw)
        records = [_record(f"{category}_{number}_{turn}", category, split, one) for turn, one in enumerate(turns)]
        if records and not any(faults(*read(record, category)) for record in records):
            return records
    raise SystemExit(f"no dialogue was found for {category}_{number}; change the seed or the functions")


def _switched(split: str, number: int, draw: Draw) -> list[DrawnTask]:
    """Draw a dialogue in which the user goes on to something else."""
    first = _turn_of(own(split), 3 * number, draw)
    second = draw.one(_unlike([first], split))
    opening, later = (request(one, draw, is_absolute=True) for one in (first, second))
    begun = f"user: {opening.said}\n"
    said = draw.one(TALK["switch"]).format(request=later.said)
    return _turns([(begun, opening), (f"user: {said}\n", later)], split, draw)


def _adjusted(split: str, number: int, draw: Draw) -> list[DrawnTask]:
    """Draw a dialogue in which the user changes a value, at times after the system had to ask for one.

    It has no turns where the request has no value that is said in a few words.
    """
    is_asked = draw.chance(ASKED_SHARE)
    here = [one for one in own(split) if "lacks" in one] if is_asked else own(split)
    function = _turn_of(here, number, draw)
    says = draw.one(_sayings(function, "lacks" if is_asked else "says"))
    opening = request(function, draw, says, is_absolute=True)
    begun = f"user: {opening.said}\n"
    if is_asked:
        missing = lacking(function, opening)
        values = {name: draw.one(function["parameters"][name]["values"]) for name in missing}
        names = " and the ".join(name.replace("_", " ") for name in missing)
        given = " and ".join(said(function["parameters"][name], value) for name, value in values.items())
        begun += f"system: {draw.one(TALK['asks']).format(names=names)}\n"
        begun += f"user: {draw.one(TALK['gives']).format(value=given)}\n"
        opening = opening._replace(arguments=_in_order(function, {**opening.arguments, **values}))
    changeable = [name for name in opening.arguments if _may_change(function["parameters"][name])]
    if not changeable:
        return []
    name = draw.one(changeable)
    parameter, old = function["parameters"][name], opening.arguments[name]
    new = draw.one([value for value in parameter["values"] if value != old])
    text = draw.one(TALK["adjust"]).format(new=said(parameter, new), old=said(parameter, old))
    later = opening._replace(arguments={**opening.arguments, name: new})
    return _turns([(begun, opening), (f"user: {text}\n", later)], split, draw)


def _turns(parts: Sequence[tuple[str, AceRequest]], split: str, draw: Draw) -> list[DrawnTask]:
    """Return the tasks of a dialogue's turns: each has all that was said before, calls included."""
    functions = list({one.function["name"]: one.function for _, one in parts}.values())
    others = draw.some(_unlike(functions, split), draw.integer((1, 2)))
    offered = draw.some([*functions, *others], len(functions) + len(others))
    tasks, before = [], ""
    for turn, (text, asked) in enumerate(parts):
        is_easy = turn == 0 and text.count("\n") == 1
        tasks.append(DrawnTask(before + text, offered, _truth([asked]), "easy" if is_easy else "hard"))
        before += f"{text}system: {asked.call}\nsystem: {draw.one(TALK['done'])}\n"
    return tasks


def _incomplete(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw a request that lacks what a function needs."""
    function = _turn_of([one for one in own(split) if "lacks" in one], place, draw)
    asked = request(function, draw, draw.one(_sayings(function, "lacks")), is_absolute=True)
    missing = lacking(function, asked)
    others = draw.some(_unlike([function], split), draw.integer((0, 2)))
    offered = draw.some([function, *others], 1 + len(others))
    difficulty = "easy" if len(missing) == 1 and not others else "medium" if len(missing) == 1 else "hard"
    more = _time_of(asked, draw)
    return DrawnTask(f"user: {asked.said}\n", offered, {function["name"]: missing}, difficulty, more)


def _error_param(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw a request with a value that the function's description rules out."""
    here = [
        (one, name)
        for one in own(split)
        for name, parameter in one["parameters"].items()
        if "wrong" in parameter and any(name in placeholders(says.text) for says in _sayings(one, "says"))
    ]
    function, name = here[place % len(here)]
    says = draw.one([one for one in _sayings(function, "says") if name in placeholders(one.text)])
    value = draw.one(function["parameters"][name]["wrong"])
    asked = request(function, draw, says, is_absolute=True, fixed={name: value})
    others = draw.some(_unlike([function], split), draw.integer((0, 2)))
    offered = draw.some([function, *others], 1 + len(others))
    difficulty = "hard" if others else "medium"
    return DrawnTask(f"user: {asked.said}\n", offered, {name: [written(value)]}, difficulty, _time_of(asked, draw))


def _irrelevant(category: str, split: str, place: int, draw: Draw) -> DrawnTask:
    """Draw a request that none of the functions serves."""
    function = _turn_of(own(split), place, draw)
    asked = request(function, draw, is_absolute=True)
    is_same_topic = draw.chance(0.5)
    here = [one for one in _unlike([function], split) if (topic(one) == topic(function)) is is_same_topic]
    offered = draw.some(here, draw.integer((1, 3)))
    answer = "Due to the limitations of the function, I cannot solve this problem."
    difficulty = "hard" if is_same_topic else "easy"
    return DrawnTask(f"user: {asked.said}\n", offered, answer, difficulty, _time_of(asked, draw))


MAKERS: Mapping[str, Maker] = {
    "normal_single_turn_single_function": _one,
    "normal_single_turn_parallel_function": _parallel,
    "normal_similar_api": _similar,
    "normal_preference": _preference,
    "special_incomplete": _incomplete,
    "special_error_param": _error_param,
    "special_irrelevant": _irrelevant,
}
"""How the tasks of a category are drawn, besides those about a kind of value and dialogues."""


def _named_parameters(function: Mapping[str, Any], says: AceSaying) -> list[Mapping[str, Any]]:
    return [one for name, one in function["parameters"].items() if name in placeholders(says.text)]


ATOMS: Mapping[str, Callable[[Mapping[str, Any], AceSaying], bool]] = {
    "bool": lambda function, says: any(isinstance(value, bool) for value in says.sets.values()),
    "enum": lambda function, says: any("enum" in one for one in _named_parameters(function, says)),
    "number": lambda function, says: any(one["type"] == "number" for one in _named_parameters(function, says)),
    "list": lambda function, says: any(
        one["type"] == "array" and one["items"]["type"] != "object" for one in _named_parameters(function, says)
    ),
    "object_deep": lambda function, says: any(_depth(one) > 1 for one in _named_parameters(function, says)),
    "object_short": lambda function, says: any(_depth(one) == 1 for one in _named_parameters(function, says)),
}
"""Which sentences have a value of a kind."""


def _depth(parameter: Mapping[str, Any]) -> int:
    """Return how deep dictionaries are nested in a parameter. A list of dictionaries counts as two."""
    if parameter["type"] == "array":
        return 2 if parameter["items"]["type"] == "object" else 0
    if parameter["type"] != "object":
        return 0
    return 1 + max(_depth(one) for one in parameter["properties"].values())


def own(split: str) -> list[Mapping[str, Any]]:
    """Return the functions of a split."""
    return [one for one in FUNCTIONS if one["split"] == split]


def topic(function: Mapping[str, Any]) -> str:
    """Return what a function is about."""
    return str(function["name"]).partition("_")[0]


def _unlike(functions: Sequence[Mapping[str, Any]], split: str) -> list[Mapping[str, Any]]:
    """Return the split's other functions, without those that are easily taken for one of these."""
    names = {one["name"] for one in functions} | {one.get("near", "") for one in functions}
    return [one for one in own(split) if one["name"] not in names]


def _turn_of(functions: Sequence[Mapping[str, Any]], place: int, draw: Draw) -> Mapping[str, Any]:
    """Return the function whose turn it is, at times another one, so that an attempt can end differently."""
    return functions[7 * place % len(functions)] if draw.chance(0.7) else draw.one(functions)


def _sayings(function: Mapping[str, Any], key: str) -> list[AceSaying]:
    given: list[Mapping[str, Any]] = [{"text": one} if isinstance(one, str) else one for one in function.get(key, ())]
    return [AceSaying(one["text"], one.get("sets", {}), one.get("profile", {})) for one in given]


def request(
    function: Mapping[str, Any],
    draw: Draw,
    says: AceSaying | None = None,
    *,
    is_absolute: bool = False,
    fixed: Mapping[str, Any] | None = None,
) -> AceRequest:
    """Draw what is asked of a function.

    Args:
        function: The function as it is written down.
        draw: Where from.
        says: How it is said. None: one of the ways.
        is_absolute: Whether days are always said with their date.
        fixed: Values that are not drawn.
    """
    parameters = function["parameters"]
    says = says or draw.one(_sayings(function, "says"))
    names = placeholders(says.text)
    values = {
        name: draw.one(one["values"]) for name, one in parameters.items() if name in names or f"{name}_first" in names
    } | dict(fixed or {})
    shown = {name: said(parameters[name], value) for name, value in values.items()}
    shown |= {f"{name}_first": text.partition(" ")[0] for name, text in shown.items()}
    days = [name for name in values if parameters[name]["type"] == "date"]
    is_relative = bool(days) and not is_absolute and draw.chance(RELATIVE_SHARE)
    if is_relative:
        shown |= {days[0]: draw.one([one for one, after in RELATIVE.items() if after])}
    text = re.sub(r"\bon (?=tomorrow|the day after)", "", says.text.format(**shown), flags=re.IGNORECASE)
    arguments = _in_order(function, {**values, **says.sets})
    return AceRequest(function, text[0].upper() + text[1:], arguments, tuple(values), is_relative)


def _in_order(function: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: values[name] for name in function["parameters"] if name in values}


def _time_of(asked: AceRequest, draw: Draw) -> dict[str, str]:
    """Return the time of the question, which a relative day needs."""
    days = [value for name, value in asked.arguments.items() if asked.function["parameters"][name]["type"] == "date"]
    if not asked.is_relative and not draw.chance(TIME_SHARE):
        return {}
    if asked.is_relative:
        text = asked.said.lower()
        after = next(after for said_as, after in RELATIVE.items() if said_as in text)
        today = date.fromisoformat(days[0]) - timedelta(days=after)
    else:
        today = date(2026, 2, 3) + timedelta(days=draw.integer((0, 20)))
    shown = draw.one(TALK["today"]).format(day=WEEKDAYS[today.weekday()], date=today.isoformat())
    return {"time": shown}


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def lacking(function: Mapping[str, Any], asked: AceRequest) -> list[str]:
    """Return which parameters are needed and were not said."""
    return [name for name in document(function)["parameters"]["required"] if name not in asked.arguments]


def _may_change(parameter: Mapping[str, Any]) -> bool:
    """Whether the user may change a value's mind: it is said in a few words."""
    return parameter["type"] in ("string", "integer", "number", "date")


def said(parameter: Mapping[str, Any], value: Any) -> str:
    """Return how a value is said."""
    if parameter["type"] == "date":
        return spoken(value)
    if parameter["type"] == "object":
        return str(parameter["said"]).format(**_written_parts(value))
    if parameter["type"] == "array":
        each = parameter.get("each", "{}")
        parts = [each.format(**_written_parts(one)) if isinstance(one, dict) else written(one) for one in value]
        return f"{', '.join(parts[:-1])} and {parts[-1]}"
    return written(value)


def _written_parts(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _written_parts(one) if isinstance(one, Mapping) else written(one) for key, one in value.items()}


def _truth(asked: Sequence[AceRequest]) -> dict[str, Mapping[str, Any]]:
    """Return gold as the official files have it: functions that are called again are numbered."""
    names = [one.function["name"] for one in asked]
    return {
        name if names.count(name) == 1 else f"{name}_{names[: place + 1].count(name)}": one.arguments
        for place, (name, one) in enumerate(zip(names, asked, strict=True))
    }


def document(function: Mapping[str, Any]) -> dict[str, Any]:
    """Return a function's document in the official form."""
    parameters = function["parameters"]
    return {
        "name": function["name"],
        "description": function["description"],
        "parameters": {
            "type": "object",
            "properties": {name: _schema(one) for name, one in parameters.items()},
            "required": [name for name, one in parameters.items() if "default" not in one and not one.get("optional")],
        },
    }


def _schema(parameter: Mapping[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string" if parameter["type"] == "date" else parameter["type"]}
    if "description" in parameter:
        schema["description"] = parameter["description"]
    if "items" in parameter:
        schema["items"] = _schema(parameter["items"])
    if "properties" in parameter:
        schema["properties"] = {name: _schema(one) for name, one in parameter["properties"].items()}
        schema["required"] = list(parameter["properties"])
    if "enum" in parameter:
        schema["enum"] = parameter["enum"]
    if "default" in parameter:
        schema["description"] += f" Defaults to {parameter['default']!r}."
        schema["default"] = parameter["default"]
    return schema
