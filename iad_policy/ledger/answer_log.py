"""Records the answers of a run: one line per item, flushed at once. This log is the primary record of the run.

Every line has its episode, its item (`decision.request.item`), a digest of the question, the answer and its cost. A
second run replays recorded answers up to the first that is missing or whose question changed. Long observations are
stored once, by content, in `blobs/`, and so is a long line: the log then has one of the kind `long` that names it.
"""

import json
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.errors import ContractError
from iad_policy.ledger.index import LONG, LogIndex, is_answer
from iad_policy.types import NOTHING, Usage
from iad_policy.types.atomic import write_atomically
from iad_policy.types.hashing import decode, digest, dumps, encode
from iad_policy.types.jsonl import LineFile, record_of
from iad_policy.types.regular_file import MAX_BYTES, n_bytes_of, no_links, read_regular
from iad_policy.types.secrets import MASK, masked

ANSWERS = "answers.jsonl"
BLOBS = "blobs"
THUMBNAILS = "thumbnails"
MASKED = "masked"
"""Key of a line whose answer had secrets in it. A run that goes on asks for it again."""
FORMAT = 2
"""What the lines of a log have. `config.json` names it; version 0.1 had no number. Since 2 a line has the `exchanges`
with language models that led to it: each prompt as sent, the text as sampled, finish reason and sampling. A verdict
says what its score is `of` and whether it is `revised`, an outcome where (`at`) and by which `draw` it was simulated,
and a role's text what its `subject` was. Readers skip lines of a kind that they don't know."""

LONG_LINE = 2**20
"""Bytes of the longest line that the log has itself. Readers take no line of more than `MAX_LINE`."""


class Log(ABC):
    """Stores the answers of a run: lines, and the long values and pictures that lines refer to.

    Secrets are replaced in what is stored. A line says if they were in the answer, as it can't be replayed then.
    """

    def __init__(self) -> None:
        self._masked: set[str] = set()  # names of blobs in which something was replaced

    def append(self, *records: Mapping[str, Any]) -> None:
        """Write lines in one go.

        Raises:
            ContractError: One is too long to be read again.
            StorageError: They can't be written.
        """
        self.write("".join(f"{self._line(record)}\n" for record in records).encode())

    def _line(self, record: Mapping[str, Any]) -> str:
        line = dumps(record)
        if MASK in line or self._masked:
            answer = json.dumps({name: part for name, part in record.items() if name != "exchanges"})
            if masked(answer) != answer or any(name in answer for name in self._masked):
                line = dumps({**record, MASKED: True})
        if len(line) <= LONG_LINE:
            return line
        if len(line) > MAX_BYTES // 2:  # in the blob, quotes and backslashes are escaped once more
            raise ContractError(
                f"expected an answer that takes at most {MAX_BYTES // 2:,} bytes in the log, got a {record['kind']} of "
                f"{len(line):,}; shorten the texts of agents, verifiers and roles"
            )
        return dumps({"episode": record["episode"], "item": record["item"], "kind": LONG, "line": self.put(line)})

    def put(self, value: Any) -> Any:
        """Return a JSON-able form of a value. A long text or large array becomes a reference to its blob."""
        size = len(value) if isinstance(value, str) else getattr(value, "nbytes", 0)
        if size <= 1024:
            return encode(value)
        shown = masked(value)
        name = digest(shown)
        if shown is not value:
            self._masked.add(name)
        self.keep(blob_place(name), lambda: json.dumps(encode(shown)).encode())
        return {"__blob__": name}

    def put_list(self, values: Sequence[Any]) -> Any:
        """Return a JSON-able form of a list or tuple. A long one becomes a reference to its blob."""
        encoded = encode(values)
        text = json.dumps(encoded)
        if len(text) <= 4096:  # the documents of functions are longer
            return encoded
        shown = masked(text)
        name = digest(shown)
        if shown is not text:
            self._masked.add(name)
        self.keep(blob_place(name), shown.encode)
        return {"__blob__": name}

    def put_picture(self, png: bytes) -> str:
        """Store a picture once, by content, and return its path in the folder."""
        path = f"{THUMBNAILS}/{digest(png)}.png"
        self.keep(path, lambda: png)
        return path

    def get(self, value: Any) -> Any:
        """Return the value that was passed to `put`. The parts of a Dict observation were passed one by one.

        Raises:
            OSError: Its blob is missing.
            ValueError: Its blob is damaged.
        """
        if isinstance(value, dict) and "__parts__" in value:
            return {key: self.get(part) for key, part in value["__parts__"].items()}
        if isinstance(value, dict) and "__blob__" in value:
            place = blob_place(value["__blob__"])
            return blob_value(place, self.kept(place))
        return decode(value)

    @abstractmethod
    def write(self, lines: bytes) -> None:
        """Write whole lines."""

    @abstractmethod
    def keep(self, place: str, content: Callable[[], bytes]) -> None:
        """Store content at a path in the folder, unless the file exists."""

    @abstractmethod
    def kept(self, place: str) -> bytes:
        """Return the content at a path in the folder.

        Raises:
            OSError: The file is missing, or is no regular file.
        """


class AnswerLog(Log):
    """The answers of one run, in a folder.

    An episode's records are read when it starts. Memory holds only their positions in the file.

    Args:
        folder: Folder of `answers.jsonl` and `blobs/`; created if missing. An incomplete last line is removed.
        without: Episodes whose answers are not needed.
        is_mended: Whether the damaged lines of all episodes are removed. Else it is those that are met at once.

    Raises:
        OSError: A part of it is no regular file, or can't be opened.
    """

    def __init__(self, folder: Path | str, *, without: Container[str] = (), is_mended: bool = False) -> None:
        super().__init__()
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        no_links(self.folder, BLOBS, THUMBNAILS)
        self._file = LineFile(self.folder / ANSWERS)
        self.is_repaired = self._file.is_repaired
        self._whole: set[str] = set()
        try:
            self._index = LogIndex(self._file.path, without=without)
            self._index.refresh()
            if is_mended or self._index.n_skipped:
                self._file.remove_damaged_lines(lambda line: is_answer(record_of(line)))
                self._index = LogIndex(self._file.path, without=without)
                self._index.refresh()
        except BaseException:
            self._file.close()
            raise

    def episode(self, key: str) -> "EpisodeLog":
        """Return the part of the log that belongs to one episode.

        Answers whose blobs or pictures can't be read are left out. They are asked again, and these written again.
        """
        answers = self._index.answers(key)
        self._index.forget(key)
        read = {item: self._read(line) for item, line in answers.items()}
        return EpisodeLog(self, key, {item: line for item, line in read.items() if line is not None})

    def _read(self, line: dict[str, Any]) -> dict[str, Any] | None:
        with suppress(OSError, ValueError):
            if self._is_whole(line) and self._is_whole(whole := whole_line(line, self.get)):
                return whole
        return None

    def _is_whole(self, line: Mapping[str, Any]) -> bool:
        try:
            has_blobs = not [place for place in blobs_named(line) if not self._is_kept(place)]
            return has_blobs and self._has_picture(line.get("thumbnail", ""))
        except (ValueError, RecursionError):
            return False

    def _is_kept(self, place: str) -> bool:
        """Say whether a blob can be read. A damaged one is deleted, as one that exists is not written again."""
        if place not in self._whole:
            try:
                blob_value(place, self.kept(place))
            except (OSError, ValueError):
                with suppress(OSError):
                    (self.folder / place).unlink()
                return False
            self._whole.add(place)
        return True

    def _has_picture(self, path: Any) -> bool:
        """Say whether a picture can be read. One that is missing is only not shown."""
        if not path or not is_picture_place(path):
            return not path
        place = self.folder / path
        if not os.path.lexists(place) or n_bytes_of(place):
            return True
        with suppress(OSError):
            place.unlink()
        return False

    def write(self, lines: bytes) -> None:
        """Write whole lines. The operating system has them when this returns.

        Raises:
            StorageError: They can't be written.
        """
        self._file.append(lines)

    def keep(self, place: str, content: Callable[[], bytes]) -> None:
        """Write a file of the folder, unless it exists.

        Raises:
            StorageError: It can't be written.
        """
        path = self.folder / place
        if n_bytes_of(path):  # a power cut may leave an empty one
            return
        with write_atomically(path) as part:
            path.parent.mkdir(exist_ok=True)
            part.write_bytes(content())

    def kept(self, place: str) -> bytes:
        """Return the content of a file of the folder."""
        return read_regular(self.folder / place)

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        self._file.close()


class AnswerLine(NamedTuple):
    """One answer to be written, with its item, the digest of its question, its record, its cost and its subject."""

    item: str
    question: str
    record: Mapping[str, Any]
    usage: Usage = NOTHING
    about: str = ""


class EpisodeLog:
    """The recorded and new answers of one episode."""

    def __init__(self, log: Log, key: str, records: dict[str, dict[str, Any]]) -> None:
        self._log = log
        self._records = records
        self.key = key
        self.put = log.put
        self.put_list = log.put_list
        self.get = log.get
        self.put_picture = log.put_picture
        self.n_replayed = 0
        self._items: list[str] = []

    @property
    def answers(self) -> Mapping[str, dict[str, Any]]:
        """Recorded answers that were not replayed yet, by item."""
        return self._records

    def recorded(self, item: str, question: str) -> dict[str, Any] | None:
        """Return the recorded answer to a question, or None if it has to be asked.

        A record whose question differs belongs to another trajectory. It and all records that were not replayed yet are
        dropped. The log records that, so that they don't come back when the new trajectory is replayed later.
        """
        record = self._records.pop(item, None)
        if record is None:
            return None
        if record["question"] != question:
            self.drop(item)
            return None
        if record.get(MASKED) and record["kind"] != "step":  # a step's record is compared by a digest, not replayed
            return None
        self.n_replayed += 1
        self._items.append(item)
        return record

    def drop(self, *items: str) -> None:
        """Drop all records that were not replayed yet, and those of `items`. They will be asked again."""
        dropped = [*items, *self._records]
        if dropped:
            self._log.append({"episode": self.key, "item": dropped[0], "kind": "left", "dropped": dropped})
            self._records.clear()

    def restart(self) -> None:
        """Drop all answers, replayed and new ones included: the episode begins again."""
        self.drop(*self._items)
        self._items.clear()

    def write(self, *lines: AnswerLine) -> None:
        """Add answers."""
        self._items += [line.item for line in lines]
        self._log.append(*(self._record(line) for line in lines))

    def _record(self, line: AnswerLine) -> dict[str, Any]:
        record = {"episode": self.key, "item": line.item, "question": line.question, **line.record}
        if line.about:
            record["about"] = line.about
        if line.usage:
            record["usage"] = line.usage.as_dict()
        return record


def whole_line(line: dict[str, Any], value: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a line as it was written; a long one is read from its blob.

    Raises:
        OSError: Its blob is missing.
        ValueError: Its blob is damaged.
    """
    if line["kind"] != LONG:
        return line
    text = value(line["line"])
    record = record_of(text.encode()) if isinstance(text, str) else None
    if record is None or not is_answer(record):
        raise ValueError(f"expected a line of the log in its blob, got {text!r:.100}")
    return record


def blobs_named(value: Any) -> Iterator[str]:
    """Yield the paths of the blobs that a record refers to."""
    if isinstance(value, dict):
        if "__blob__" in value:
            yield blob_place(value["__blob__"])
        else:
            for part in value.values():
                yield from blobs_named(part)
    elif isinstance(value, list):
        for part in value:
            yield from blobs_named(part)


def blob_place(name: Any) -> str:
    """Return the path of a blob in the run folder.

    Raises:
        ValueError: It is not the name of a blob, but maybe of a file elsewhere.
    """
    if not isinstance(name, str) or not re.fullmatch("[0-9a-f]{32}", name):
        raise ValueError(f"expected 32 hex digits as the name of a blob, got {name!r:.100}")
    return f"{BLOBS}/{name}.json"


def blob_value(place: str, content: bytes) -> Any:
    """Return the value of a blob.

    Raises:
        ValueError: It is damaged.
    """
    try:
        value = json.loads(content)
    except RecursionError as error:
        raise ValueError(f"expected a value in {place}, got one that is nested too deep") from error
    if not _is_named_after(value, content, place):
        raise ValueError(f"expected the value that {place} is named after, got another one")
    return decode(value)


def _is_named_after(value: Any, content: bytes, place: str) -> bool:
    """Say whether a blob has the value that it is named after, as far as that can be told.

    Texts are named by themselves, and lists by their JSON. The name of an array depends on more than what is stored.
    """
    if isinstance(value, str):
        return blob_place(digest(value)) == place
    if isinstance(value, dict) and any(str(key).startswith("__") for key in value):
        return True
    return isinstance(value, list | dict) and blob_place(digest(content.decode())) == place


def is_picture_place(path: Any) -> bool:
    """Say whether a path is one that `put_picture` returns."""
    return isinstance(path, str) and re.fullmatch(rf"{THUMBNAILS}/[0-9a-f]{{32}}\.png", path) is not None
