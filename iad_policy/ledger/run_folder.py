"""Manages the folder of a run: its configuration, all answers, all finished episodes, and the summary.

    config.json      the configuration, written first
    answers.jsonl    every answer, flushed at once (`iad_policy.ledger.answer_log`); long ones in blobs/
    episodes.jsonl   one line per finished episode, on disk before the next one starts
    summary.json     the figures of the table, replaced as a whole
    report.txt       the whole table
    report.html      the whole run as a page

The same configuration resumes the run, also with more tasks or another baseline. Another one is refused.
"""

import json
import os
import shutil
from collections.abc import Callable, Collection, Container, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from iad_policy.errors import RunFolderError, StorageError
from iad_policy.ledger.answer_log import ANSWERS, BLOBS, THUMBNAILS, AnswerLog
from iad_policy.ledger.episode import RESET
from iad_policy.ledger.episode_index import EpisodeIndex
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord, episode_of
from iad_policy.ledger.folder_lock import FolderInUse, FolderLock, lock_folder
from iad_policy.types.atomic import PART, write_text
from iad_policy.types.hashing import dumps
from iad_policy.types.jsonl import LineFile, read_lines, warn_of
from iad_policy.types.regular_file import n_bytes_of, no_links, read_regular

CONFIG = "config.json"
SUMMARY = "summary.json"
SUMMARISED = "episodes_bytes"
"""Key of the summary: size of the recorded episodes that it was made of. A summary of others is not up to date."""
TABLE = "report.txt"
REPORT = "report.html"
SOURCES = "sources"
"""Key of the configuration: digests of the parts of the code of users' components, by component."""
LOCK = ".lock"
ABSENT = object()


class RunFolder:
    """A run on disk.

    Args:
        path: Path of the folder; created if missing.
        config: Configuration of the run, JSON-able.
        free: Keys of the configuration that may differ from the recorded one, because they change no answer.
        is_fresh: Whether a run in the folder is deleted first.
        damaged: Keys of recorded episodes that have to be run again, because the log lost answers of them. Damaged
            lines of the log are removed.

    Attributes:
        config: The configuration, as in `config.json`.
        episodes: The recorded episodes, by key.

    Raises:
        RunFolderError: The folder holds a run with another configuration or other files, is in use, can't be written,
            or a part of it is no regular file.
        StorageError: The configuration can't be written.
    """

    def __init__(
        self,
        path: Path | str,
        config: Mapping[str, Any],
        *,
        free: frozenset[str] = frozenset(),
        is_fresh: bool = False,
        damaged: Container[str] = (),
    ) -> None:
        self.path = Path(path)
        try:
            if self.path.exists() and not self.path.is_dir():
                raise RunFolderError(f"expected a folder for the run, got the file {self.path}; name another folder")
            self._open(config, free, is_fresh=is_fresh, damaged=damaged)
        except StorageError:
            raise
        except OSError as error:
            raise RunFolderError(
                f"expected a run folder that can be read and written, got {error.filename or self.path} "
                f"({error.strerror or error}); change that, or name another folder (--out)"
            ) from error

    def _open(
        self, config: Mapping[str, Any], free: frozenset[str], *, is_fresh: bool, damaged: Container[str]
    ) -> None:
        found = {one.name for one in self.path.iterdir()} if self.path.exists() else set()
        begun = {name for name in found if name.startswith(CONFIG) and name.endswith(PART)}
        if found - {LOCK} - begun and CONFIG not in found:
            raise RunFolderError(
                f"expected an empty or new folder, or one that holds a run, got {self.path} with other files; name "
                "another folder"
            )
        no_links(self.path, *sorted(found))
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            self._lock: FolderLock = lock_folder(self.path / LOCK)
        except FolderInUse as held:
            raise RunFolderError(
                f"expected a folder that no other process writes to, got {self.path}, which is {held}; wait for that "
                "process, or name another folder"
            ) from None
        try:
            if is_fresh:
                self._forget()
            self._settle(config, free)
            self._file = LineFile(self.path / EPISODES)
            try:
                self.episodes = self._recorded(damaged)
                finished = {key for key, record in self.episodes.items() if not record.is_unfinished}
                self.log = AnswerLog(self.path, without=finished, is_mended=bool(damaged))
            except BaseException:
                self._file.close()
                raise
        except BaseException:
            self._lock.close()
            raise

    def _recorded(self, damaged: Container[str]) -> dict[str, EpisodeRecord]:
        skipped: list[str] = []

        def skip(path: Path, where: str) -> None:
            skipped.append(where)
            warn_of(path, where)

        episodes = {key: one for key, one in self._episodes(skip).items() if key not in damaged}
        if skipped:
            self._file.remove_damaged_lines(lambda line: episode_of(line) is not None)
        return episodes

    def _episodes(self, skip: Callable[[Path, str], None]) -> dict[str, EpisodeRecord]:
        index = EpisodeIndex(self.path / EPISODES, skip=skip, is_whole=True)
        index.refresh()
        return index.all()

    def add(self, *records: EpisodeRecord) -> None:
        """Record finished episodes. They are on disk when this returns. A later line with the same key overrides one.

        Raises:
            StorageError: They can't be written.
        """
        self._file.append(b"".join(dumps(record.as_json()).encode() + b"\n" for record in records), is_synced=True)
        self.episodes.update({record.key: record for record in records})

    @property
    def repaired(self) -> list[str]:
        """The files whose incomplete last line was removed."""
        return [path for path, file in ((EPISODES, self._file), (ANSWERS, self.log)) if file.is_repaired]

    def write_summary(self, summary: Mapping[str, Any], table: str) -> None:
        """Replace the summary and the table. The summary also says of how many bytes of recorded episodes it is.

        Raises:
            StorageError: One can't be written. The old one is kept.
        """
        _replace(self.path / SUMMARY, {**summary, SUMMARISED: n_bytes_of(self.path / EPISODES)})
        write_text(self.path / TABLE, table)

    def close(self) -> None:
        """Close the files and release the lock. Closing twice is harmless."""
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
        # The configuration is deleted last: without it the other files would not be recognised as a run.
        for name in (BLOBS, THUMBNAILS):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for name in (REPORT, TABLE, SUMMARY, EPISODES, ANSWERS, CONFIG):
            (self.path / name).unlink(missing_ok=True)

    def _settle(self, config: Mapping[str, Any], free: frozenset[str]) -> None:
        path = self.path / CONFIG
        self.config: Mapping[str, Any] = json.loads(dumps(config))
        if not os.path.lexists(path):
            _replace(path, self.config)
            return
        recorded = read_config(self.path)
        there, now = recorded.get(SOURCES, {}), self.config.get(SOURCES, {})
        changed = {name for name in there.keys() & now.keys() if there[name] != now[name]}
        named = [_without_digests(one, changed) for one in (recorded, self.config)]
        differing = [
            *(f"version of {name} ({', '.join(_changed_parts(there[name], now[name]))})" for name in sorted(changed)),
            *(
                difference
                for name in sorted({*recorded, *self.config} - free - {SOURCES})
                for difference in _differences(name, named[0].get(name, ABSENT), named[1].get(name, ABSENT))
            ),
        ]
        if not differing:
            # Those of the latest command count: which tasks there are, and how they are compared.
            latest = ("baseline", "match", "tasks", "trained_here", "accepted")
            renewed = {name: self.config[name] for name in latest if name in self.config}
            if any(recorded.get(name, ABSENT) != value for name, value in renewed.items()):
                _replace(path, {**recorded, **renewed})
            return
        if self._holds_answers():
            agents = self.config.get("agent", ())
            agents = changed.intersection([agents] if isinstance(agents, str) else agents)
            accept = "keep the agent's recorded answers and go on with its new code (--accept-agent), "
            raise RunFolderError(
                f"expected the configuration that {self.path} holds, got another {', '.join(differing)}; "
                f"{accept if agents and len(differing) == len(agents) else ''}name another folder (--out), delete the "
                "recorded run (--fresh), or repeat the recorded command"
            )
        self._forget()
        _replace(path, self.config)

    def _holds_answers(self) -> bool:
        """Say whether there are answers. If the first call failed there are none, and nothing is lost."""
        episodes = self._episodes(warn_of).values()
        answered = (line for line in read_lines(self.path / ANSWERS) if line.get("item") != RESET)
        return any(not record.is_unfinished for record in episodes) or any(True for _ in answered)


def read_config(folder: Path) -> dict[str, Any]:
    """Return the content of a run folder's `config.json`.

    Raises:
        RunFolderError: The folder holds no run, or its `config.json` can't be read.
    """
    path = folder / CONFIG
    try:
        recorded = json.loads(read_regular(path))
    except (FileNotFoundError, NotADirectoryError):
        got = f"{folder} without {CONFIG}" if folder.exists() else f"{folder}, which does not exist"
        raise RunFolderError(f"expected a run folder, got {got}; name one that iad wrote") from None
    except (OSError, ValueError, RecursionError) as error:
        said = error.strerror if isinstance(error, OSError) else error
        raise RunFolderError(
            f"expected the configuration of a run in {path}, got a file that can't be read ({said}); restore it, or "
            "name another folder"
        ) from error
    if not isinstance(recorded, dict):
        raise RunFolderError(
            f"expected the configuration of a run in {path}, got {type(recorded).__name__}; restore it, or name "
            "another folder"
        )
    return recorded


def _changed_parts(there: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield what of a component's code was changed."""
    for part in sorted({*there, *now}):
        if there.get(part) != now.get(part):
            yield f"{part} {'is gone' if part not in now else 'is new' if part not in there else 'was changed'}"


def _without_digests(value: Any, names: Collection[str]) -> Any:
    """Return a configuration with the names of components instead of those names with digests of their code."""
    if isinstance(value, Mapping):
        return {key: _without_digests(part, names) for key, part in value.items()}
    name = value.rpartition(" ")[0] if isinstance(value, str) else ""
    return name if name in names else value


def _differences(name: str, there: Any, now: Any) -> Iterator[str]:
    """Yield the differences part by part, so that equal parts are not shown."""
    if there == now:
        return
    if isinstance(there, dict) and isinstance(now, dict):
        for part in sorted({*there, *now}):
            yield from _differences(f"{name}: {part}", there.get(part, ABSENT), now.get(part, ABSENT))
        return
    yield f"{name} (there {_shown(there, now)}, now {_shown(now, there)})"


def _shown(value: Any, other: Any) -> str:
    """Return a value as JSON. Of a text only the words that the other text lacks are shown."""
    if value is ABSENT:
        return "not given"
    if isinstance(value, str) and isinstance(other, str):
        value = " ".join(word for word in value.split() if word not in other.split()) or value
    return json.dumps(value)


def _replace(path: Path, content: Mapping[str, Any]) -> None:
    write_text(path, f"{json.dumps(content, indent=2, allow_nan=False)}\n", is_synced=True)
