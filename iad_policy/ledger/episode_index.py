"""Indexes the finished episodes of a run by key and task, so that the records of a few can be read alone."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from iad_policy.ledger.episode_record import EpisodeRecord, episode_of
from iad_policy.ledger.gc_pause import without_collector
from iad_policy.ledger.index import N_BUFFERED
from iad_policy.types.jsonl import MAX_LINE, lines_of, warn_of
from iad_policy.types.regular_file import open_regular

HEAD = re.compile(
    rb'\{"key": ?"([ -!#-\[\]-~]+)", ?"env": ?"[^"\\]*", ?"task_id": ?"([ -!#-\[\]-~]*)", ?'
    rb'"strategy": ?"[^"\\]*", ?"seed": ?(-?\d+),'
)
"""Start of nearly every line. What it does not fit, such as names that are not ASCII, is parsed as a whole."""


class EpisodePlace(NamedTuple):
    """Where an episode is.

    Attributes:
        task_id: Its task.
        seed: Its seed.
        start: Position of its line in the file, in bytes.
        size: Size of the line, in bytes.
        number: The line's number, from 1.
    """

    task_id: str
    seed: int
    start: int
    size: int
    number: int


class EpisodeIndex:
    """The episodes of a run, which may go on. A line is parsed when its record is asked for.

    A line that is no record is skipped, with a warning: some when they are indexed, others when they are asked for. Of
    two lines with the same key the later one counts. An incomplete last line is not read yet.

    Args:
        path: Path of `episodes.jsonl`, which need not exist yet.
        skip: Function that is called with the file and the place of each damaged line. It warns by default.
        is_whole: Whether every line is parsed when it is indexed, which is faster if all records are asked for.

    Attributes:
        read_to: Number of bytes that are indexed.

    Raises:
        OSError: The file can't be read, or is no regular file.
    """

    def __init__(self, path: Path, *, skip: Callable[[Path, str], None] = warn_of, is_whole: bool = False) -> None:
        self._path = path
        self._skip = skip
        self._is_whole = is_whole
        self._n_lines = 0
        self._places: dict[str, EpisodePlace] = {}
        self._replaced: dict[str, list[EpisodePlace]] = {}
        self._records: dict[str, EpisodeRecord] = {}
        self._order: list[str] | None = None
        self._all: dict[str, EpisodeRecord] | None = None
        self.read_to = 0

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    @property
    def in_order(self) -> list[str]:
        """The keys by task and seed."""
        if self._order is None:
            self._order = sorted(self._places, key=self._places.__getitem__)
        return self._order

    @without_collector()
    def refresh(self) -> bool:
        """Index the lines that were added, and return whether there were any episodes among them."""
        n_before = self.read_to
        if os.path.lexists(self._path):
            with open_regular(self._path, buffering=N_BUFFERED) as file:
                file.seek(self.read_to)
                for line in lines_of(file):
                    if not line.endswith(b"\n") and len(line) < MAX_LINE:
                        break
                    self._n_lines += 1
                    self._add(line)
                    self.read_to += len(line)
        is_new = self.read_to > n_before
        if is_new:
            self._order = self._all = None
        return is_new

    def _add(self, line: bytes) -> None:
        found = None if self._is_whole else HEAD.match(line)
        record = episode_of(line) if found is None else None
        if found is not None:
            key, task_id, seed = found[1].decode(), found[2].decode(), int(found[3])
        elif record is not None:
            key, task_id, seed = record.key, record.task_id, record.seed
        else:
            self._skip(self._path, f"line {self._n_lines}")
            return
        if key in self._places:
            self._replaced.setdefault(key, []).append(self._places[key])
            self._records.pop(key, None)
        self._places[key] = EpisodePlace(task_id, seed, self.read_to, len(line), self._n_lines)
        if record is not None:
            self._records[key] = record

    def record(self, key: str) -> EpisodeRecord:
        """Return an episode's record.

        Raises:
            KeyError: There is no such episode, yet.
        """
        if key not in self._records and not any(True for _ in self.records([key])):
            raise KeyError(key)
        return self._records[key]

    def records(self, keys: Iterable[str]) -> Iterator[EpisodeRecord]:
        """Yield the records of episodes. Those whose lines are damaged are left out, with a warning."""
        wanted = list(keys)
        missing = [key for key in wanted if key in self._places and key not in self._records]
        if missing:
            self._read(missing)
        yield from (self._records[key] for key in wanted if key in self._records)

    def all(self) -> dict[str, EpisodeRecord]:
        """Return every record by key, in the order of the first line of each key."""
        if self._all is None:
            self._all = {one.key: one for one in self.records(list(self._places))}
        return self._all

    @without_collector()
    def _read(self, keys: list[str]) -> None:
        with open_regular(self._path) as file:
            at = 0  # to ask the file where it is takes a tenth of the time
            for key in keys:
                for place in (self._places[key], *reversed(self._replaced.get(key, []))):
                    if at != place.start:
                        file.seek(place.start)
                    record = episode_of(file.read(place.size))
                    at = place.start + place.size
                    if record is not None and record.key == key:
                        self._records[key] = record
                        break
                    self._skip(self._path, f"line {place.number}")
                else:
                    del self._places[key]
                    self._order = self._all = None
