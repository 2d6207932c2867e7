"""Reading takes linear time: a text that is twice as long takes about twice as long, whatever it holds.

A slow pattern holds the whole process, as `re` lets nobody else run. Patterns and readers are found by themselves, so a
new one is held to this without being listed.
"""

import ast
import gc
import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from iad_envs.bird.database import QueryResult
from iad_envs.bird.schema import Schema
from iad_envs.toolcalls.calls import PARSE_ERRORS
from iad_envs.toolcalls.worlds.functions import Refused
from iad_policy.models.parsing import Grammar, read_action
from tests.contract.patterns import PIECES, Pattern, attacks, patterns
from tests.effort import some, times

ROOT = Path(__file__).parents[2]
SHOP = Grammar.of((*(f"click[option {number}]" for number in range(100)), "search[...]"))
GRAMMARS: Mapping[str, Grammar] = {
    "shop": SHOP,
    "shell": Grammar.of(("pwd", "ls -la", "cd ..", "submit"), "shell"),
    "SQL": Grammar.of(("execute[...]", "submit[...]"), "sql"),
    "booking": Grammar.of((*(f"CLICK [slot-{number}]" for number in range(100)), "TYPE [q] [...]"), "page"),
    "text": Grammar.of(()),
}
SHORT = {
    "iad_envs/bash/policy/features.py": "MAX_READ characters of a command",
    "iad_envs/bash/policy/findings.py": "MAX_READ characters of commands",
    "iad_envs/bash/policy/instruction.py": "an instruction of the data",
    "iad_envs/bash/tasks.py": "the names of files of tasks",
    "iad_envs/bird/failure.py": "MAX_MESSAGE characters of an error",
    "iad_envs/bird/policy/forms.py": "a question of the data",
    "iad_envs/bird/policy/grounding.py": "evidence of the data",
    "iad_envs/bird/policy/question.py": "a question and evidence of the data",
    "iad_envs/bird/wording.py": "evidence of the data",
    "iad_envs/requirements/browser.py": "what a program says of its version",
    "iad_envs/toolcalls/acebench/user.py": "the user's sentences in the data",
    "iad_policy/models/parsing/calls.py": "tags that have an end",
    "iad_policy/simulators/recorded.py": "1000 characters of a failure",
}
"""Files with patterns that take more than linear time, and what they read with them: what is short, or trusted."""
FILES = [
    path.relative_to(ROOT).as_posix()
    for root in ("webshop_server", "iad_envs", "iad_policy")
    for path in sorted((ROOT / root).rglob("*.py"))
    if "import re\n" in path.read_text(encoding="utf-8") and path.relative_to(ROOT).as_posix() not in SHORT
]
TEXTS = frozenset(
    {"action", "answer", "body", "code", "command", "html", "line", "message", "output", "page", "query", "reply"}
    | {"source", "sql", "statement", "text"}
)
"""Names of first parameters that are texts from outside: a public function with one is a reader."""
TRUSTED: Mapping[str, str] = {
    "iad_envs/bash/embedded/": "the project's own",
    "iad_envs/bash/intercode_compat.py": "a command of at most MAX_COMMAND_BYTES; split by `shlex`",
    "iad_envs/browser/images.py": "the project's own",
    "iad_envs/official/": "what a user types",
    "iad_envs/sketch2code/answers.py:t": "pages of tasks: texts and titles",
    "iad_policy/commands/": "what a user types",
    "webshop_server/search/": "a catalogue, and queries of at most MAX_QUERY_LENGTH",
}
"""Where functions with such a parameter read what is short or trusted, and what that is."""
ARGUMENTS: Mapping[str, Any] = {
    "bare": True,
    "choices": ("good", "bad"),
    "columns": ("a", "b"),
    "field": "score",
    "findings": (),
    "grammar": SHOP,
    "headings": ("plan", "thought", "action"),
    "index": 0,
    "limit": 1000,
    "multi_turn": True,
    "n_tokens": 1000,
    "name": "score",
    "names": {"click": "click"},
    "is_read": True,
    "offered": ("bar", "patio"),
    "question": None,
    "read": lambda text: [],
    "result": QueryResult("error", "no such column: a", (), (), False, 0.0, False),
    "schema": Schema("", (), ()),
    "shift": 1,
    "start": 0,
    "values": None,
}
"""Values of the further parameters of readers, by name."""
BEFORE, AFTER = ("", "Action: "), ("", "\n\0")
N = times(50_000)
"""Characters of the shorter text: 5,000, or 50,000 in `make test-full`."""
N_PATTERN = 1_500
"""Characters of the shorter text for a single pattern, of which there are many."""
ALLOWED = 2.6
"""Allowed growth of the time. Linear reading doubles its time, quadratic reading takes four times as long."""
FLOOR_S = 0.002
"""Times below this are no sign of anything: quadratic reading of 2 N characters takes longer."""
SLOW_S = 0.5
"""A twentieth of the shorter text that takes as long is slow beyond doubt."""
N_TRIES = 8
"""Number of measurements before a growth counts, as other work on the machine slows single ones down."""


def cpu_s(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # its passes take longer the more a text leaves in caches
    try:
        start = time.thread_time()
        read(text)
        return time.thread_time() - start
    finally:
        gc.enable()


def grows(read: Callable[[str], object], before: str, piece: str, n: int = N) -> bool:
    """Whether reading a text of 2 n characters takes more than `ALLOWED` times what n characters take."""

    def seconds(length: int) -> float:
        return cpu_s(read, before + piece * (length // len(piece)))

    if seconds(n // 20) > SLOW_S:
        return True
    short_s = long_s = float("inf")
    for place in range(n, n + N_TRIES * 100, 100):  # other lengths, as readers remember texts
        long_s = min(long_s, seconds(2 * place))
        if long_s <= FLOOR_S:
            return False
        short_s = min(short_s, seconds(place))
        if long_s <= ALLOWED * short_s:
            return False
    return True


def readers() -> Iterator[str]:
    """Yield the path and name of each reader."""
    for root in ("webshop_server", "iad_envs", "iad_policy"):
        for path in sorted((ROOT / root).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
                    continue
                if f"{place}:{node.name}".startswith(tuple(TRUSTED)):
                    continue
                first = next(iter([*node.args.posonlyargs, *node.args.args]), None)
                if first and first.arg in TEXTS and first.annotation and ast.unparse(first.annotation) == "str":
                    yield f"{place.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}:{node.name}"


def reader(name: str) -> Callable[[str], object]:
    """Return a function of one text that calls a reader."""
    module, _, function = name.partition(":")
    call = inspect.unwrap(getattr(import_module(module), function))  # without its cache
    further = list(inspect.signature(call).parameters.values())[1:]
    given = [one for one in further if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]
    missing = {one.name for one in given} - ARGUMENTS.keys()
    assert not missing, f"{name}: give values of {missing} in ARGUMENTS, or name its module in TRUSTED"
    positional = [ARGUMENTS[one.name] for one in given if one.kind is not one.KEYWORD_ONLY]
    named = {one.name: ARGUMENTS[one.name] for one in given if one.kind is one.KEYWORD_ONLY}

    def read(text: str) -> None:
        with suppress(*PARSE_ERRORS, Refused):
            made = call(text, *positional, **named)
            if isinstance(made, Iterator):
                list(made)

    return read


def answer_with(grammar: Grammar) -> Callable[[str], object]:
    return lambda text: read_action(text, grammar)


READERS: Mapping[str, Callable[[str], object]] = {
    **{f"answer: {name}": answer_with(grammar) for name, grammar in GRAMMARS.items()},
    **{name: reader(name) for name in readers()},
}


@pytest.mark.parametrize("name", READERS)
def test_no_text_takes_more_than_linear_time(name: str) -> None:
    for piece in some(PIECES, 3, list(READERS).index(name) % 3):
        for before in BEFORE:
            assert not grows(READERS[name], before, piece), before + piece


@pytest.mark.parametrize("place", FILES)
def test_no_pattern_takes_more_than_linear_time(place: str) -> None:
    module = import_module(place.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
    for pattern in patterns(ROOT / place, vars(module)):
        for method in pattern.methods:
            for before, piece in attacks(pattern.compiled):
                slow = [after for after in AFTER if grows(reading(pattern, method, after), before, piece, N_PATTERN)]
                assert not slow, (
                    f"line {pattern.line}: {method} of {pattern.compiled.pattern!r}: {before!r} {piece!r} {slow}"
                )


def reading(pattern: Pattern, method: str, after: str) -> Callable[[str], object]:
    return lambda text: pattern.read(method, text + after)
