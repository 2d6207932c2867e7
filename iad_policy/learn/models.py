"""Writes the folder of a model, and knows whether it is that of a training."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iad_policy.learn.trainable import Trainable
from iad_policy.trained.models import FORMAT, MODEL, SIMULATOR, Model, ModelFolderError, load_model
from iad_policy.types.atomic import write_atomically
from iad_policy.types.hashing import dumps


def write_model(folder: Path, backend: Trainable, facts: Mapping[str, Any]) -> Model:
    """Write a model's folder. `model.json` is written last, so that a folder with it is complete."""
    folder.mkdir(parents=True, exist_ok=True)
    backend.save(folder)
    whole = {"format": FORMAT, **facts, "backend_options": dict(backend.options)}
    with write_atomically(folder / MODEL, is_synced=True) as part:
        part.write_text(f"{dumps(whole)}\n", encoding="utf-8")
    return Model(folder, whole, backend)


def finished_model(folder: Path, asked: str) -> Model:
    """Return the model of a folder where training has ended.

    Args:
        folder: The folder.
        asked: Digest of what the training was to do.

    Raises:
        ModelFolderError: It is the model of another training.
    """
    recipe = SIMULATOR if _is_simulator(folder) else ""
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


def _is_simulator(folder: Path) -> bool:
    try:
        return bool(json.loads((folder / MODEL).read_text(encoding="utf-8"))["recipe"] == SIMULATOR)
    except (OSError, ValueError, TypeError, KeyError):
        return False
