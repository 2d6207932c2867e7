"""What is wrong with a task, in words. Its gold must run, all of it must be needed, and its arguments must be known.

An argument is known if it stands in the user's words so far, in the form that is said there, if it is the documented
default, or if it is in an earlier result.
"""

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).resolve().parents[2]))

from iad_envs.toolcalls.worlds import world

Answer = Sequence[Sequence[str]]
"""Calls as texts, by turn."""
EASY_TURNS = 3
HARD_CALLS = 5
_NUMBER = re.compile(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])")
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_DATE = re.compile(rf"\b({'|'.join(MONTHS)}) (\d{{1,2}}), (\d{{4}})\b")


class TurnOutcome(NamedTuple):
    """What a turn's calls lead to: the states by world, and the results as JSON."""

    states: Mapping[str, Any]
    results: Sequence[str]


class Known(NamedTuple):
    """What is known before a call: what was said, and what was returned."""

    words: str
    results: Sequence[Any]

    def how(self, value: object, schema: Mapping[str, Any], name: str) -> str:
        """Return how a value is known: `said`, `default`, `returned`, or ""."""
        if is_said(value, self.words, name):
            return "said"
        if "default" in schema and schema["default"] == value:
            return "default"
        return "returned" if any(value in leaves(one) for one in self.results) else ""


def parsed(call: str) -> tuple[str, dict[str, Any]]:
    """Return a call's name and arguments."""
    node = ast.parse(call, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise ValueError(f"expected a call with named arguments, got {call}")
    return node.func.id, {str(one.arg): ast.literal_eval(one.value) for one in node.keywords}


def played(entry: Mapping[str, Any], answer: Answer) -> list[TurnOutcome]:
    """Return what an answer leads to, turn by turn."""
    is_long = entry["id"].startswith("multi_turn_long_context")
    worlds = {name: world(name) for name in entry["involved_classes"]}
    states = {
        name: one.load(entry["initial_config"].get(name, {}), long_context=is_long) for name, one in worlds.items()
    }
    owner = {document["name"]: name for name, one in worlds.items() for document in one.documents}
    outcomes = []
    for calls in answer:
        results = []
        for function, arguments in map(parsed, calls):
            name = owner[function]
            states[name], result = worlds[name].call(states[name], function, arguments)
            results.append(json.dumps(result))
        outcomes.append(TurnOutcome({name: one.public(states[name]) for name, one in worlds.items()}, results))
    return outcomes


def accepts(entry: Mapping[str, Any], gold: Answer, answer: Answer) -> bool:
    """Whether the official check accepts an answer: after each turn equal states, and all of gold's results."""
    had: Counter[str] = Counter()
    for calls, given, wanted, got in zip(gold, answer, played(entry, gold), played(entry, answer), strict=True):
        had += Counter(got.results)
        if calls and (not given or got.states != wanted.states or Counter(wanted.results) - had):
            return False
    return True


def faults(entry: Mapping[str, Any], gold: Answer) -> list[str]:
    """Return what is wrong with a multi-turn task."""
    return [*_running(entry, gold), *_needless(entry, gold), *_unknown(entry, gold), *_withheld(entry, gold)]


def _running(entry: Mapping[str, Any], gold: Answer) -> Iterator[str]:
    if len(entry["question"]) != len(gold):
        yield "not as many turns as gold"
    for place, outcome in enumerate(played(entry, gold)):
        yield from (f"turn {place}: {result}" for result in outcome.results if "error" in json.loads(result))


def _needless(entry: Mapping[str, Any], gold: Answer) -> Iterator[str]:
    if accepts(entry, gold, [[] for _ in gold]):
        yield "to do nothing is accepted"
    for place, calls in enumerate(gold):
        for number, call in enumerate(calls):
            rest = [*calls[:number], *calls[number + 1 :]]
            if accepts(entry, gold, [*gold[:place], rest, *gold[place + 1 :]]):
                yield f"turn {place}: accepted without {call}"


def _unknown(entry: Mapping[str, Any], gold: Answer) -> Iterator[str]:
    yield from (f"turn {turn}: {call} can't be known" for turn, call, how in ways(entry, gold) if "" in how)


def ways(entry: Mapping[str, Any], gold: Answer) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Yield each gold call with its turn and how each of its arguments is known."""
    schemas = schemas_of(entry)
    words, results = "", list[Any]()
    outcomes = played(entry, gold)
    for turn, (calls, outcome) in enumerate(zip(gold, outcomes, strict=True)):
        words += " " + words_of(entry["question"][turn])
        for call, result in zip(calls, outcome.results, strict=True):
            function, arguments = parsed(call)
            known = Known(words, results)
            schema = schemas[function]
            yield turn, call, tuple(known.how(value, schema[name], name) for name, value in arguments.items())
            results.append(json.loads(result))


def _withheld(entry: Mapping[str, Any], gold: Answer) -> Iterator[str]:
    """Complain where a turn without gold could be begun."""
    schemas = schemas_of(entry)
    functions = [[parsed(call)[0] for call in calls] for calls in gold]
    missed = {int(turn): names for turn, names in entry.get("missed_function", {}).items()}
    for turn, names in missed.items():
        earlier = {name for calls in functions[:turn] for name in calls}
        if gold[turn - 1] or set(functions[turn]) != set(names) or earlier & set(names) or entry["question"][turn]:
            yield f"turn {turn - 1} does not need what is withheld"
    for turn, calls in enumerate(gold):
        if calls or turn + 1 in missed:
            continue
        if not any(gold[turn + 1 : turn + 2]):
            yield f"turn {turn} is not served in the next one"
            continue
        words = " ".join(words_of(one) for one in entry["question"][: turn + 1])
        results = [json.loads(one) for outcome in played(entry, gold)[:turn] for one in outcome.results]
        function, arguments = parsed(gold[turn + 1][0])
        if all(Known(words, results).how(value, schemas[function][name], name) for name, value in arguments.items()):
            yield f"turn {turn} can be begun"


def difficulty_of(entry: Mapping[str, Any], gold: Answer) -> str:
    """Return how hard a multi-turn task is.

    `hard`: an argument comes from a result, there are 5 calls or more, or something is withheld. `easy`: none of this,
    and at most 3 turns. `medium`: the rest.
    """
    flows = any("returned" in how for _, _, how in ways(entry, gold))
    if flows or sum(map(len, gold)) >= HARD_CALLS or not all(gold):
        return "hard"
    return "easy" if len(gold) <= EASY_TURNS else "medium"


def single_faults(entry: Mapping[str, Any], gold: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what is wrong with a single-turn task."""
    words = words_of(entry["question"][0])
    schemas = {one["name"]: one["parameters"] for one in entry["function"]}
    if len(schemas) != len(entry["function"]):
        yield "a function is offered twice"
    if len({json.dumps(one) for one in gold}) != len(gold):
        yield "a call is wanted twice"
    for call in gold:
        ((name, parameters),) = call.items()
        if name not in schemas:
            yield f"{name} is not offered"
            continue
        properties = schemas[name]["properties"]
        if set(schemas[name]["required"]) - set(parameters) or set(parameters) != set(properties):
            yield f"{name} has other parameters"
            continue
        known = Known(words, ())
        for key, alternatives in parameters.items():
            if key in schemas[name]["required"] and "" in alternatives:
                yield f"{key} of {name} may not be left out"
            if not known.how(_plain(alternatives[0]), properties[key], key):
                yield f"{key} of {name} can't be known: {alternatives[0]!r}"


def _plain(value: object) -> object:
    """Return the first alternative of each entry of a dict."""
    return {name: one[0] for name, one in value.items()} if isinstance(value, dict) else value


def schemas_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of each function of a task's worlds."""
    return {
        document["name"]: document["parameters"]["properties"]
        for name in entry["involved_classes"]
        for document in world(name).documents
    }


def words_of(messages: Sequence[Mapping[str, str]]) -> str:
    """Return what the user says in a turn."""
    return " ".join(one["content"] for one in messages)


def is_said(value: object, words: str, name: str = "") -> bool:
    """Whether a value stands in words: a number as a number, a date in any form, a boolean by its parameter's name."""
    if isinstance(value, bool):
        return value and any(part in words.lower() for part in name.split("_") if len(part) > 3)
    if isinstance(value, int | float):
        return value in {float(one) for one in _NUMBER.findall(words)}
    if isinstance(value, list | tuple):
        return all(is_said(one, words, name) for one in value)
    if isinstance(value, dict):
        return all(is_said(one, words, key) for key, one in value.items())
    text = str(value)
    if text and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", words):
        return True
    return text in {_iso(*found) for found in _DATE.findall(words)}


def _iso(month: str, day: str, year: str) -> str:
    return date(int(year), MONTHS.index(month) + 1, int(day)).isoformat()


def leaves(result: Any) -> list[Any]:
    """Return the texts and numbers of a result."""
    if isinstance(result, Mapping):
        return [leaf for one in result.values() for leaf in leaves(one)]
    if isinstance(result, list):
        return [leaf for one in result for leaf in leaves(one)]
    return [] if isinstance(result, bool) else [result]
