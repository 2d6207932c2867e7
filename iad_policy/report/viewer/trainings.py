"""Folders that the page shows: runs, models, and folders of models such as those of `iad improve`."""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from iad_policy.errors import RunFolderError
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG
from iad_policy.report.viewer.trained import is_model, model_json, number_of, read_object, text_of
from iad_policy.trained.models import EPOCHS, MODEL, ROUNDS, TRAINING
from iad_policy.types.hashing import digest


class Trainings:
    """A model folder, or a folder of model folders, for reading; also while a training goes on.

    Args:
        folder: The folder. It may come from somebody else: no link in it is followed.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def version(self) -> str:
        """A name of all that is on disk now."""
        return digest(list(_states(self._files())))

    def as_json(self) -> dict[str, Any]:
        """Return the trainings, and the rounds that they belong to.

        Raises:
            ModelFolderError: A file can't be read, or is not what its name says.
        """
        is_one = is_model(self.folder)
        return {
            "name": self.folder.resolve().name,
            "is_one": is_one,
            "rounds": None if is_one else _rounds(self.folder),
            "models": [model_json(one) for one in ([self.folder] if is_one else _models(self.folder))],
        }

    def _files(self) -> Iterator[Path]:
        yield self.folder / ROUNDS
        for one in [self.folder, *_models(self.folder)]:
            yield from (one / name for name in (MODEL, TRAINING, EPOCHS))


def opened(folders: Iterable[Path | str]) -> tuple[list[Run], list[Trainings]]:
    """Return the runs and the trainings among folders, each in their order.

    Raises:
        RunFolderError: A folder holds neither.
        ModelFolderError: A file of a model folder can't be read.
    """
    runs, trainings = [], []
    for folder in map(Path, folders):
        if os.path.lexists(folder / CONFIG):
            runs.append(Run(folder))
        elif is_model(folder) or _models(folder) or os.path.lexists(folder / ROUNDS):
            trainings.append(Trainings(folder))
            trainings[-1].as_json()  # what can't be read is said now, not by the page
        else:
            raise RunFolderError(
                f"expected a run folder, a model folder or a folder of model folders, got {folder} without {CONFIG}, "
                f"{MODEL} or {TRAINING}; name one that iad run, iad train or iad improve wrote"
            )
    return runs, trainings


def _models(folder: Path) -> list[Path]:
    """Return the model folders in a folder, model-2 before model-10."""
    if not folder.is_dir():
        return []
    found = (one for one in folder.iterdir() if not one.is_symlink() and one.is_dir() and is_model(one))
    return sorted(found, key=lambda one: [(int(part), "") if part.isdecimal() else (-1, part) for part in _parts(one)])


def _parts(folder: Path) -> list[str]:
    return re.split(r"(\d+)", folder.name)


def _rounds(folder: Path) -> dict[str, Any] | None:
    """Return the rounds of `iad improve`; None where there are none, or they have not ended."""
    known = read_object(folder / ROUNDS)
    rewards = known.get("dev")
    if not isinstance(rewards, list):
        return None
    return {
        "method": text_of(known.get("method", "")),
        "points": [(place, reward) for place, one in enumerate(rewards) if (reward := number_of(one)) is not None],
        "best": number_of(known.get("best")),
    }


def _states(files: Iterable[Path]) -> Iterator[tuple[str, int, int]]:
    for path in files:
        if os.path.lexists(path):
            state = path.lstat()
            yield str(path), state.st_size, state.st_mtime_ns
