"""A model folder as the page shows it: what was trained, on what, and the curves of its training, as plain JSON."""

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from iad_policy.trained.models import EPOCHS, MODEL, TRAINING, ModelFolderError
from iad_policy.types.jsonl import read_lines
from iad_policy.types.regular_file import read_regular

MAX_POINTS = 300
"""Points of a curve. Of longer ones every k-th is shown, and those with a mark."""
MAX_NUMBER = 1e300
"""No figure is as large. Larger numbers, infinity and NaN are left out."""
LONG = 300
"""Characters of a fact. A model's file may come from somebody else, and have anything anywhere."""
UNITS = ("epoch", "update", "step")
COUNTED_FROM_0 = ("epoch", "update")
FIGURES = ("reward", "loss", "kl", "value_loss", "rate")
REWARDS = {"oracle": "oracle: the true reward of these tasks was read", "": "none was read"}
Line = Mapping[str, Any]


def is_model(folder: Path) -> bool:
    """Say whether a folder is that of a model, trained or in training."""
    return any(os.path.lexists(folder / name) for name in (MODEL, TRAINING))


def model_json(folder: Path) -> dict[str, Any]:
    """Return a model folder: how training ended, what it was on, and its curves.

    Raises:
        ModelFolderError: A file of it can't be read, or is not what its name says.
    """
    facts, by_unit = read_object(folder / MODEL), _by_unit(folder)
    options = _mapping(facts.get("options"))
    of = next((unit for unit in UNITS if unit in by_unit), "epoch")
    kept, stopped = _ended(by_unit.get(of, {}))
    marked = (kept, stopped) if facts else ()  # a training that goes on has not chosen yet
    return {
        "name": folder.resolve().name,
        "recipe": text_of(facts.get("recipe", "")),
        "head": text_of(facts.get("head", "")),
        "env": text_of(facts.get("env", "")),
        "is_over": bool(facts),
        "unit": of,
        "kept": number_of(facts.get("n_epochs")) if kept is None else kept,
        "stopped": stopped,
        "planned": number_of(options.get(f"{of}s")),
        "why": text_of(facts.get("stopped", "")),
        "facts": list(_facts(facts)),
        "tasks": _texts(_mapping(facts.get("trained_on")).get("tasks")),
        "curves": list(_curves(by_unit, marked, number_of(options.get("max_kl")))),
    }


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file; an empty one if there is no file.

    Raises:
        ModelFolderError: It can't be read, or holds something else.
    """
    found = _content(path, {})
    if not isinstance(found, dict):
        raise _damaged(path, type(found).__name__)
    return found


def number_of(value: Any) -> float | None:
    """Return a finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < MAX_NUMBER else None


def text_of(value: Any) -> str:
    """Return a value in words, cut where it is long."""
    if isinstance(value, Mapping):
        said = ", ".join(f"{name} = {_word(one)}" for name, one in value.items())
    else:
        said = ", ".join(map(_word, value)) if isinstance(value, list) else _word(value)
    return said if len(said) <= LONG else f"{said[:LONG]} ..."


def _word(value: Any) -> str:
    return "none" if value is None else str(value)


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
    found: dict[str, dict[int, Line]] = {}
    for line in _lines(folder):
        for unit in UNITS:
            place = number_of(line.get(unit))
            if place is not None:
                found.setdefault(unit, {})[int(place) + (unit in COUNTED_FROM_0)] = line
    return {unit: dict(sorted(lines.items())) for unit, lines in found.items()}


def _lines(folder: Path) -> Iterator[Line]:
    try:
        yield from read_lines(folder / TRAINING)
    except OSError as error:
        raise _damaged(folder / TRAINING, error.strerror or error) from error
    epochs = _content(folder / EPOCHS, [])
    for place, line in enumerate(epochs if isinstance(epochs, list) else []):
        yield {**_mapping(line), "epoch": place}


def _ended(lines: Mapping[int, Line]) -> tuple[int | None, int | None]:
    """Return the last epoch whose parameters were kept, and the one that was not."""
    kept = [place for place, line in lines.items() if line.get("is_kept") is not False]
    return max(kept, default=None), next((place for place in lines if place not in kept), None)


def _facts(facts: Line) -> Iterator[tuple[str, str]]:
    """Yield what was trained, and on what, as names and words."""
    if not facts:
        return
    on = _mapping(facts.get("trained_on"))
    plays = "n_episodes" in on  # then the number of rows is that of the policy it started from
    yield "environment", text_of(on.get("env", facts.get("env")))
    yield "data", text_of(on.get("data") or "none")
    yield "split", text_of(on.get("split"))
    if plays:
        yield "episodes played", text_of(on["n_episodes"])
    elif "n_rows" in on:
        yield "rows", text_of(on["n_rows"])
    if on.get("runs"):
        yield "runs", text_of(on["runs"])
    reward = text_of(on.get("reward_information", ""))
    yield "rewards", REWARDS.get(reward, reward)
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
        for figure in FIGURES:
            points = [(at, y) for at, line in lines.items() if (y := number_of(line.get(figure))) is not None]
            every = math.ceil(len(points) / MAX_POINTS)
            last = len(points) - 1
            kept = [one for k, one in enumerate(points) if k % every == 0 or k == last or one[0] in marked]
            if points:
                limits = {"limit": limit} if (figure, unit) == ("kl", "epoch") else {}
                yield {"figure": figure, "unit": unit, "points": kept, "every": every, **limits}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _texts(value: Any) -> list[str]:
    return [text_of(one) for one in value] if isinstance(value, list) else []
