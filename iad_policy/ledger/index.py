"""Indexes an answer log by episode, so that the lines of one episode can be read alone."""

import json
import os
from array import array
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from iad_policy.types.jsonl import MAX_LINE, lines_of, record_of, warn_of
from iad_policy.types.regular_file import open_regular

HEAD = b'{"episode":"'
"""Start of every line of the log, before the episode's key."""
N_BUFFERED = 2**20
"""Size of the read buffer, in bytes."""
Answers = dict[str, dict[str, Any]]
"""Lines of an episode by item."""
LONG = "long"
"""Kind of a line that names the blob of a long one."""
FIELDS: Mapping[str, frozenset[str]] = {
    "candidate": frozenset({"question", "action", "key"}),
    "verdict": frozenset({"question", "score"}),
    "outcome": frozenset({"question", "observation", "info", "done"}),
    "text": frozenset({"question", "role", "text", "source"}),
    "step": frozenset({"question", "observation", "info", "done"}),
    "commit": frozenset({"question", "candidate"}),
    "cut": frozenset({"question", "axis"}),
    "left": frozenset({"dropped"}),
    LONG: frozenset({"line"}),
}
"""Kind -> fields that every line of that kind has, besides `episode`, `item` and `kind`."""


class LogIndex:
    """The episodes of an answer log, which may be growing. Memory holds only positions in the file.

    A line that is not a JSON object, or lacks a field, is skipped, with a warning. An incomplete last line is not read
    yet.

    Args:
        path: Path of the log, which need not exist yet.
        without: Episodes whose lines are not needed.

    Attributes:
        read_to: Number of bytes that are indexed.
        n_skipped: Number of damaged lines that were met. In an episode they are met when it is read.

    Raises:
        OSError: The log can't be read, or is no regular file.
    """

    def __init__(self, path: Path, *, without: Container[str] = ()) -> None:
        self._path = path
        self._without = without
        self._places: dict[str, array[int]] = {}  # start and size of each block of consecutive lines, in turn
        self._n_lines = 0
        self.read_to = 0
        self.n_skipped = 0

    def refresh(self) -> None:
        """Index the complete lines that were added."""
        if not os.path.lexists(self._path):
            return
        with open_regular(self._path, buffering=N_BUFFERED) as file:
            file.seek(self.read_to)
            for key, place, size in self._blocks(lines_of(file)):
                if key not in self._without:
                    self._places.setdefault(key, array("Q")).extend((place, size))

    def answers(self, key: str) -> Answers:
        """Return an episode's lines by item, without dropped ones."""
        answers: Answers = {}
        places = self._places.get(key, ())
        if places:
            with open_regular(self._path) as file:
                for place, size in zip(places[::2], places[1::2], strict=True):
                    file.seek(place)
                    for record in self._records(file.read(size), place):
                        add_line(answers, record)
        return answers

    def forget(self, key: str) -> None:
        """Forget an episode's lines."""
        self._places.pop(key, None)

    def _blocks(self, lines: Iterable[bytes]) -> Iterator[tuple[str, int, int]]:
        """Yield the episode, the position and the size of each block of consecutive lines."""
        key, place, head = "", self.read_to, b""
        for line in lines:
            if not line.endswith(b"\n") and len(line) < MAX_LINE:
                break
            self._n_lines += 1
            if not (head and line.startswith(head)):
                if head:
                    yield key, place, self.read_to - place
                place, head = self.read_to, b""
                found = _key_of(line)
                if found is None:
                    self.n_skipped += 1
                    warn_of(self._path, f"line {self._n_lines}")
                else:
                    key, head = found, b'%b%b"' % (HEAD, found.encode())
            self.read_to += len(line)
        if head:
            yield key, place, self.read_to - place

    def _records(self, lines: bytes, place: int) -> Iterator[dict[str, Any]]:
        try:
            records = json.loads(b"[%b]" % lines.rstrip().replace(b"\n", b","))  # much faster than one by one
        except (ValueError, RecursionError):
            records = []
        if records and all(map(is_answer, records)):
            yield from records
            return
        for line in lines.splitlines(keepends=True):
            record = record_of(line)
            if record is not None and is_answer(record):
                yield record
            else:
                self.n_skipped += 1
                warn_of(self._path, f"byte {place}")
            place += len(line)


def is_answer(record: Any) -> bool:
    """Say whether a line of the log has the fields of its kind. Lines of an unknown kind have an item at least."""
    try:
        kind = record["kind"]
        if type(record["episode"]) is not str:
            return False
        if kind == "left":
            return all(type(item) is str for item in record["dropped"])
        return type(record["item"]) is str and (kind not in FIELDS or FIELDS[kind] <= record.keys())
    except (TypeError, LookupError, AttributeError):
        return False


def add_line(answers: Answers, record: dict[str, Any]) -> None:
    """Add a line of an episode to its answers by item. A line of kind `left` removes the answers that it lists."""
    if record["kind"] == "left":
        for item in record["dropped"]:
            answers.pop(item, None)
    else:
        answers[record["item"]] = record


def _key_of(line: bytes) -> str | None:
    """Return the episode of a line, if possible without parsing all of it."""
    if line.startswith(HEAD):
        end = line.find(b'"', len(HEAD))
        name = line[len(HEAD) : end]
        return name.decode() if end > 0 and name.isascii() and b"\\" not in name else None
    record = record_of(line)
    key = None if record is None else record.get("episode")
    return key if isinstance(key, str) and key.isascii() else None
