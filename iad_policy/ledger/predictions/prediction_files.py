"""Reads files of predictions into attempts at tasks. What can't be read, and what is about no task, is named."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iad_policy.ledger.predictions.formats import PredictionFormat
from iad_policy.ledger.predictions.json_items import LINES, JSONItem, read_items
from iad_policy.types.hashing import decode

TASK, ACTIONS, ARM, SEED = "task_id", "actions", "arm", "seed"
"""Keys of a line of recorded actions. The last two may be missing."""
SUFFIXES = (".json", *LINES)


@dataclass(frozen=True, slots=True)
class RecordedAttempt:
    """One attempt at one task, as a file has it.

    Attributes:
        task_id: The task.
        actions: The actions in order.
        place: Its place for messages: the file, and the line if it has lines.
        answer: The whole answer where the file has no actions, such as a query: `actions` then hands it in. None for
            recorded actions.
        arm: Row of the table that the file names, "" for none.
        seed: Seed of the environment.
    """

    task_id: str
    actions: tuple[Any, ...]
    place: str
    answer: str | None = None
    arm: str = ""
    seed: int = 0


@dataclass(slots=True)
class PredictionFile:
    """What was read from one file, or from a folder with a file for each answer.

    Attributes:
        path: The file or folder.
        attempts: The attempts, in order.
        problems: What can't be read, with its place and the reason.
        unknown: Ids of attempts at no task.
        notes: What else a reader of the figures has to know.
    """

    path: Path
    attempts: list[RecordedAttempt] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def files_of(path: Path, form: PredictionFormat) -> list[Path]:
    """Return the prediction files that a path names: itself, or the files of a folder.

    A folder with a file for each answer is one.

    Raises:
        FileNotFoundError: There is no such file or folder, or no prediction file in the folder.
    """
    if not path.exists():
        raise FileNotFoundError(f"expected a file of predictions, got {path}, which does not exist; check the path")
    if not path.is_dir() or _answer_files(path, form):
        return [path]
    found = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES and one.is_file())
    if not found:
        wanted = ", ".join(f"*{suffix}" for suffix in (*SUFFIXES, *filter(None, [form.suffix])))
        raise FileNotFoundError(f"expected predictions ({wanted}) in {path}, found none; name another folder")
    return found


def read_predictions(path: Path, form: PredictionFormat, tasks: Collection[str]) -> PredictionFile:
    """Read a file of predictions, or a folder with a file for each answer.

    Args:
        path: The file or folder.
        form: The environment's format.
        tasks: Ids of all tasks that can be scored. Empty for an environment without ids.

    Raises:
        OSError: It can't be read.
    """
    found = PredictionFile(path)
    items, found.problems = _folder_items(path, form) if path.is_dir() else read_items(path)
    members = {item.key: item.value for item in items}
    if TASK in members and ACTIONS in members:  # the object of the file is one attempt
        items = [JSONItem(str(path), 0, None, members)]
    kinds: dict[bool, list[JSONItem]] = {True: [], False: []}
    for item in items:
        kinds[isinstance(item.value, dict) and ACTIONS in item.value].append(item)
    found.attempts = list(_recorded(kinds[True], found, tasks))
    if kinds[False]:
        _read_answers(kinds[False], found, form)
    return found


def _answer_files(folder: Path, form: PredictionFormat) -> list[Path]:
    return sorted(folder.glob(f"*{form.suffix}")) if form.suffix else []


def _folder_items(folder: Path, form: PredictionFormat) -> tuple[list[JSONItem], list[str]]:
    items: list[JSONItem] = []
    problems: list[str] = []
    for file in _answer_files(folder, form):
        try:
            items.append(JSONItem(str(file), len(items), file.stem, file.read_bytes().decode("utf-8", "replace")))
        except OSError as error:
            problems.append(f"{file}: {error.strerror}")
    return items, problems


def _recorded(items: Sequence[JSONItem], found: PredictionFile, tasks: Collection[str]) -> Iterator[RecordedAttempt]:
    for item in items:
        try:
            line: Mapping[str, Any] = item.value
            task, actions, arm, seed = (line.get(key) for key in (TASK, ACTIONS, ARM, SEED))
            if isinstance(task, bool) or not isinstance(task, str | int):
                raise ValueError(f"expected a text or a whole number as {TASK}, got {task!r:.60}")
            if not isinstance(actions, list):
                raise ValueError(f"expected a list of {ACTIONS}, got {actions!r:.60}")
            if arm is not None and not isinstance(arm, str):
                raise ValueError(f"expected a text as {ARM}, got {arm!r:.60}")
            if isinstance(seed, bool) or not isinstance(seed, int | None) or (seed or 0) < 0:
                raise ValueError(f"expected a whole number of 0 or more as {SEED}, got {seed!r:.60}")
            attempt = RecordedAttempt(str(task), tuple(map(decode, actions)), item.place, None, arm or "", seed or 0)
        except ValueError as error:
            found.problems.append(f"{item.place}: {error}")
            continue
        if tasks and attempt.task_id not in tasks:
            found.unknown.append(attempt.task_id)
        else:
            yield attempt


def _read_answers(items: Sequence[JSONItem], found: PredictionFile, form: PredictionFormat) -> None:
    try:
        read = form.read(items)
    except ValueError as error:
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        found.problems.append(f"{items[0].place}{more}: {error}")
        return
    found.attempts += [RecordedAttempt(one.task_id, (one.action,), one.place, one.text) for one in read.answers]
    found.problems += read.problems
    found.unknown += read.unknown
    found.notes += read.notes
