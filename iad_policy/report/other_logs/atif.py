"""Reads trajectories in ATIF: those of Harbor's trials, and those that `iad export --to atif` wrote.

Known are the fields up to version 1.7 (harbor-framework/harbor, rfcs/0001-trajectory-format.md). ATIF has no score. One
of Harbor stands in `result.json` of the trial, in whose folder the trajectory is `agent/trajectory.json`. Others are
looked for in `extra`. Ours have the whole episode there.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from iad_policy.ledger.codec import candidate_of, verdict_of
from iad_policy.ledger.episode import UNFINISHED, UNKNOWN, RecordedStep
from iad_policy.ledger.episode_record import EpisodeRecord, episode_of
from iad_policy.report.exports.atif import OURS, VERSION
from iad_policy.report.other_logs.shared import NOT_ONE, named_apart, objects, short_settings
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
from iad_policy.types import Candidate, Decision, RoleAnswer, State, Usage
from iad_policy.types.hashing import decode, digest, dumps
from iad_policy.types.information import ORACLE_AGENT_TEXT, ORACLE_ROLE_TEXT, VERIFIER_TEXTS

RESULT = "result.json"
TRAJECTORY = Path("agent", "trajectory.json")
"""Where a trial of Harbor has its trajectory."""
ALARMS = {
    "information": VERIFIER_TEXTS["oracle"],
    "agent_information": ORACLE_AGENT_TEXT,
    "role_information": ORACLE_ROLE_TEXT,
}
SCORES = (*METRICS, "score")
"""Names under which an `extra` may have a score."""
_IN_WORDS = {str: "a text", dict: "an object", list: "a list", int: "a number"}


@dataclass(frozen=True, slots=True)
class LoggedTrajectory:
    """A document whose required fields are there.

    Attributes:
        content: The document.
        path: Its file.
        named: The path that was asked for: the file, or a folder around it.
        trial: What `result.json` of the trial says; empty if there is none.
    """

    content: Mapping[str, Any]
    path: Path
    named: Path
    trial: Mapping[str, Any]

    @property
    def is_ours(self) -> bool:
        """Whether iad exported it."""
        return _record(self.content) is not None

    @property
    def parts(self) -> dict[str, str]:
        """What acted, as parts of a name, and where: of ours each folder is a run."""
        place = self.path.parent if self.is_ours else self.named
        agent = self.content["agent"]
        settings = short_settings([_field(agent, "extra", dict, "agent.")])
        model = _field(agent, "model_name", str, "agent.")
        known = {"name": agent["name"], "model": model, "version": agent["version"]}
        known |= {"file": place.name, "path": str(place)}
        return {**settings, **{name: value for name, value in known.items() if value}}

    @property
    def continuation(self) -> str:
        """The file that it goes on in, "" for none."""
        found: str = _field(self.content, "continued_trajectory_ref", str)
        return found

    @property
    def other_files(self) -> set[Path]:
        """The documents that are parts of this one: its continuation, and those of subagents."""
        found = [self.continuation]
        for place, step in enumerate(self.content["steps"]):
            for result in _results(step, f"steps[{place}]."):
                refs = _field(result, "subagent_trajectory_ref", list, f"steps[{place}].observation.results[].")
                found += [_field(one, "trajectory_path", str, "subagent_trajectory_ref[].") for one in refs]
        return {(self.path.parent / one).resolve() for one in found if one}


def read(paths: Sequence[Path]) -> Samples:
    """Read trajectories: files, or folders with any number of them. What acted in one of the paths is an arm.

    Trajectories of a task are its samples. A file `.jsonl` has a document per line.
    """
    found = Samples()
    samples: list[tuple[Path, dict[str, str], TaskSample]] = []
    parts: set[Path] = set()
    ours: set[bool] = set()
    for one in (one for named in paths for one in _trajectories(named, found.problems)):
        try:
            parts |= one.other_files
            samples.append((one.path.resolve(), one.parts, _sample(one)))
            ours.add(one.is_ours)
            if one.continuation:
                found.notes.append(f"{one.path} goes on in {one.continuation}; its tokens and dollars are not known")
        except NOT_ONE as error:
            found.problems.append(f"{one.path}: {error}")
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


def read_steps(path: Path) -> tuple[RecordedStep, ...]:
    """Return the decisions of a file that `iad export --to atif` wrote, with all candidates, verdicts and costs.

    States have their text and their id, and previews are left out: ATIF has texts only.

    Raises:
        ValueError: It is no such file. The message names the field.
        OSError: It can't be read.
    """
    try:
        content = json.loads(path.read_bytes())
        _require_fields(content)
        if _record(content) is None:
            raise ValueError(f"expected an object in extra.{OURS}, got none; only what iad exported has candidates")
        return tuple(_steps(content))
    except NOT_ONE as error:
        raise ValueError(f"{path}: {error}") from error


def _trajectories(named: Path, problems: list[str]) -> Iterator[LoggedTrajectory]:
    files = sorted(one for one in named.rglob("*") if one.suffix in (".json", ".jsonl")) if named.is_dir() else [named]
    for path in files:
        if path.name == RESULT and named.is_dir():
            trial = path.parent / TRAJECTORY
            if not trial.exists() and "trial_name" in (_object(path, problems) or {}):
                problems.append(f"{path}: expected {trial}, found none; this trial is left out")
            continue
        if path.suffix == ".jsonl":
            documents = list(objects(path, problems))
        else:
            documents = [] if (found := _object(path, problems)) is None else [(0, found)]
        for line, content in documents:
            where = f"{path}, line {line}" if line else str(path)
            if path is not named and "schema_version" not in content and not {"agent", "steps"} <= content.keys():
                continue  # another JSON file in a folder is no mistake
            try:
                _require_fields(content)
            except ValueError as error:
                problems.append(f"{where}: {error}")
                continue
            result = path.parents[1] / RESULT if path.parts[-2:] == TRAJECTORY.parts else path.with_name(RESULT)
            yield LoggedTrajectory(content, path, named, (_object(result, problems) if result.exists() else None) or {})


def _object(path: Path, problems: list[str]) -> dict[str, Any] | None:
    """Return the object of a file, an empty one for other JSON. None if there is no JSON in it."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        problems.append(f"{path}: expected a JSON object, got {error!s:.100}")
        return None
    return content if isinstance(content, dict) else {}


def _require_fields(content: Mapping[str, Any]) -> None:
    """Check that the fields are there without which a document says nothing.

    Raises:
        ValueError: One is missing or of another type, or the document is of another major version.
    """
    version = _required(content, "schema_version", str)
    if not re.fullmatch(r"ATIF-v1\.\d+", version):
        raise ValueError(f"expected schema_version {VERSION} or another of ATIF-v1, got {version!r:.40}")
    agent = _required(content, "agent", dict)
    for name in ("name", "version"):
        _required(agent, name, str, "agent.")
    steps = _required(content, "steps", list)
    if not steps:
        raise ValueError("expected at least one step in the field steps, got none")
    for place, step in enumerate(steps):
        where = f"steps[{place}]"
        if not isinstance(step, dict):
            raise ValueError(f"expected an object in the field {where}, got {step!r:.40}")
        for name, kinds in (("step_id", int), ("source", str), ("message", (str, list))):
            _required(step, name, kinds, f"{where}.")


def _required(content: Mapping[str, Any], name: str, kinds: Any, inside: str = "") -> Any:
    if content.get(name) is None:
        raise ValueError(f"expected the field {inside}{name}, got none")
    return _field(content, name, kinds, inside)


def _field(content: Mapping[str, Any], name: str, kinds: Any, inside: str = "") -> Any:
    """Return the value of a field; one that is missing or null is empty."""
    first = kinds[0] if isinstance(kinds, tuple) else kinds
    value = content.get(name) if isinstance(content, Mapping) else content
    if value is None:
        return first()
    if not isinstance(value, kinds):
        raise ValueError(f"expected {_IN_WORDS[first]} in the field {inside}{name}, got {value!r:.40}")
    return value


def _results(step: Mapping[str, Any], inside: str) -> list[Any]:
    found: list[Any] = _field(_field(step, "observation", dict, inside), "results", list, f"{inside}observation.")
    return found


def _sample(one: LoggedTrajectory) -> TaskSample:
    content, trial = one.content, one.trial
    record = _record(content)
    prompt = _prompt(content)
    if record is not None:
        return sample_of(record, content=task_content(f"{record.env} {record.task_id}", record.instruction))
    extra, totals = _field(content, "extra", dict), _field(content, "final_metrics", dict)
    asked = " ".join(prompt.split())
    # A prompt of Harbor may hold what differs from trial to trial, such as the name of a host.
    task = str(trial.get("task_name") or extra.get("task_id") or extra.get("task_name") or "")
    values = {
        name: where[name]
        for where in (_field(totals, "extra", dict, "final_metrics."), extra)
        for name in SCORES
        if name in where
    }
    values |= (trial.get("verifier_result") or {}).get("rewards") or {}
    failure = trial.get("exception_info") or {}
    return TaskSample(
        task or f"{asked[:60]}{'...' if len(asked) > 60 else ''}",
        arm="",
        sample="",
        scores={name: _score(name, value) for name, value in values.items()},
        error=error_kind(str(failure.get("exception_type") or "error")) if failure else "",
        content=task_content(task, "" if trial else prompt),
        tokens=None if one.continuation else _total(content, "prompt_tokens", "completion_tokens"),
        usd=None if one.continuation else _total(content, "cost_usd"),
        seconds=_seconds(content["steps"]),
    )


def _record(content: Mapping[str, Any]) -> EpisodeRecord | None:
    """Return the episode that a document of ours is of; None for a document of others."""
    ours = _field(_field(content, "extra", dict), OURS, dict, "extra.")
    if not ours:
        return None
    record = episode_of(dumps(_required(ours, "record", dict, f"extra.{OURS}.")).encode())
    if record is None:
        raise ValueError(f"expected an episode in the field extra.{OURS}.record, got another object")
    return record


def _prompt(content: Mapping[str, Any]) -> str:
    """Return the text of the first message of the user; "" for none."""
    message = next((step["message"] for step in content["steps"] if step["source"] == "user"), "")
    parts = [{"text": message}] if isinstance(message, str) else message
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))


def _score(name: str, value: Any) -> SampleScore:
    if value is None:
        return SampleScore(None)
    is_said = isinstance(value, bool) or name == SUCCESS
    score = float(value) if isinstance(value, bool) else _number(f"{name}, a score", value)
    return SampleScore(score, score if is_said else None)


def _total(content: Mapping[str, Any], *names: str) -> float | None:
    """Return the sum of metrics: the document's own, or that of its steps. None if no step has them."""
    totals = _field(content, "final_metrics", dict)
    found = {f"final_metrics.total_{name}": totals.get(f"total_{name}") for name in names}
    if None in found.values():
        metrics = {
            f"steps[{place}].metrics.": _field(step, "metrics", dict, f"steps[{place}].")
            for place, step in enumerate(content["steps"])
            if not step.get("is_copied_context")
        }
        found = {f"{where}{name}": one.get(name) for where, one in metrics.items() for name in names}
    known = [_number(where, value) for where, value in found.items() if value is not None]
    return sum(known) if known else None


def _number(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"expected a number in the field {where}, got {value!r:.40}")
    return float(value)


def _seconds(steps: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the time between the first and the last step that say when they were."""
    times = []
    for place, step in enumerate(steps):
        if text := _field(step, "timestamp", str, f"steps[{place}]."):
            try:
                times.append(datetime.fromisoformat(text).timestamp())
            except ValueError:
                raise ValueError(f"expected a time in the field steps[{place}].timestamp, got {text!r:.40}") from None
    return times[-1] - times[0] if len(times) > 1 else None


def _steps(content: Mapping[str, Any]) -> Iterator[RecordedStep]:
    known: dict[str, Candidate] = {}
    before, seen = UNKNOWN, ""
    for place, step in enumerate(content["steps"]):
        results = _results(step, f"steps[{place}].") or [{}]
        if step["source"] != "agent":
            seen = results[0].get("content", seen)
            continue
        where = f"steps[{place}].extra.{OURS}."
        own = _required(_field(step, "extra", dict, f"steps[{place}]."), OURS, dict, f"steps[{place}].extra.")
        made = []
        for n, one in enumerate(_required(own, "candidates", list, where)):
            try:
                made.append(_candidate(one))
            except NOT_ONE as error:
                said = f"{type(error).__name__}: {error}"
                raise ValueError(f"expected a candidate in the field {where}candidates[{n}], got {said}") from error
        known |= {one.id: one for one in made}
        call = next(iter(step.get("tool_calls") or ()), None)
        committed, action = UNFINISHED, None
        if call is not None:
            action, name = decode(call["arguments"]["action"]), _required(own, "committed", str, where)
            committed = known.get(name) or Candidate(action, id=name)
            if committed.error:
                committed = replace(committed, action=action)
        before = State(seen, {}, id=_field(own, "state", str, where))
        decision = Decision(
            before,
            tuple(made),
            committed,
            {role: Usage(**axes) for role, axes in _required(own, "usage", dict, where).items()},
            own.get("cut", ""),
            tuple(own.get("notes", ())),
            tuple(RoleAnswer(**one) for one in own.get("asked", ())),
        )
        after = None
        if "observation" in step:
            seen = results[0].get("content", "")
            after = State(seen, {}, done=bool(own.get("done")))
        yield RecordedStep(own["index"], decision, action, after, own.get("reward", 0.0))


def _candidate(one: Mapping[str, Any]) -> Candidate:
    verdict = None
    if one["verdict"] is not None:
        line = dict(one["verdict"])
        details = {name: decode(part) for name, part in line.pop("details").items()}
        verdict = replace(verdict_of(line), details=details)
    line = {**one, "item": one["id"], "about": one["at"]}
    return replace(candidate_of(line, verdict, value=lambda part: part), usage=Usage(**one["usage"]))
