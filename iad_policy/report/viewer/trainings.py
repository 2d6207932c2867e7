"""Folders that the page shows: runs, models, and folders of models such as those of `iad improve`.

A model folder becomes plain JSON: what was trained, on what, and the curves of its training. Folders may come from
somebody else: no link in them is followed, and their files may have anything anywhere.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from iad_policy.errors import RunFolderError
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import CONFIG
from iad_policy.trained.models import EPOCHS, MODEL, ROUNDS, TRAINING, ModelFolderError
from iad_policy.types.hashing import digest
from iad_policy.types.jsonl import read_lines
from iad_policy.types.regular_file import read_regular

MAX_POINTS = 300
"""Points of a curve. Of longer ones every k-th is shown, and those with a mark."""
UNITS = ("epoch", "update", "step")
"""What a line of a training belongs to. Files count all but steps from 0."""
Line = Mapping[str, Any]


class Trainings:
    """A model folder, or a folder of model folders, for reading; also while a training goes on.

    Args:
        folder: The folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def version(self) -> str:
        """A name of all that is on disk now."""
        files = [one / name for one in [self.folder, *_models(self.folder)] for name in (MODEL, TRAINING, EPOCHS)]
        states = []
        for path in [self.folder / ROUNDS, *files]:
            if os.path.lexists(path):
                state = path.lstat()
                states.append((str(path), state.st_size, state.st_mtime_ns))
        return digest(states)

    def as_json(self) -> dict[str, Any]:
        """Return the trainings, and the rounds that they belong to.

        Raises:
            ModelFolderError: A file can't be read, or is not what its name says.
        """
        is_one, rounds = _is_model(self.folder), None
        known = {} if is_one else _object(self.folder / ROUNDS)
        if isinstance(known.get("dev"), list):  # iad improve has ended
            rewards = enumerate(map(number_of, known["dev"]))
            rounds = {
                "method": text_of(known.get("method", "")),
                "points": [(place, reward) for place, reward in rewards if reward is not None],
                "best": number_of(known.get("best")),
            }
        return {
            "name": self.folder.resolve().name,
            "is_one": is_one,
            "rounds": rounds,
            "models": [model_json(one) for one in ([self.folder] if is_one else _models(self.folder))],
        }


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
        elif _is_model(folder) or _models(folder) or os.path.lexists(folder / ROUNDS):
            trainings.append(Trainings(folder))
            trainings[-1].as_json()  # what can't be read is said now, not by the page
        else:
            raise RunFolderError(
                f"expected a run folder, a model folder or a folder of model folders, got {folder} without {CONFIG}, "
                f"{MODEL} or {TRAINING}; name one that iad run, iad train or iad improve wrote"
            )
    return runs, trainings


def _is_model(folder: Path) -> bool:
    """Say whether a folder is that of a model, trained or in training."""
    return any(os.path.lexists(folder / name) for name in (MODEL, TRAINING))


def _models(folder: Path) -> list[Path]:
    """Return the model folders in a folder, model-2 before model-10."""
    if not folder.is_dir():
        return []

    def parts(one: Path) -> list[tuple[int, str]]:
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", one.name)]

    return sorted(
        (one for one in folder.iterdir() if not one.is_symlink() and one.is_dir() and _is_model(one)), key=parts
    )


def model_json(folder: Path) -> dict[str, Any]:
    """Return a model folder: how training ended, what it was on, and its curves.

    Raises:
        ModelFolderError: A file of it can't be read, or is not what its name says.
    """
    facts, by_unit = _object(folder / MODEL), _by_unit(folder)
    options, on = _mapping(facts.get("options")), _mapping(facts.get("trained_on"))
    unit = next((unit for unit in UNITS if unit in by_unit), "epoch")
    lines = by_unit.get(unit, {})
    kept_ones = [place for place, line in lines.items() if line.get("is_kept") is not False]
    kept, stopped = max(kept_ones, default=None), next((place for place in lines if place not in kept_ones), None)
    marked = (kept, stopped) if facts else ()  # a training that goes on has not chosen yet
    tasks = on.get("tasks")
    return {
        "name": folder.resolve().name,
        "recipe": text_of(facts.get("recipe", "")),
        "head": text_of(facts.get("head", "")),
        "env": text_of(facts.get("env", "")),
        "is_over": bool(facts),
        "unit": unit,
        "kept": number_of(facts.get("n_epochs")) if kept is None else kept,
        "stopped": stopped,
        "planned": number_of(options.get(f"{unit}s")),
        "why": text_of(facts.get("stopped", "")),
        "facts": list(_facts(facts, on)) if facts else [],
        "tasks": [text_of(one) for one in tasks] if isinstance(tasks, list) else [],
        "curves": list(_curves(by_unit, marked, number_of(options.get("max_kl")))),
    }


def number_of(value: Any) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < 1e300 else None


def text_of(value: Any) -> str:
    """Return a value in words, cut where it is long."""

    def word(one: Any) -> str:
        return "none" if one is None else str(one)

    if isinstance(value, Mapping):
        said = ", ".join(f"{name} = {word(one)}" for name, one in value.items())
    else:
        said = ", ".join(map(word, value)) if isinstance(value, list) else word(value)
    return said if len(said) <= 300 else f"{said[:300]} ..."


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; an empty one if there is no file."""
    found = _content(path, {})
    if not isinstance(found, dict):
        raise _damaged(path, type(found).__name__)
    return found


def _content(path: Path, absent: Any) -> Any:
    if not os.path.lexists(path):
        return absent
    try:
        return json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, error.strerror if isinstance(error, OSError) else error) from error


def _damaged(path: Path, found: Any) -> ModelFolderError:
    return ModelFolderError(
        f"expected a file of a model folder in {path}, got one that can't be read ({found!s:.200}); restore it, or "
        "train the model again"
    )


def _by_unit(folder: Path) -> dict[str, dict[int, Line]]:
    """Return what was written of each epoch, update and step, by its number from 1.

    A language model's steps since its last checkpoint stand there twice after a kill: the later ones count.
    """
    try:
        lines: list[Line] = list(read_lines(folder / TRAINING))
    except OSError as error:
        raise _damaged(folder / TRAINING, error.strerror or error) from error
    epochs = _content(folder / EPOCHS, [])
    lines += [
        {**_mapping(line), "epoch": place} for place, line in enumerate(epochs if isinstance(epochs, list) else [])
    ]
    found: dict[str, dict[int, Line]] = {}
    for line in lines:
        for unit in UNITS:
            place = number_of(line.get(unit))
            if place is not None:
                found.setdefault(unit, {})[int(place) + (unit != "step")] = line
    return {unit: dict(sorted(own.items())) for unit, own in found.items()}


def _facts(facts: Line, on: Line) -> Iterator[tuple[str, str]]:
    """Yield what was trained, and on what, as names and words."""
    yield "environment", text_of(on.get("env", facts.get("env")))
    yield "data", text_of(on.get("data") or "none")
    yield "split", text_of(on.get("split"))
    if "n_episodes" in on:  # then the number of rows is that of the policy it started from
        yield "episodes played", text_of(on["n_episodes"])
    elif "n_rows" in on:
        of_runs = _mapping(on.get("n_rows_of"))
        yield "rows", text_of(on["n_rows"]) + (f" ({text_of(of_runs)})" if len(of_runs) > 1 else "")
    if on.get("runs"):
        yield "runs", text_of(on["runs"])
    reward = text_of(on.get("reward_information", ""))
    said = {"oracle": "oracle: the true reward of these tasks was read", "": "none was read"}
    yield "rewards", said.get(reward, reward)
    if on.get("information"):
        yield "verifier of the runs", text_of(on["information"])
    yield "options", text_of(facts.get("options")) or "none"
    yield "backend", text_of(facts.get("backend"))
    yield "seed", text_of(facts.get("seed"))
    yield "started from", text_of(facts.get("start") or "nothing")


def _curves(
    by_unit: Mapping[str, Mapping[int, Line]], marked: Sequence[int | None], limit: float | None
) -> Iterator[dict[str, Any]]:
    for unit, lines in by_unit.items():
        for figure in ("reward", "loss", "kl", "value_loss", "rate"):
            points = [(at, y) for at, line in lines.items() if (y := number_of(line.get(figure))) is not None]
            every = math.ceil(len(points) / MAX_POINTS)
            last = len(points) - 1
            kept = [one for k, one in enumerate(points) if k % every == 0 or k == last or one[0] in marked]
            if points:
                limits = {"limit": limit} if (figure, unit) == ("kl", "epoch") else {}
                yield {"figure": figure, "unit": unit, "points": kept, "every": every, **limits}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
