"""The answer log: the truth of a run, one line per item, flushed as it arrives.

Every line names its episode, its item (`decision.request.item`), what was asked (a digest of the question), the answer
and what it cost. Running again replays recorded answers until the first that is missing or whose question changed.
Long observations are kept once, by content, in `blobs/`.
"""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Lock, get_ident
from typing import Any, BinaryIO, NamedTuple

from iad_policy.digest import decode, digest, dumps, encode
from iad_policy.types import NOTHING, Usage

ANSWERS = "answers.jsonl"
BLOBS = "blobs"
THUMBNAILS = "thumbnails"
BLOB_CHARS = 1024


class AnswerLog:
    """The answers of one run, in a folder.

    Args:
        folder: Where `answers.jsonl` and `blobs/` are, or will be. A torn last line is cut off.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._blobs: set[str] = set()
        self._lock = Lock()
        self._records: dict[str, dict[str, dict[str, Any]]] = {}
        path = self.folder / ANSWERS
        cut_torn_line(path)
        for record in read_lines(path):
            self._take_in(record)
        self._file: BinaryIO = path.open("ab", buffering=0)

    def episode(self, key: str) -> "EpisodeLog":
        """Return the part of the log that belongs to one episode."""
        return EpisodeLog(self, key, self._records.get(key, {}))

    def _take_in(self, record: dict[str, Any]) -> None:
        records = self._records.setdefault(record["episode"], {})
        if record["kind"] == "left":
            for item in record["dropped"]:
                records.pop(item, None)
        else:
            records[record["item"]] = record

    def append(self, *records: Mapping[str, Any]) -> None:
        """Write lines in one go; they are with the operating system when this returns."""
        lines = "".join(f"{dumps(record)}\n" for record in records).encode()
        with self._lock:
            self._file.write(lines)

    def put(self, value: Any) -> Any:
        """Return a JSON-able form of a value, a long text or large array by reference to its blob."""
        size = len(value) if isinstance(value, str) else getattr(value, "nbytes", 0)
        if size <= BLOB_CHARS:
            return encode(value)
        name = digest(value)
        if name not in self._blobs:
            self._keep(f"{BLOBS}/{name}.json", lambda: json.dumps(encode(value)).encode())
            self._blobs.add(name)
        return {"__blob__": name}

    def put_picture(self, png: bytes) -> str:
        """Keep a picture once, by content; returns its path in the folder."""
        path = f"{THUMBNAILS}/{digest(png)}.png"
        self._keep(path, lambda: png)
        return path

    def _keep(self, place: str, content: Callable[[], bytes]) -> None:
        path = self.folder / place
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}.{get_ident()}.part")
            part.write_bytes(content())
            part.replace(path)

    def get(self, value: Any) -> Any:
        """Return what `put` was given."""
        if isinstance(value, dict) and "__blob__" in value:
            value = json.loads((self.folder / BLOBS / f"{value['__blob__']}.json").read_text(encoding="utf-8"))
        return decode(value)

    def close(self) -> None:
        """Close the file; closing twice is harmless."""
        self._file.close()


class Line(NamedTuple):
    """One answer to be written: its item, what was asked (a digest), its record, cost, and what it is about."""

    item: str
    question: str
    record: Mapping[str, Any]
    usage: Usage = NOTHING
    about: str = ""


class EpisodeLog:
    """Recorded and new answers of one episode."""

    def __init__(self, log: AnswerLog, key: str, records: dict[str, dict[str, Any]]) -> None:
        self._log = log
        self._records = records
        self.key = key
        self.put = log.put
        self.get = log.get
        self.put_picture = log.put_picture
        self.n_replayed = 0

    def recorded(self, item: str, question: str) -> dict[str, Any] | None:
        """Return the recorded answer to a question, or None when it has to be asked.

        A record whose question differs belongs to another course of events: it and all that were not replayed yet are
        dropped, and the log says so, or they would come back when the new course is replayed in its turn.
        """
        record = self._records.pop(item, None)
        if record is None:
            return None
        if record["question"] != question:
            self.drop(item)
            return None
        self.n_replayed += 1
        return record

    def drop(self, *items: str) -> None:
        """Drop all records that were not replayed yet, and those of `items`: they will be asked anew."""
        dropped = [*items, *self._records]
        if dropped:
            self._log.append({"episode": self.key, "item": dropped[0], "kind": "left", "dropped": dropped})
            self._records.clear()

    def write(self, *lines: Line) -> None:
        """Add answers."""
        self._log.append(*(self._record(line) for line in lines))

    def _record(self, line: Line) -> dict[str, Any]:
        record = {"episode": self.key, "item": line.item, "question": line.question, **line.record}
        if line.about:
            record["about"] = line.about
        if line.usage:
            record["usage"] = line.usage.as_dict()
        return record


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Read a file of JSON lines; a line that is no JSON object is left out with a warning that names it."""
    if not path.exists():
        return
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if isinstance(record, dict):
                yield record
            else:
                warnings.warn(f"{path}, line {number}: expected a JSON object; the line is left out", stacklevel=2)


def cut_torn_line(path: Path) -> None:
    """Cut a last line that was not written to its end."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        content = file.read()
        if content and not content.endswith(b"\n"):
            file.truncate(content.rfind(b"\n") + 1)
