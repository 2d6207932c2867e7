"""Tasks in InterCode's format, the start state that each begins with, and the programs its gold command needs.

A data folder has `<name>_fs_<i>.json`, a list of `{"query": ..., "gold": ...}` (gold may be a list of commands), and
for each the start state as `fs_<i>.tar`, `fs_<i>.tar.gz` or InterCode's own `setup_nl2b_fs_<i>.sh`; without one it is
the bare system. `difficulty` and `split` are ours and optional.
"""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from iad_envs.bash.sandbox import Setup
from iad_envs.errors import DataNotFound

DATA_FILES = ("*fs_*.json", "fs_*.tar*", "setup_nl2b_fs_*.sh")
DEFAULT_SPLIT = "test"
_FILE_SYSTEM = re.compile(r"fs_\w+$")
_NAME = re.compile(r"[A-Za-z][\w.+-]*$")
_STARTS_A_COMMAND = frozenset({"|", "||", "&&", ";", "&", "|&", "(", "<(", ">(", "do", "then", "else"})
_RUNS_THE_NEXT_WORD = frozenset({"-exec", "-execdir", "-ok"})
_XARGS_OPTIONS_WITH_VALUE = frozenset({"-n", "-I", "-P", "-L", "-d", "-s", "-E"})


class TaskFileError(ValueError):
    """A task file that is not in InterCode's format."""


@dataclass(frozen=True, slots=True)
class BashTask:
    """A task.

    Attributes:
        task_id: `fs_<i>-<position>`.
        instruction: What the agent is asked to do.
        gold: The reference command.
        file_system: `fs_<i>`: which start state it begins with.
        difficulty: `easy`, `hard`, or "" where the data does not say.
        split: `test` where the data does not say.
    """

    task_id: str
    instruction: str
    gold: str
    file_system: str
    difficulty: str = ""
    split: str = DEFAULT_SPLIT


@lru_cache(maxsize=8)
def load_tasks(folder: Path) -> tuple[BashTask, ...]:
    """Return the tasks of a data folder, in order.

    Raises:
        DataNotFound: There is no task file.
        TaskFileError: One is not in InterCode's format.
    """
    files = sorted(folder.glob(DATA_FILES[0]))
    if not files:
        raise DataNotFound(f"expected task files named {DATA_FILES[0]} in {folder}, found none; check data_dir")
    return tuple(task for file in files for task in _tasks_of(file))


def setup_of(folder: Path, file_system: str) -> Setup:
    """Return how a start state is made; nothing for the bare system."""
    for name in (f"{file_system}.tar", f"{file_system}.tar.gz"):
        if (folder / name).is_file():
            return folder / name
    script = folder / f"setup_nl2b_{file_system}.sh"
    return (script.read_text(encoding="utf-8"),) if script.is_file() else ()


def commands_in(gold: str) -> frozenset[str]:
    """Return the names of the programs that a command calls, as far as its text shows them."""
    # A command substitution starts a command of its own; inside single quotes it does not, and only text is found.
    text = re.sub(r"\$\((?!\()|`", " ; ", gold).replace("<(", " ; ").replace(">(", " ; ")
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.commenters, lexer.whitespace_split = "", True
        words = list(lexer)
    except ValueError:
        words = text.split()
    return frozenset(name for name in _called(words) if _NAME.match(name))


def _called(words: list[str]) -> Iterator[str]:
    is_next, after_xargs, skip = True, False, False
    for word in words:
        if skip:
            skip = False
        elif word in _STARTS_A_COMMAND or word in _RUNS_THE_NEXT_WORD:
            is_next, after_xargs = True, False
        elif after_xargs and word.startswith("-"):
            skip = word in _XARGS_OPTIONS_WITH_VALUE
        elif is_next or after_xargs:
            yield word
            is_next, after_xargs = "=" in word and is_next, word == "xargs"


def _tasks_of(file: Path) -> Iterator[BashTask]:
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TaskFileError(f"expected JSON in {file}, got {error}; restore the file") from None
    found = _FILE_SYSTEM.search(file.stem)
    if found is None or not isinstance(rows, list):
        raise TaskFileError(f"expected {file} to hold a list of tasks and to be named *_fs_<i>.json; see docs/bash.md")
    for position, row in enumerate(rows):
        yield _task(row, found[0], f"{found[0]}-{position}", file)


def _task(row: Any, file_system: str, task_id: str, file: Path) -> BashTask:
    try:
        gold = row["gold"]
        return BashTask(
            task_id=task_id,
            instruction=str(row["query"]),
            gold=gold if isinstance(gold, str) else ";".join(gold),
            file_system=file_system,
            difficulty=row.get("difficulty", ""),
            split=row.get("split", DEFAULT_SPLIT),
        )
    except (KeyError, TypeError, AttributeError):
        raise TaskFileError(f"expected a task with query and gold, got {row!r:.200} as {task_id} in {file}") from None
