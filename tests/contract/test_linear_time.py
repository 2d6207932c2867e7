"""Reading takes linear time: a text that is twice as long takes about twice as long, whatever it holds.

A slow pattern holds the whole process, as `re` lets nobody else run. Patterns and readers are found by themselves, so a
new one is held to this without being listed.
"""

import gc
import inspect
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird.database import QueryResult
from iad_envs.bird.schema import Schema
from iad_envs.toolcalls.calls import PARSE_ERRORS
from iad_envs.toolcalls.worlds.functions import Refused
from iad_policy.models.parsing import Grammar, read_action
from tests.contract.patterns import PIECES, ROOTS, attacks, patterns

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
    "iad_envs/bash/policy/findings.py": "MAX_READ characters of commands",
    "iad_envs/bash/policy/instruction.py": "an instruction of the data",
    "iad_envs/bash/tasks.py": "the names of files of tasks",
    "iad_envs/bird/failure.py": "MAX_MESSAGE characters of an error",
    "iad_envs/bird/wording.py": "evidence of the data",
    "iad_envs/requirements/browser.py": "what a program says of its version",
    "iad_envs/toolcalls/acebench/user.py": "the user's sentences in the data",
    "iad_policy/models/parsing/calls.py": "tags that have an end",
    "iad_policy/simulators/recorded.py": "1000 characters of a failure",
}
"""Files with patterns that take more than linear time, and what they read with them: what is short, or trusted."""
CALLED = {
    "iad_envs/booking/policy/instruction.py": "three forms of a person's name, in an instruction of the data",
    "iad_envs/toolcalls/bfcl/precautions.py": "the lists in errors of the official classes",
    "iad_policy/models/parsing/shell.py": "NEXT_PART, which is read in `types/answers.py`, and an empty line",
    "iad_policy/prompts/rendering.py": "line breaks",
    "iad_policy/roles/paraphrase_check.py": "words",
}
"""Files with a pattern that only a call knows, so that none can be read here, and what it is."""
SOURCES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for root in ROOTS
    for path in sorted((ROOT / root).rglob("*.py"))
}
FILES = [place for place, text in SOURCES.items() if "import re\n" in text and place not in SHORT]
TEXTS = "action|answer|body|code|command|html|line|message|output|page|query|reply|source|sql|statement|text"
"""Names of first parameters that are texts from outside: a public function with one is a reader."""
TRUSTED: Mapping[str, str] = {
    "iad_envs/bash/embedded/": "the project's own",
    "iad_envs/bash/intercode_compat.py": "a command of at most MAX_COMMAND_BYTES; split by `shlex`",
    "iad_envs/browser/images.py": "the project's own",
    "iad_envs/official/": "what a user types",
    "iad_envs/sketch2code/blocks.py:": "Beautiful Soup, which takes .4 s for 80,000 characters of tags in tags",
    "iad_envs/sketch2code/answers.py:t": "pages of tasks: texts and titles",
    "iad_envs/toolcalls/acebench/user.py": "the user's sentences in the data",
    "iad_policy/commands/": "what a user types",
    "webshop_server/search/": "a catalogue, and queries of at most MAX_QUERY_LENGTH",
}
"""Where functions with such a parameter read what is short or trusted, and what that is."""
ARGUMENTS: Mapping[str, Any] = {
    "bare": True, "choices": ("good", "bad"), "columns": ("a", "b"), "field": "score", "findings": (), "grammar": SHOP,
    "headings": ("plan", "thought", "action"), "index": 0, "limit": 1000, "multi_turn": True, "n_tokens": 1000,
    "name": "score", "names": {"click": "click"}, "is_read": True, "offered": ("bar", "patio"), "question": None,
    "read": lambda text: [], "result": QueryResult("error", "no such column: a", (), (), False, 0.0, False),
    "schema": Schema("", (), ()), "shift": 1, "start": 0, "values": None,
}  # fmt: skip
BEFORE, AFTER = ("", "Action: "), ("", "\n\0")
LONG = pytest.param(1, 10_000, id="long", marks=pytest.mark.slow)
every_form = pytest.mark.parametrize(("every", "n"), [pytest.param(16, 2_500, id="short"), LONG])
"""One of so many beginnings of texts is tried, with so many characters in the shorter text."""
ALLOWED = 2.6
"""Allowed growth of the time. Linear reading doubles its time, quadratic reading takes four times as long."""
FLOOR_S = 0.02
"""Times below this are no sign of anything: other work on the machine makes such differences."""
N_TRIES = 5


def cpu_s(read: Callable[[str], object], text: str) -> float:
    gc.disable()  # its passes take longer the more a text leaves in caches
    try:
        start = time.thread_time()
        read(text)
        return time.thread_time() - start
    finally:
        gc.enable()


def grows(read: Callable[[str], object], before: str, piece: str, n: int, after: str = "") -> bool:
    """Whether a text of 2 n characters takes more than `ALLOWED` times what n take, and 4 n more than that again."""
    best_s: dict[int, float] = {}
    for length in range(n, n + N_TRIES * 100, 100):  # other lengths, as readers remember texts
        for times in (2, 1, 4):
            text = before + piece * (times * length // len(piece)) + after
            best_s[times] = min(best_s.get(times, inf), cpu_s(read, text))
            if best_s[2] < FLOOR_S:
                return False
        if best_s[2] <= ALLOWED * best_s[1] or best_s[4] <= ALLOWED * best_s[2]:
            return False
    return True


def module_of(place: str) -> str:
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def readers() -> Mapping[str, Sequence[str]]:
    """Return the public functions of each file whose first parameter is such a text."""
    first = re.compile(rf"^def ([a-z]\w*)\(\s*(?:{TEXTS}): str\b", re.MULTILINE)
    trusted = tuple(TRUSTED)
    kept = {
        place: [one for one in first.findall(text) if not f"{place}:{one}".startswith(trusted)]
        for place, text in SOURCES.items()
    }
    return {place: own for place, own in kept.items() if own}


def reader(place: str, function: str) -> Callable[[str], object]:
    """Return a function of one text that calls a reader."""
    name = f"{place}:{function}"
    call = inspect.unwrap(getattr(import_module(module_of(place)), function))  # without its cache
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


READERS = readers()


@pytest.mark.parametrize("place", ["", *READERS])
@every_form
def test_no_text_takes_more_than_linear_time(place: str, every: int, n: int) -> None:
    read: list[Callable[[str], object]] = [reader(place, name) for name in READERS.get(place, ())]
    read += [] if place else [lambda text, one=one: read_action(text, one) for one in GRAMMARS.values()]  # type: ignore[misc]
    for number, one in enumerate(read):
        first = (number + [*READERS, ""].index(place)) % every
        for before, piece in list(product(BEFORE, PIECES))[first::every]:
            assert not grows(one, before, piece, n), (number, before + piece)


@pytest.mark.parametrize("place", FILES)
@every_form
def test_no_pattern_takes_more_than_linear_time(place: str, every: int, n: int) -> None:
    unknown = []
    for line, source, compiled, methods in patterns(ROOT / place, vars(import_module(module_of(place)))):
        if compiled is None:
            unknown.append(source)
            continue
        for method, (before, piece), after in product(methods, attacks(compiled, with_signs=every == 1), AFTER):
            read = partial(read_with, compiled, method)
            assert not grows(read, before, piece, n, after), (line, source, before, piece, after)
    assert bool(unknown) == (place in CALLED), f"{unknown}: say in CALLED what these patterns are, or drop the line"


def read_with(pattern: "re.Pattern[Any]", method: str, text: str) -> None:
    """Do with a text what a file does."""
    given: Any = text if isinstance(pattern.pattern, str) else text.encode()
    if method in ("sub", "subn"):
        pattern.sub(lambda found: found[0], given)
    elif method == "finditer":
        list(pattern.finditer(given))
    else:
        getattr(pattern, method)(given)


@pytest.mark.parametrize(
    ("task_id", "calls"),
    [
        ("multi_turn_base_54", "[list_loans(member_id='{}')]"),
        ("simple_python_39", "[radio.log_caller(caller='Paloma Iversen', topic='{}')]"),
    ],
)
def test_a_step_with_a_long_argument_takes_linear_time(task_id: str, calls: str) -> None:
    env = gym.make("IAD/BFCL-v0", category=task_id.rpartition("_")[0], split=None)

    def step(text: str) -> None:
        env.reset(options={"task_id": task_id})
        env.step(calls.format(text))

    for piece in ("-", '"', " ", "1,"):
        assert not grows(step, "", piece, 15_000)  # four times as many are within the limit of what a function takes
        assert cpu_s(step, piece * (100_000 // len(piece))) < 1
