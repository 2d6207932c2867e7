"""Where in an answer log the lines of each episode are, so that an episode's are read when it is asked for."""

import json
from array import array
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

from iad_policy.recording.jsonl import record_of, warn_of

HEAD = b'{"episode":"'
"""How a line of the log begins: the episode's key follows."""
N_BUFFERED = 2**20
"""Bytes of the file that are read at once."""
Answers = dict[str, dict[str, Any]]
"""Lines of an episode by item."""


class LogIndex:
    """The episodes of an answer log that may grow meanwhile. In memory are only places in the file.

    A line that is no JSON object is left out with a warning; a last line without its end is not there yet.

    Args:
        path: The log; it may not be there yet.
        without: Episodes whose lines nobody will ask for.

    Attributes:
        read_to: Bytes that were looked at.
    """

    def __init__(self, path: Path, *, without: Container[str] = ()) -> None:
        self._path = path
        self._without = without
        self._places: dict[str, array[int]] = {}  # where lines that follow each other begin, and their size, in turn
        self._n_lines = 0
        self.read_to = 0

    def refresh(self) -> None:
        """Take in the whole lines that were added."""
        if not self._path.exists():
            return
        with self._path.open("rb", N_BUFFERED) as file:
            file.seek(self.read_to)
            for key, place, size in self._blocks(file):
                if key not in self._without:
                    self._places.setdefault(key, array("Q")).extend((place, size))

    def answers(self, key: str) -> Answers:
        """Return an episode's lines by item, without those that were left."""
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
        """Yield the episode, the place and the size of lines that follow each other."""
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
    """Add a line of an episode to its answers by item; one that says what was left takes answers away."""
    if record["kind"] == "left":
        for item in record["dropped"]:
            answers.pop(item, None)
    else:
        answers[record["item"]] = record


def _key_of(line: bytes) -> str | None:
    """Return the episode that a line belongs to, without reading all of it."""
    if line.startswith(HEAD):
        return line[len(HEAD) : line.index(b'"', len(HEAD))].decode()
    record = record_of(line)
    return None if record is None else record.get("episode")
