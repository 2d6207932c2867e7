"""Reads a run folder, for all who read one: reports, the viewer, exports, learning, and runs of recorded answers."""

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, TypeVar

from iad_policy.errors import IADError, RunFolderError
from iad_policy.ledger.answer_log import (
    ANSWERS,
    BLOBS,
    FORMAT,
    THUMBNAILS,
    blob_place,
    blob_value,
    is_picture_place,
    whole_line,
)
from iad_policy.ledger.episode import Episode
from iad_policy.ledger.episode_index import EpisodeIndex
from iad_policy.ledger.episode_record import EPISODES, EpisodeRecord
from iad_policy.ledger.gc_pause import without_collector
from iad_policy.ledger.index import LogIndex
from iad_policy.ledger.run_folder import SUMMARISED, SUMMARY, read_config
from iad_policy.types.hashing import decode
from iad_policy.types.jsonl import warn_of
from iad_policy.types.regular_file import no_links, open_regular, read_regular

Made = TypeVar("Made")


class DamagedEpisode(IADError, ValueError):
    """A line or a blob of an episode can't be read. All other episodes of the run can."""


class Run:
    """The episodes of a run folder, for reading; also while the run goes on.

    Args:
        folder: The run folder. It may come from somebody else: nothing outside of it is read.
        skip: Function that is called with the file and the place of each damaged line of `episodes.jsonl`. It warns by
            default.
        is_whole: Whether the records of all episodes are read at once.

    Attributes:
        config: The content of `config.json`.
        episodes: The index of the finished episodes.
        damaged: Why an episode was found damaged, by key. It is looked for when an episode is read with `reading`.

    Raises:
        RunFolderError: It holds no run, or one in the format of a later version.
        OSError: A file of it can't be read, or is no regular file.
    """

    def __init__(
        self, folder: Path | str, *, skip: Callable[[Path, str], None] = warn_of, is_whole: bool = False
    ) -> None:
        self.folder = Path(folder)
        self._new_index = partial(EpisodeIndex, self.folder / EPISODES, skip=skip, is_whole=is_whole)
        self.config = read_config(self.folder)
        written = self.config.get("format", 1)
        if not isinstance(written, int) or written > FORMAT:
            raise RunFolderError(
                f"expected a run in format {FORMAT} or an earlier one, got {self.folder} in format {written!r:.20}, "
                f"which iad {self.config.get('iad_version')!s:.40} wrote; read it with that version"
            )
        no_links(self.folder, BLOBS, THUMBNAILS)
        self.damaged: dict[str, str] = {}
        self._begin()
        self.refresh()

    @cached_property
    def _blob(self) -> Callable[[str], Any]:
        return lru_cache(128)(self._read_blob)  # a page is seen before and after, and by several strategies

    def __getstate__(self) -> dict[str, Any]:
        self._indexed()  # so that not every process does it
        return {name: value for name, value in vars(self).items() if name != "_blob"}

    def _begin(self) -> None:
        self.episodes = self._new_index()
        self._index = LogIndex(self.folder / ANSWERS)
        self._is_indexed = False
        self._files: dict[str, int] = {}

    @without_collector()
    def refresh(self) -> bool:
        """Take in what was written since the last look; returns whether an episode was added."""
        read = {EPISODES: self.episodes.read_to, ANSWERS: self._index.read_to}
        found = {name: _file_and_size(self.folder / name) for name in read}
        if os.path.lexists(self.folder / ANSWERS):
            open_regular(self.folder / ANSWERS).close()  # what can't be read is said now
        if any(
            found[name][1] < n_bytes or (n_bytes and found[name][0] != self._files[name])
            for name, n_bytes in read.items()
        ):
            self._begin()  # the run was begun anew, or damaged lines were removed
        self._files = {name: file for name, (file, _) in found.items()}
        self._is_indexed = False
        return self.episodes.refresh()

    @property
    def records(self) -> dict[str, EpisodeRecord]:
        """The records of all finished episodes, by key. `episodes` reads those of a few."""
        return self.episodes.all()

    @property
    def summary(self) -> dict[str, Any]:
        """The content of `summary.json`; {} where there is none of the episodes read so far."""
        try:
            summary = json.loads(read_regular(self.folder / SUMMARY))
        except (OSError, ValueError, RecursionError):
            return {}
        return summary if isinstance(summary, dict) and summary.get(SUMMARISED) == self.size else {}

    @property
    def size(self) -> int:
        """Bytes of finished episodes read so far: it grows with every one, also one that is run again."""
        return self.episodes.read_to

    def episode(self, key: str) -> Episode:
        """Return one episode.

        Raises:
            KeyError: The run has no such episode, yet.
        """
        for record in self.episodes.records([key]):
            answers = self._indexed().answers(key)
            whole = {item: whole_line(line, self.value) for item, line in answers.items()}
            return Episode(record, whole, self.value)
        raise KeyError(f"expected the key of an episode of {self.folder}, got {key!r}")

    def _indexed(self) -> LogIndex:
        """Return the index of the log as it was at the last look. Lists of episodes need nothing of that large file."""
        if not self._is_indexed:
            self._index.refresh()
            self._is_indexed = True
        return self._index

    @contextmanager
    def reading(self, key: str) -> Iterator[Episode]:
        """Give one episode to a block that reads it. Values are read when they are asked for, so any may be damaged.

        Raises:
            KeyError: The run has no such episode, yet.
            DamagedEpisode: The episode or a value that the block asked for can't be read.
        """
        self.damaged.pop(key, None)
        try:
            n_skipped = self._indexed().n_skipped
            episode = self.episode(key)
            if self._index.n_skipped > n_skipped or (episode.record.is_scored and episode.lacks_lines):
                self.damaged[key] = f"{ANSWERS} lacks lines of the episode"
            yield episode
        except IADError:
            raise
        except Exception as error:  # a line of others may have anything anywhere
            self.damaged[key] = f"{type(error).__name__}: {error!s:.300}"
            raise DamagedEpisode(
                f"expected an episode of {self.folder} that can be read, got {key} with {self.damaged[key]}; repeat "
                "the run's command to run it again"
            ) from error

    def readable(self, keys: Iterable[str], make: Callable[[Episode], Made]) -> Iterator[tuple[str, Made]]:
        """Yield what a function makes of each episode, by key. A damaged one is left out, with a warning."""
        for key in keys:
            try:
                with self.reading(key) as episode:
                    made = make(episode)
            except DamagedEpisode as damaged:
                warnings.warn(f"{damaged}. It is left out", stacklevel=2)
            else:
                yield key, made

    def value(self, recorded: Any) -> Any:
        """Return a logged value; a long one is read from its blob.

        Raises:
            OSError: Its blob is missing, or is no regular file.
            ValueError: It or its blob is damaged.
        """
        if isinstance(recorded, str):
            return recorded
        if isinstance(recorded, dict) and "__parts__" in recorded:
            return {key: self.value(part) for key, part in recorded["__parts__"].items()}
        if isinstance(recorded, dict) and "__blob__" in recorded:
            return self._blob(recorded["__blob__"])
        return decode(recorded)

    def picture(self, path: str) -> bytes:
        """Return the PNG of a state's thumbnail; b"" where there is none.

        Raises:
            OSError: It can't be read, or is no regular file.
            ValueError: The path is not one of a thumbnail.
        """
        if not path:
            return b""
        if not is_picture_place(path):
            raise ValueError(f"expected a thumbnail, got {path!r:.100}")
        return read_regular(self.folder / path) if os.path.lexists(self.folder / path) else b""

    def _read_blob(self, name: str) -> Any:
        place = blob_place(name)
        return blob_value(place, read_regular(self.folder / place))


def _file_and_size(path: Path) -> tuple[int, int]:
    """Return the number of a file in its file system, and its size; zeros where there is none."""
    if not os.path.lexists(path):
        return 0, 0
    found = path.lstat()
    return found.st_ino, found.st_size
