"""Reads samples from files of JSON lines: one object per sample, with the keys of `FIELDS` or with other names."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.report.comparison_table import named
from iad_policy.report.other_logs.shared import named_apart, objects
from iad_policy.report.samples import Samples, SampleScore, TaskSample, error_kind

FIELDS: Mapping[str, str] = {
    "task": "the task's id, a text or a whole number",
    "arm": "the row of the comparison; without it the file's name",
    "score": "a number; null for a sample without a score",
    "success": "true or false, or 1 or 0; stands for the score if there is none",
    "sample": "which of the arm's samples of the task it is; without it they are counted",
    "error": "what ended the sample; null or empty for none",
    "tokens": "number of tokens",
    "cost": "dollars",
    "seconds": "time at work",
}
"""Key -> what it holds."""


def read(paths: Sequence[Path], *, columns: Mapping[str, str] | None = None) -> Samples:
    """Read samples.

    Args:
        paths: The files. Without an arm in their lines, each of them is one.
        columns: Key of `FIELDS` -> its name in the files. `a.b` is the value of `b` in the object `a`.

    Raises:
        UnknownName: `columns` has another key.
        ValueError: No line has a key that `columns` names, or a task, or a score or success.
    """
    names = {field: field for field in FIELDS} | dict(columns or {})
    for field in names:
        if field not in FIELDS:
            raise UnknownName("column", field, FIELDS)
    found = Samples(score="score")
    files = named_apart([{"file": path.stem, "path": str(path)} for path in paths], ["file"])
    samples: dict[tuple[str, str, str], tuple[str, TaskSample]] = {}
    keys: dict[str, bool] = {}
    numbers = defaultdict[tuple[str, str], Iterator[int]](lambda: count(1))
    for path, file in zip(paths, files, strict=True):
        for line, content in objects(path, found.problems):
            place = f"{path}, line {line}"
            values = {field: _value(content, name) for field, name in names.items()}
            keys |= _keys(content)
            try:
                task = _name("task", values["task"])
                arm = _name("arm", values["arm"]) if values["arm"] is not None else file
                score, success = _number("score", values["score"]), _number("success", values["success"])
                if success not in (None, 0.0, 1.0):
                    raise ValueError(f"expected true, false, 1 or 0 as success, got {values['success']!r:.60}")
                asked, failure = values["sample"], values["error"]
                sample = TaskSample(
                    task,
                    arm,
                    _name("sample", asked) if asked is not None else f"#{next(numbers[arm, task])}",
                    scores={"score": SampleScore(success if score is None else score, success)},
                    error=error_kind(str(failure)) if failure else "",
                    tokens=_number("tokens", values["tokens"]),
                    usd=_number("cost", values["cost"]),
                    seconds=_number("seconds", values["seconds"]),
                )
            except (ValueError, OverflowError) as error:
                found.problems.append(f"{place}: {error}")
                continue
            key = (sample.arm, sample.task, sample.sample)
            if key in samples:
                found.problems.append(
                    f"{place}: the same task, arm and sample as in {samples[key][0]}; this one counts"
                )
            samples[key] = place, sample
            found.parts.setdefault(sample.arm, {"arm": sample.arm})
    has_score = names["score"] in keys or names["success"] in keys
    for field in {"task": "", **(columns or {}), **({} if has_score else {"success": ""})} if keys else ():
        if names[field] and names[field] not in keys:
            there = named([key for key, is_last in keys.items() if is_last])
            raise ValueError(
                f"expected lines with the key {names[field]!r}, for {field}, got none; there are the keys {there}; "
                f"name yours: --columns {field}=KEY"
            )
    found.samples = [sample for _, sample in samples.values()]
    return found


def _keys(content: Mapping[str, Any], before: str = "") -> dict[str, bool]:
    """Return the names of all keys as columns have them, and whether no object is within."""
    found: dict[str, bool] = {}
    for key, value in content.items():
        found[f"{before}{key}"] = not (isinstance(value, dict) and value)
        if isinstance(value, dict):
            found |= _keys(value, f"{before}{key}.")
    return found


def _value(content: Mapping[str, Any], name: str) -> Any:
    if name in content or "." not in name:
        return content.get(name)
    outer, _, inner = name.partition(".")
    within = content.get(outer)
    return _value(within, inner) if isinstance(within, dict) else None


def _name(field: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise ValueError(f"expected a text or a whole number as {field}, got {value!r:.60}")
    return str(value)


def _number(field: str, value: Any) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number as {field}, got {value!r:.60}")
    return float(value)
