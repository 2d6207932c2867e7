"""Fits a model to examples: epochs of steps, watched, written down, and continued after a kill."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from iad_policy.learn.examples import Examples
from iad_policy.learn.models import keep_lines, read_checkpoint, write_checkpoint
from iad_policy.learn.progress import advance
from iad_policy.learn.trainable import Fitted, Schedule, Trainable
from iad_policy.trained.heads import Array
from iad_policy.trained.models import TRAINING
from iad_policy.types.hashing import dumps, seed_of


def fit(
    model: Trainable,
    examples: Examples,
    schedule: Schedule,
    *,
    folder: Path,
    seed: int = 0,
    asked: str = "",
    checkpoint_s: float = 1.0,
) -> Fitted:
    """Change a model's parameters to fit examples.

    Args:
        model: The model. If the folder has a checkpoint, its parameters are replaced by those.
        examples: What to fit.
        schedule: How long.
        folder: Where checkpoints and `training.jsonl` are written. Training goes on from the last whole epoch there.
        seed: Seed of the order of the examples.
        asked: Digest of what the training is to do. A checkpoint of another one is not continued.
        checkpoint_s: Least seconds between two checkpoints. A rerun goes on from the last one and comes to the same
            parameters.

    Raises:
        ModelFolderError: The folder has a checkpoint of another training.
        NotFinite: The loss is no number. The last checkpoint is kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    whole = model.batch(examples.rows)
    start = model.reference(whole) if schedule.max_kl is not None else None
    state = read_checkpoint(folder, {"": model}, asked)
    fitted = Fitted(model)
    if state is not None:
        fitted = Fitted(model, state["n_epochs"], state["loss"], state["kl"], state["stopped"])
    keep_lines(folder, fitted.n_epochs + bool(fitted.stopped))
    saved_s = monotonic()
    with (folder / TRAINING).open("a", encoding="utf-8") as log:
        for epoch in range(fitted.n_epochs, schedule.epochs):
            if fitted.stopped:
                break
            before = model.copy() if start is not None else None
            losses = []
            for rows in _batches(examples, schedule.batch, seed_of("fit", seed, epoch)):
                batch = whole if rows is None else model.batch([examples.rows[row] for row in rows])
                stored = {name: one if rows is None else one[rows] for name, one in examples.stored.items()}
                if rows is not None and "side" in stored:
                    stored["side"] = renumbered(stored["side"])
                losses.append(model.step(batch, examples.objective, stored))
            kl = None if start is None else model.divergence(whole, start)
            loss = float(np.mean(losses))
            is_too_far = kl is not None and schedule.max_kl is not None and kl > schedule.max_kl
            line = {"epoch": epoch, "loss": loss, **({} if kl is None else {"kl": kl}), "is_kept": not is_too_far}
            log.write(f"{dumps(line)}\n")
            log.flush()
            advance("training", epoch + 1, schedule.epochs)
            if before is not None and is_too_far:
                reason = f"the KL from the start rose to {kl:.2f} nat, above {schedule.max_kl:g}"
                fitted = replace(fitted, model=before, stopped=reason)
            else:
                fitted = Fitted(model, epoch + 1, loss, kl)
            if monotonic() - saved_s >= checkpoint_s:
                _write(fitted, folder, asked)
                saved_s = monotonic()
    _write(fitted, folder, asked)
    return fitted


def _write(fitted: Fitted, folder: Path, asked: str) -> None:
    name = f"{fitted.n_epochs}{'-end' if fitted.stopped else ''}"
    known = {"n_epochs": fitted.n_epochs, "loss": fitted.loss, "kl": fitted.kl, "stopped": fitted.stopped}
    write_checkpoint(folder, name, {"": fitted.model}, asked=asked, **known)


def _batches(examples: Examples, size: int | None, seed: int) -> Iterator[Any]:
    """Yield the rows of each batch; None for all rows."""
    if size is None or size >= examples.n_units:
        yield None
        return
    order = np.random.default_rng(seed).permutation(examples.n_units)
    for first in range(0, len(order), size):
        yield np.flatnonzero(np.isin(examples.unit, order[first : first + size]))


def renumbered(side: Array) -> Array:
    """Return the sides of some pairs, numbered from 0 without gaps."""
    pair, which = np.divmod(side.astype(int), 2)
    _, place = np.unique(pair, return_inverse=True)
    numbered: Array = (2 * place + which).astype(float)
    return numbered
