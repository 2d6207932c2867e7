"""The folder of a run: its configuration, every answer, every finished episode, and the summary.

    config.json      what was asked for, written first
    answers.jsonl    every answer, flushed as it arrives (`iad_policy.recording.answer_log`); long ones in blobs/
    episodes.jsonl   one line per finished episode, on disk before the next one starts
    summary.json     the table's figures, replaced as a whole
    report.html      all of it as a page

The same configuration goes on where it stopped; another one is refused.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from iad_policy.errors import IADError
from iad_policy.hashing import dumps
from iad_policy.recording.answer_log import ANSWERS, BLOBS, THUMBNAILS, AnswerLog
from iad_policy.recording.atomic import PART, write_atomically
from iad_policy.recording.episode_record import EPISODES, EpisodeRecord, read_episodes
from iad_policy.recording.folder_lock import FolderInUse, FolderLock, lock_folder
from iad_policy.recording.jsonl import LineFile, read_lines

CONFIG = "config.json"
SUMMARY = "summary.json"
REPORT = "report.html"
LOCK = ".lock"
ABSENT = object()
RESET = "reset"
"""The item of an answer that only the environment gave."""


class RunFolderError(IADError, ValueError):
    """A folder can't take the run: it holds another one, or is in use."""


class RunFolder:
    """A run on disk.

    Args:
        path: The folder; made if it is missing.
        config: What the run is, JSON-able.
        free: Parts of the configuration that may differ from the recorded one: they change no answer.
        is_fresh: Whether a run that the folder holds is forgotten first.

    Attributes:
        config: What the run is, as `config.json` has it.
        episodes: The episodes that are kept, by key.

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
        begun = {name for name in found if name.startswith(CONFIG) and name.endswith(PART)}
        if found - {LOCK} - begun and CONFIG not in found:
            raise RunFolderError(
                f"expected an empty or new folder, or one that holds a run, got {self.path} with other files; name "
                "another folder"
            )
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock: FolderLock = self._locked()
        try:
            if is_fresh:
                self._forget()
            self._settle(config, free)
            self._file = LineFile(self.path / EPISODES)
            self.episodes = read_episodes(self.path)
            finished = {key for key, record in self.episodes.items() if not record.is_unfinished}
            self.log = AnswerLog(self.path, without=finished)
        except BaseException:
            self._lock.close()
            raise

    def add(self, *records: EpisodeRecord) -> None:
        """Keep finished episodes; they are on disk when this returns. A later line with the same key replaces one.

        Raises:
            StorageError: It can't be written.
        """
        self._file.append(b"".join(dumps(record.as_json()).encode() + b"\n" for record in records), is_synced=True)
        self.episodes.update({record.key: record for record in records})

    @property
    def repaired(self) -> list[str]:
        """The files whose last line was not written to its end, and was cut off."""
        return [path for path, file in ((EPISODES, self._file), (ANSWERS, self.log)) if file.is_repaired]

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Replace the summary.

        Raises:
            StorageError: It can't be written; the old one is still there.
        """
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
        self.config: Mapping[str, Any] = json.loads(dumps(config))
        if not path.exists():
            _replace(path, self.config)
            return
        recorded = json.loads(path.read_text(encoding="utf-8"))
        differing = [
            said
            for name in sorted({*recorded, *self.config} - free)
            for said in _differences(name, recorded.get(name, ABSENT), self.config.get(name, ABSENT))
        ]
        if not differing:
            return
        if self._holds_answers():
            raise RunFolderError(
                f"expected the configuration that {self.path} holds, got another {', '.join(differing)}; name another "
                "folder (--out), forget what it holds (--fresh), or repeat the recorded command"
            )
        self._forget()
        _replace(path, self.config)

    def _holds_answers(self) -> bool:
        """Say whether anything was answered: where the first call failed there is nothing to lose."""
        episodes = read_episodes(self.path).values()
        answered = (line for line in read_lines(self.path / ANSWERS) if line.get("item") != RESET)
        return any(not record.is_unfinished for record in episodes) or any(True for _ in answered)

    def _locked(self) -> FolderLock:
        try:
            return lock_folder(self.path / LOCK)
        except FolderInUse:
            raise RunFolderError(
                f"expected a folder that no other process writes to, got {self.path}, which one does; wait for it, or "
                "name another folder"
            ) from None


def _differences(name: str, there: Any, now: Any) -> Iterator[str]:
    """Yield what differs, part by part, so that what is the same is not shown."""
    if there == now:
        return
    if isinstance(there, dict) and isinstance(now, dict):
        for part in sorted({*there, *now}):
            yield from _differences(f"{name}: {part}", there.get(part, ABSENT), now.get(part, ABSENT))
        return
    yield f"{name} (there {_shown(there, now)}, now {_shown(now, there)})"


def _shown(value: Any, other: Any) -> str:
    """Return a value; of a text of several words those that the other has not."""
    if value is ABSENT:
        return "not given"
    if isinstance(value, str) and isinstance(other, str):
        value = " ".join(word for word in value.split() if word not in other.split()) or value
    return json.dumps(value)


def _replace(path: Path, content: Mapping[str, Any]) -> None:
    with write_atomically(path, is_synced=True) as part:
        part.write_text(f"{json.dumps(content, indent=2, allow_nan=False)}\n", encoding="utf-8")
