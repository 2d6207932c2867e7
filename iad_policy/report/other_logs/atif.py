"""Reads trajectories in ATIF: those of Harbor's trials, and those that `iad export --to atif` wrote.

Known are the fields up to version 1.7 (harbor-framework/harbor, rfcs/0001-trajectory-format.md). ATIF has no score. One
of Harbor stands in `result.json` of the trial, in whose folder the trajectory is `agent/trajectory.json`. Others are
looked for in `extra`. Ours have the whole episode there.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from iad_policy.ledger.episode_record import EpisodeRecord, episode_of
from iad_policy.report.other_logs.shared import NOT_ONE, checked, named_apart, objects, short_settings
from iad_policy.report.samples import (
    METRICS,
    PROGRESS,
    REWARD,
    SUCCESS,
    Samples,
    SampleScore,
    TaskSample,
    error_kind,
    sample_of,
    task_content,
)
from iad_policy.types.hashing import digest, dumps
from iad_policy.types.information import ORACLE_AGENT_TEXT, ORACLE_ROLE_TEXT, VERIFIER_TEXTS

VERSION = "ATIF-v1.7"
OURS = "iad"
"""Key of what is ours in an `extra`."""
RESULT = "result.json"
TRAJECTORY = Path("agent", "trajectory.json")
"""Where a trial of Harbor has its trajectory."""
ALARMS = {
    "information": VERIFIER_TEXTS["oracle"],
    "agent_information": ORACLE_AGENT_TEXT,
    "role_information": ORACLE_ROLE_TEXT,
}
TOKENS, DOLLARS = ("prompt_tokens", "completion_tokens"), ("cost_usd",)
FIELDS: Mapping[str, Any] = {
    "agent": {"name": str, "version": str, "model_name?": str, "extra?": dict},
    "steps": [
        {
            "step_id": int,
            "source": str,
            "message": str | list,
            "timestamp?": datetime,
            "metrics?": {f"{name}?": float for name in (*TOKENS, *DOLLARS)},
            "observation?": {"results?": [{"subagent_trajectory_ref?": [{"trajectory_path?": str}]}]},
        }
    ],
    "final_metrics?": {**{f"total_{name}?": float for name in (*TOKENS, *DOLLARS)}, "extra?": dict},
    "continued_trajectory_ref?": str,
    "extra?": {f"{OURS}?": dict},
}
"""The fields that are read: see `checked`."""


def read(paths: Sequence[Path]) -> Samples:
    """Read trajectories: files, or folders with any number of them. What acted in one of the paths is an arm.

    Trajectories of a task are its samples. A file `.jsonl` has a document per line.
    """
    found = Samples()
    samples: list[tuple[Path, dict[str, str], TaskSample]] = []
    parts: set[Path] = set()
    ours: set[bool] = set()
    for where, path, named, document in _documents(paths, found.problems):
        try:
            content, record = _read(document)
            result = path.parents[1] / RESULT if path.parts[-2:] == TRAJECTORY.parts else path.with_name(RESULT)
            trial = (result.exists() and _object(result, found.problems)) or {}
            place = named if record is None else path.parent  # of ours each folder is a run
            samples.append((path.resolve(), _parts(content["agent"], place), _sample(content, record, trial)))
            ours.add(record is not None)
            parts |= {(path.parent / one).resolve() for one in _other_files(content)}
            if rest := content["continued_trajectory_ref"]:
                found.notes.append(f"{path} goes on in {rest}; its tokens and dollars are not known")
        except NOT_ONE as error:
            found.problems.append(f"{where}: {error}")
    whole = [(digest(about), about, sample) for path, about, sample in samples if path not in parts]
    arms = {key: about for key, about, _ in whole}
    names = dict(zip(arms, named_apart(list(arms.values()), ("name", "model")), strict=True))
    numbers = defaultdict[tuple[str, str], Iterator[int]](lambda: count(1))
    for key, _, sample in whole:
        at = sample.sample or str(next(numbers[key, sample.content]))
        found.samples.append(replace(sample, arm=names[key], sample=at))
    for key, name in names.items():
        found.parts[name] = arms[key]
        found.alarms += [f"{name}: {text}" for label, text in ALARMS.items() if arms[key].get(label) == "oracle"]
    scores = {name for sample in found.samples for name, one in sample.scores.items() if one.value is not None}
    found.is_of_runs = ours == {True}
    found.score = next((name for name in (PROGRESS, REWARD, SUCCESS) if name in scores), "")
    if len(scores) == 1:
        (found.score,) = scores
    return found


def _documents(paths: Sequence[Path], problems: list[str]) -> Iterator[tuple[str, Path, Path, Mapping[str, Any]]]:
    """Yield where each document is, its file, the path that was asked for, and what it says."""
    files = ((file, named) for named in paths for file in (sorted(named.rglob("*")) if named.is_dir() else [named]))
    for path, named in files:
        is_asked = path is named
        if path.name == RESULT and not is_asked:
            trial = path.parent / TRAJECTORY
            if not trial.exists() and "trial_name" in (_object(path, problems) or {}):
                problems.append(f"{path}: expected {trial}, found none; this trial is left out")
            continue
        found: Iterable[tuple[int, Any]] = ()
        if path.suffix == ".jsonl":
            found = objects(path, problems)
        elif path.suffix == ".json" or is_asked:
            found = [(0, _object(path, problems))]
        for line, one in found:
            # Another JSON file in a folder is no mistake.
            if one is not None and (is_asked or "schema_version" in one or {"agent", "steps"} <= one.keys()):
                yield f"{path}, line {line}" if line else str(path), path, named, one


def _object(path: Path, problems: list[str]) -> Mapping[str, Any] | None:
    """Return the object of a file, an empty one for other JSON. None if there is no JSON in it."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        problems.append(f"{path}: expected a JSON object, got {error!s:.100}")
        return None
    return content if isinstance(content, dict) else {}


def _read(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], EpisodeRecord | None]:
    """Return a document with all of `FIELDS`, and the episode that it is of if iad exported it."""
    version = checked(document, {"schema_version": str})["schema_version"]
    if not re.fullmatch(r"ATIF-v1\.\d+", version):
        raise ValueError(f"expected schema_version {VERSION} or another of ATIF-v1, got {version!r:.40}")
    content = checked(document, FIELDS)
    if not content["steps"]:
        raise ValueError("expected at least one step in the field steps, got none")
    ours = content["extra"][OURS]
    if not ours:
        return content, None
    record = episode_of(dumps(checked(ours, {"record": dict}, f"extra.{OURS}")["record"]).encode())
    if record is None:
        raise ValueError(f"expected an episode in the field extra.{OURS}.record, got another object")
    return content, record


def _parts(agent: Mapping[str, Any], place: Path) -> dict[str, str]:
    """Return what acted, as parts of a name, and where."""
    known = {"name": agent["name"], "model": agent["model_name"], "version": agent["version"]}
    known |= {"file": place.name, "path": str(place)}
    return short_settings([agent["extra"]]) | {name: value for name, value in known.items() if value}


def _other_files(content: Mapping[str, Any]) -> list[str]:
    """Return the documents that are parts of this one: its continuation, and those of subagents."""
    results = [one for step in content["steps"] for one in step["observation"]["results"]]
    found = [ref["trajectory_path"] for one in results for ref in one["subagent_trajectory_ref"]]
    return [one for one in (*found, content["continued_trajectory_ref"]) if one]


def _sample(content: Mapping[str, Any], record: EpisodeRecord | None, trial: Mapping[str, Any]) -> TaskSample:
    """Return the sample of a document: of ours its episode, of Harbor's with what `result.json` says of the trial."""
    if record is not None:
        return sample_of(record, content=task_content(f"{record.env} {record.task_id}", record.instruction))
    extra, prompt = content["extra"], _prompt(content)
    # A prompt of Harbor may hold what differs from trial to trial, such as the name of a host.
    task = str(trial.get("task_name") or extra.get("task_id") or extra.get("task_name") or "")
    asked = " ".join(prompt.split())
    values = {**content["final_metrics"]["extra"], **extra}
    scores = {name: values[name] for name in (*METRICS, "score") if name in values}
    scores |= (trial.get("verifier_result") or {}).get("rewards") or {}
    failure, is_whole = trial.get("exception_info") or {}, not content["continued_trajectory_ref"]
    times = [step["timestamp"].timestamp() for step in content["steps"] if step["timestamp"]]
    return TaskSample(
        task or f"{asked[:60]}{'...' if len(asked) > 60 else ''}",
        arm="",
        sample="",
        scores={name: _score(name, value) for name, value in scores.items()},
        error=error_kind(str(failure.get("exception_type") or "error")) if failure else "",
        content=task_content(task, "" if trial else prompt),
        tokens=_total(content, TOKENS) if is_whole else None,
        usd=_total(content, DOLLARS) if is_whole else None,
        seconds=times[-1] - times[0] if len(times) > 1 else None,
    )


def _prompt(content: Mapping[str, Any]) -> str:
    """Return the text of the first message of the user; "" for none."""
    message = next((step["message"] for step in content["steps"] if step["source"] == "user"), "")
    parts = [{"text": message}] if isinstance(message, str) else message
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _score(name: str, value: Any) -> SampleScore:
    score = checked(float(value) if isinstance(value, bool) else value, float, f"{name}, a score")
    return SampleScore(score, score if isinstance(value, bool) or name == SUCCESS else None)


def _total(content: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """Return the sum of metrics: the document's own, or that of its steps. None if no step has them."""
    found = [content["final_metrics"][f"total_{name}"] for name in names]
    if None in found:
        steps = [step["metrics"] for step in content["steps"] if not step.get("is_copied_context")]
        found = [step[name] for step in steps for name in names]
    known = [value for value in found if value is not None]
    return sum(known) if known else None
