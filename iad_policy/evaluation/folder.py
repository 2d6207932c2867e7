"""The folder of a run: its configuration, every answer, every finished episode, and the summary.

    config.json      what was asked for, written first
    answers.jsonl    every answer, flushed as it arrives (`iad_policy.log`); long ones in blobs/
    episodes.jsonl   one line per finished episode, on disk before the next one starts
    summary.json     the table's figures, replaced as a whole
    report.html      all of it as a page

The same configuration goes on where it stopped; another one is refused.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from iad_policy.digest import dumps
from iad_policy.errors import IADError
from iad_policy.evaluation.episodes import EpisodeRecord
from iad_policy.log import ANSWERS, BLOBS, THUMBNAILS, AnswerLog, cut_torn_line, read_lines

CONFIG = "config.json"
EPISODES = "episodes.jsonl"
SUMMARY = "summary.json"
REPORT = "report.html"
LOCK = ".lock"
PART = ".part"
"""Of a file that is being written."""


class RunFolderError(IADError, ValueError):
    """A folder can't take the run: it holds another one, or is in use."""


class RunFolder:
    """A run on disk.

    Args:
        path: The folder; made if it is missing.
        config: What the run is, JSON-able.
        free: Parts of the configuration that may differ from the recorded one: they change no answer.
        is_fresh: Whether a run that the folder holds is forgotten first.

    Raises:
        RunFolderError: It holds a run with another configuration, or something that is no run, or is in use.
    """

    def __init__(
        self,
        path: Path | str,
        config: Mapping[str, Any],
        *,
        free: frozenset[str] = frozenset(),
        is_fresh: bool = False,
    ) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise RunFolderError(f"expected a folder for the run, got the file {self.path}; name another folder")
        found = {one.name for one in self.path.iterdir()} if self.path.exists() else set()
        if found - {LOCK, f"{CONFIG}{PART}"} and CONFIG not in found:
            raise RunFolderError(
                f"expected an empty or new folder, or one that holds a run, got {self.path} with other files; name "
                "another folder"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock: BinaryIO = self._locked()
        try:
            if is_fresh:
                self._forget()
            self._settle(config, free)
            cut_torn_line(self.path / EPISODES)
            lines = read_lines(self.path / EPISODES)
            self.episodes = {line["key"]: EpisodeRecord.of(line) for line in lines}
            self._file: BinaryIO = (self.path / EPISODES).open("ab", buffering=0)
            self.log = AnswerLog(self.path)
        except BaseException:
            self._lock.close()
            raise

    def add(self, record: EpisodeRecord) -> None:
        """Keep a finished episode; it is on disk when this returns. A later line with the same key replaces it."""
        self._file.write(dumps(record.as_json()).encode() + b"\n")
        os.fsync(self._file.fileno())
        self.episodes[record.key] = record

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Replace the summary."""
        _replace(self.path / SUMMARY, summary)

    def close(self) -> None:
        """Close the files and let others in; closing twice is harmless."""
        self.log.close()
        self._file.close()
        self._lock.close()

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _forget(self) -> None:
        # The configuration goes last: without it the rest would be taken for somebody's files.
        for name in (BLOBS, THUMBNAILS):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in (REPORT, SUMMARY, EPISODES, ANSWERS, CONFIG):
            (self.path / name).unlink(missing_ok=True)

    def _settle(self, config: Mapping[str, Any], free: frozenset[str]) -> None:
        path = self.path / CONFIG
        given = json.loads(dumps(config))
        if not path.exists():
            _replace(path, given)
            return
        recorded = json.loads(path.read_text(encoding="utf-8"))
        differing = [
            f"{name} (there {_shown(recorded, name)}, now {_shown(given, name)})"
            for name in sorted({*recorded, *given} - free)
            if recorded.get(name) != given.get(name)
        ]
        if differing:
            raise RunFolderError(
                f"expected the configuration that {self.path} holds, got another {', '.join(differing)}; name another "
                "folder, or repeat the recorded command"
            )

    def _locked(self) -> BinaryIO:
        lock = (self.path / LOCK).open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            raise RunFolderError(
                f"expected a folder that no other process writes to, got {self.path}, which one does; wait for it, or "
                "name another folder"
            ) from None
        return lock


def _shown(config: Mapping[str, Any], name: str) -> str:
    return json.dumps(config[name]) if name in config else "not given"


def _replace(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file so that a reader sees the old or the new one, never a part."""
    part = path.with_name(f"{path.name}{PART}")
    with part.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, allow_nan=False)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
