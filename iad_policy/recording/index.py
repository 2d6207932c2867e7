"""Indexes an answer log by episode, so that the lines of one episode can be read alone."""

import json
from array import array
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

from iad_policy.recording.jsonl import record_of, warn_of

HEAD = b'{"episode":"'
"""Start of every line of the log, before the episode's key."""
N_BUFFERED = 2**20
"""Size of the read buffer, in bytes."""
Answers = dict[str, dict[str, Any]]
"""Lines of an episode by item."""


class LogIndex:
    """The episodes of an answer log, which may be growing. Memory holds only positions in the file.

    A line that is not a JSON object is skipped, with a warning. An incomplete last line is not read yet.

    Args:
        path: Path of the log, which need not exist yet.
        without: Episodes whose lines are not needed.

    Attributes:
        read_to: Number of bytes that are indexed.
    """

    def __init__(self, path: Path, *, without: Container[str] = ()) -> None:
        self._path = path
        self._without = without
        self._places: dict[str, array[int]] = {}  # start and size of each block of consecutive lines, in turn
        self._n_lines = 0
        self.read_to = 0

    def refresh(self) -> None:
        """Index the complete lines that were added."""
        if not self._path.exists():
            return
        with self._path.open("rb", N_BUFFERED) as file:
            file.seek(self.read_to)
            for key, place, size in self._blocks(file):
                if key not in self._without:
                    self._places.setdefault(key, array("Q")).extend((place, size))

    def answers(self, key: str) -> Answers:
        """Return an episode's lines by item, without dropped ones."""
        answers: Answers = {}
        places = self._places.get(key, ())
        if places:
            with self._path.open("rb") as file:
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
            if not line.endswith(b"\n"):
                break
            self._n_lines += 1
            if not (head and line.startswith(head)):
                if head:
                    yield key, place, self.read_to - place
                place, head = self.read_to, b""
                found = _key_of(line)
                if found is None:
                    warn_of(self._path, f"line {self._n_lines}")
                else:
                    key, head = found, b'%b%b"' % (HEAD, found.encode())
            self.read_to += len(line)
        if head:
            yield key, place, self.read_to - place

    def _records(self, lines: bytes, place: int) -> Iterator[dict[str, Any]]:
        try:
            yield from json.loads(b"[%b]" % lines.rstrip().replace(b"\n", b","))  # much faster than one by one
        except ValueError:
            for line in lines.splitlines(keepends=True):
                record = record_of(line)
                if record is None:
                    warn_of(self._path, f"byte {place}")
                else:
                    yield record
                place += len(line)


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
        return line[len(HEAD) : line.index(b'"', len(HEAD))].decode()
    record = record_of(line)
    return None if record is None else record.get("episode")
