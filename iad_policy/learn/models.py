"""Writes the folder of a model, and the checkpoints from which a training goes on after a kill."""

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from iad_policy.errors import StorageError
from iad_policy.learn.trainable import Trainable
from iad_policy.ledger.folder_lock import FolderInUse, lock_folder
from iad_policy.ledger.run_folder import LOCK
from iad_policy.trained.models import FORMAT, MODEL, TRAINING, Model, ModelFolderError, load_model
from iad_policy.types.atomic import write_text
from iad_policy.types.hashing import dumps
from iad_policy.types.regular_file import no_links

CHECKPOINT = "checkpoint"
STATE = "state.json"


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold a model's folder while it is trained. Of processes that train together, the first one holds it.

    Raises:
        ModelFolderError: Another process trains there.
        StorageError: The disk is full.
        OSError: Something in it is a link, or it can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    no_links(folder, *(str(path.relative_to(folder)) for path in folder.rglob("*")))
    with ExitStack() as held:
        try:
            if is_first_process():
                held.enter_context(closing(lock_folder(folder / LOCK)))
        except FolderInUse as other:
            raise ModelFolderError(
                f"expected a folder in which no other process trains, got {folder}, which is {other}; wait for that "
                "training, or name another folder (--out)"
            ) from None
        try:
            yield
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise StorageError(folder, error) from error
            raise


def is_first_process() -> bool:
    """Return whether this process is the one that writes, as accelerate and torchrun say it."""
    return os.environ.get("RANK", "0") == "0"


def write_model(folder: Path, backend: Trainable, facts: Mapping[str, Any]) -> Model:
    """Write a model's folder, and delete its checkpoints. A folder with `model.json`, written last, is complete."""
    backend.save(folder)
    whole = {"format": FORMAT, **facts, "backend_options": dict(backend.options)}
    write_text(folder / MODEL, f"{dumps(whole)}\n", is_synced=True)
    (folder / STATE).unlink(missing_ok=True)
    for checkpoint in folder.glob(f"{CHECKPOINT}*"):
        shutil.rmtree(checkpoint, ignore_errors=True)  # of processes that train together, another one deletes it, too
    return Model(folder, whole, backend)


def finished_model(folder: Path, asked: str, recipe: str = "") -> Model:
    """Return the model of a folder where training has ended.

    Args:
        folder: The folder.
        asked: Digest of what the training was to do.
        recipe: Its recipe, if it was to train a simulator.

    Raises:
        ModelFolderError: It is the model of another training.
    """
    known = load_model(folder, recipe=recipe)
    require_same(folder, known.facts["asked"], asked)
    return known


def require_same(folder: Path, recorded: str, asked: str) -> None:
    """Refuse a folder of another training, finished or not.

    Raises:
        ModelFolderError: The digests of what was asked differ.
    """
    if recorded != asked:
        raise ModelFolderError(
            f"expected a folder for this training, got {folder}, which holds a model of other runs or options; name "
            "another folder, or delete this one"
        )


def write_checkpoint(folder: Path, name: str, models: Mapping[str, Trainable], **state: Any) -> None:
    """Replace the checkpoint. A kill leaves the old or the new one, as the state names the folder of its parameters.

    Args:
        folder: The model's folder.
        name: What the checkpoint's folder is called.
        models: What is trained: folder in the checkpoint -> model.
        state: What else `state.json` has to say; `asked` among it.
    """
    at = f"{CHECKPOINT}-{name}"
    for kind, model in models.items():
        (folder / at / kind).mkdir(parents=True, exist_ok=True)
        model.save(folder / at / kind)
    write_text(folder / STATE, f"{dumps({'at': at, **state})}\n")
    for other in folder.glob(f"{CHECKPOINT}-*"):
        if other.name != at:
            shutil.rmtree(other)


def read_checkpoint(folder: Path, models: Mapping[str, Trainable], asked: str) -> dict[str, Any] | None:
    """Give models their parameters of the last checkpoint, and return its state; None if there is no checkpoint.

    Raises:
        ModelFolderError: It is of another training.
    """
    if not (folder / STATE).exists():
        return None
    state: dict[str, Any] = json.loads((folder / STATE).read_text(encoding="utf-8"))
    require_same(folder, state["asked"], asked)
    for kind, model in models.items():
        model.load(folder / state["at"] / kind)
    return state


def keep_lines(folder: Path, n_lines: int) -> None:
    """Drop the lines of epochs that a kill lost."""
    path = folder / TRAINING
    with suppress(FileNotFoundError):
        lines = path.read_text(encoding="utf-8").splitlines()
        path.write_text("".join(f"{line}\n" for line in lines[:n_lines]), encoding="utf-8")
