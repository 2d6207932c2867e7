"""Reads tasks in InterCode's format, their start states, and the programs that their gold commands need.

A data folder contains files `<name>_fs_<i>.json`, each a list of `{"query": ..., "gold": ...}`. `gold` may be a list of
commands. The start state of such a file is `fs_<i>.tar`, `fs_<i>.tar.gz` or InterCode's own `setup_nl2b_fs_<i>.sh`.
Without one of these it is the bare system. The fields `difficulty` and `split` are optional additions of this package.
"""

import json
import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from iad_envs.bash.sandbox import Setup
from iad_envs.errors import DataNotFound

DATA_FILES = ("*fs_*.json", "fs_*.tar*", "setup_nl2b_fs_*.sh")


class TaskFileError(ValueError):
    """A task file is not in InterCode's format."""


@dataclass(frozen=True, slots=True)
class BashTask:
    """A task of the Bash environment.

    Attributes:
        task_id: Id of the task, `fs_<i>-<position>`.
        instruction: Instruction for the agent.
        gold: The reference command.
        file_system: Name of the start state, `fs_<i>`.
        difficulty: `easy`, `hard`, or "" if the data does not specify it.
        split: Split of the task, `test` if the data does not specify it.
    """

    task_id: str
    instruction: str
    gold: str
    file_system: str
    difficulty: str = ""
    split: str = "test"


@lru_cache(maxsize=8)
def load_tasks(folder: Path) -> tuple[BashTask, ...]:
    """Return the tasks of a data folder, in order.

    Raises:
        DataNotFound: There is no task file.
        TaskFileError: A task file is not in InterCode's format.
    """
    files = sorted(folder.glob(DATA_FILES[0]))
    if not files:
        raise DataNotFound(f"expected task files named {DATA_FILES[0]} in {folder}, found none; check data_dir")
    tasks = []
    for file in files:
        try:
            rows = json.loads(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise TaskFileError(f"expected JSON in {file}, got {error}; restore the file") from None
        name = re.search(r"fs_\w+$", file.stem)
        if name is None or not isinstance(rows, list):
            raise TaskFileError(
                f"expected {file} to hold a list of tasks and to be named *_fs_<i>.json; see docs/bash.md"
            )
        for position, row in enumerate(rows):
            task_id = f"{name[0]}-{position}"
            try:
                gold = row["gold"] if isinstance(row["gold"], str) else ";".join(row["gold"])
                how = (row.get("difficulty", ""), row.get("split", "test"))
                tasks.append(BashTask(task_id, str(row["query"]), gold, name[0], *how))
            except (KeyError, TypeError, AttributeError):
                raise TaskFileError(
                    f"expected a task with query and gold, got {row!r:.200} as {task_id} in {file}"
                ) from None
    return tuple(tasks)


def setup_of(folder: Path, file_system: str) -> Setup:
    """Return the setup of a start state, empty for the bare system."""
    for name in (f"{file_system}.tar", f"{file_system}.tar.gz"):
        if (folder / name).is_file():
            return folder / name
    script = folder / f"setup_nl2b_{file_system}.sh"
    return (script.read_text(encoding="utf-8"),) if script.is_file() else ()


def commands_in(gold: str) -> frozenset[str]:
    """Return the names of the programs in the text of a command."""
    # A command substitution starts a new command. Inside single quotes it does not, but there the text stays one word.
    text = re.sub(r"\$\((?!\()|`", " ; ", gold).replace("<(", " ; ").replace(">(", " ; ")
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.commenters, lexer.whitespace_split = "", True
        words = list(lexer)
    except ValueError:
        words = text.split()
    found = set()
    starts = ("|", "||", "&&", ";", "&", "|&", "(", "<(", ">(", "do", "then", "else", "-exec", "-execdir", "-ok")
    is_next, after_xargs, skip = True, False, False
    for word in words:
        if skip:
            skip = False
        elif word in starts:
            is_next, after_xargs = True, False
        elif after_xargs and word.startswith("-"):
            skip = word in ("-n", "-I", "-P", "-L", "-d", "-s", "-E")  # the options of xargs with a value
        elif is_next or after_xargs:
            found.add(word)
            is_next, after_xargs = "=" in word and is_next, word == "xargs"
    return frozenset(name for name in found if re.match(r"[A-Za-z][\w.+-]*$", name))
