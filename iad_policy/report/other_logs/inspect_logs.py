"""Reads logs of inspect_ai, `.eval` and `.json`, without the package. Written against its version 0.3.285.

An `.eval` file is a zip: `header.json` has the evaluation, `summaries.json` every sample without its transcript. A log
whose evaluation was killed has neither, but `_journal/start.json` and the finished samples in `samples/`.
"""

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from iad_policy.errors import MissingExtra
from iad_policy.ledger.episode_record import number
from iad_policy.report.columns import counted
from iad_policy.report.other_logs.shared import NOT_ONE, named_apart, short_settings
from iad_policy.report.samples import Samples, SampleScore, TaskSample, error_kind, task_content

VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Values that scorers give, as `inspect_ai.scorer.value_to_float` has them. Words may have capitals."""
OURS = "outcome.success"
"""The score of logs of `iad_policy.bridges.inspect` where none is asked for."""


@dataclass(frozen=True, slots=True)
class InspectLog:
    """One log.

    Attributes:
        path: The file.
        header: What it says of the evaluation.
        samples: Its samples, as they are in the log.
    """

    path: Path
    header: Mapping[str, Any]
    samples: Sequence[Mapping[str, Any]]

    def __post_init__(self) -> None:
        if not isinstance(self.header.get("eval"), dict) or not isinstance(self.samples, list):
            raise ValueError("expected a log of inspect_ai, got other JSON")

    @property
    def about(self) -> Mapping[str, Any]:
        """Task, model and settings."""
        found: Mapping[str, Any] = self.header["eval"]
        return found

    @property
    def task_id(self) -> str:
        """What attempts at one evaluation have in common."""
        return self.about.get("task_id") or str(self.path)

    @property
    def rank(self) -> tuple[bool, str]:
        """Whether the evaluation ended, and none of its samples was declared invalid afterwards; when it was made."""
        is_success = self.header.get("status") == "success" and not self.header.get("invalidated")
        return is_success, str(self.about.get("created", ""))


def read(paths: Sequence[Path]) -> Samples:
    """Read logs: files, or folders with any number of them. Each log is an arm, and its epochs are samples.

    Of several attempts at one evaluation (`inspect eval-retry`) the last one counts. It has the others' samples, too.

    Raises:
        MissingExtra: A log is compressed by zstandard, and neither Python nor a package can read that.
    """
    found = Samples()
    every = list(_logs(paths, found.problems))
    last: dict[str, InspectLog] = {}
    for log in every:
        if log.task_id not in last or log.rank > last[log.task_id].rank:
            last[log.task_id] = log
    for log in every:
        kept = last[log.task_id]
        if kept is not log:
            found.notes.append(
                f"{log.path.name} is left out: {kept.path.name} is another attempt at the same evaluation"
            )
    logs = list(last.values())
    for name, log in zip(named_apart([_parts(log) for log in logs], ("model", "task", "solver")), logs, strict=True):
        found.parts[name] = _parts(log)
        texts: dict[str, list[str]] = {}
        for place, sample in enumerate(log.samples, 1):
            try:
                found.samples.append(_sample(sample, name, texts))
            except NOT_ONE as error:
                found.problems.append(f"{log.path}, sample {place} in the log: {_said(error)}")
        for score, values in texts.items():
            n, one = counted(len(values), "sample"), values[0]
            found.notes.append(f"{name}: {score} is no number in {n}, such as {one!r:.60}; there it counts as unscored")
        if not log.rank[0]:
            invalidated = "some samples are invalidated" if log.header.get("invalidated") else ""
            state = invalidated or f"status {str(log.header.get('status'))!r}"
            data, config = log.about.get("dataset") or {}, log.about.get("config") or {}
            n_tasks = len(data.get("sample_ids") or ()) or data.get("samples") or 0
            n_expected = n_tasks * (config.get("epochs") or 1)
            found.notes.append(f"{name}: {state}, with {len(log.samples)} of {n_expected} samples in the log")
    scores = {name for sample in found.samples for name in sample.scores}
    found.score = scores.pop() if len(scores) == 1 else OURS if OURS in scores else ""
    return found


def _logs(paths: Sequence[Path], problems: list[str]) -> Iterator[InspectLog]:
    for named in paths:
        files = (
            sorted(one for one in named.rglob("*") if one.suffix in (".eval", ".json")) if named.is_dir() else [named]
        )
        for path in files:
            try:
                if path.suffix == ".eval":
                    yield _eval_log(path, problems)
                    continue
                content = json.loads(path.read_bytes())
                if isinstance(content, dict) and "eval" in content:
                    yield InspectLog(path, content, content.get("samples") or [])
                elif path is named:  # other JSON files in a folder are no mistake
                    problems.append(f"{path}: expected a log of inspect_ai, got other JSON")
            except MissingExtra:
                raise
            except Exception as error:  # three libraries read damaged files, each with its own errors
                problems.append(f"{path}: {_said(error)}")


def _eval_log(path: Path, problems: list[str]) -> InspectLog:
    with ZipFile(path) as archive:
        names = dict.fromkeys(archive.namelist())  # of two members with one name, the last counts
        header = _member(archive, path, "header.json" if "header.json" in names else "_journal/start.json")
        if "summaries.json" in names and not header.get("invalidated"):  # summaries don't say which are invalidated
            return InspectLog(path, header, _member(archive, path, "summaries.json"))
        samples = []
        for name in names:
            if name.startswith("samples/") and name.endswith(".json"):
                try:
                    samples.append(_member(archive, path, name))
                except MissingExtra:
                    raise
                except Exception as error:
                    problems.append(f"{path}, {name}: {_said(error)}")
    return InspectLog(path, {"status": "started", **header}, samples)


def _member(archive: ZipFile, path: Path, name: str) -> Any:
    about = archive.getinfo(name)
    try:
        return json.loads(archive.read(name))
    except NotImplementedError:
        if about.compress_type != 93:  # zstandard, which zipfile knows from Python 3.14 on
            raise
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("zstandard", "analyse") from None
    with path.open("rb") as file:
        file.seek(about.header_offset)
        local_header = struct.Struct("<26xHH")
        file.seek(sum(local_header.unpack(file.read(local_header.size))), 1)  # the name and the extra field
        packed = file.read(about.compress_size)
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
        content: bytes = stream.read(about.file_size)
    if zlib.crc32(content) != about.CRC:
        raise BadZipFile(f"{name} is damaged: its checksum differs")
    return json.loads(content)


def _parts(log: InspectLog) -> dict[str, str]:
    """Return what a log differs in from others, with the most telling first."""
    about, plan = log.about, log.header.get("plan") or {}
    revision = about.get("revision") or {}
    steps = plan.get("steps") or []
    solver = about.get("solver") or "+".join(str(step.get("solver")) for step in steps)
    settings = (
        *(about.get("task_args"), about.get("solver_args"), *(step.get("params") for step in steps)),
        *(about.get("model_generate_config"), plan.get("config"), about.get("model_args"), about.get("model_roles")),
        *({"version": about.get("task_version"), "commit": revision.get("commit")}, about.get("config")),
    )
    return {
        **short_settings(settings),
        "model": str(about.get("model", "")),
        "task": str(about.get("task_display_name") or about.get("task", "")),
        "solver": solver,
        "file": log.path.name,
        "path": str(log.path),
    }


def _sample(sample: Mapping[str, Any], arm: str, texts: dict[str, list[str]]) -> TaskSample:
    """Return a sample, and note values that are other texts, by score."""
    failure = sample.get("error")
    message = failure.get("message", "") if isinstance(failure, dict) else failure
    usage = list((sample.get("model_usage") or {}).values())
    prices = [one.get("total_cost") for one in usage]
    values: dict[str, Any] = {}
    scores = sample.get("scores") or ({"score": sample["score"]} if sample.get("score") else {})
    for scorer, score in scores.items():
        value = score["value"]
        parts = dict(enumerate(value)) if isinstance(value, list) else value
        values |= (
            {f"{scorer}.{name}": part for name, part in parts.items()} if isinstance(parts, dict) else {scorer: value}
        )
    return TaskSample(
        task=str(sample["id"]),
        arm=arm,
        sample=str(sample["epoch"]),
        scores={name: _score(name, value, texts) for name, value in values.items()},
        error=error_kind(str(message)) if failure else "invalidated" if sample.get("invalidation") else "",
        content=task_content(str(sample["id"]), sample["input"]),
        tokens=sum(one["total_tokens"] for one in usage) if usage else None,
        usd=sum(prices) if prices and None not in prices else None,
        seconds=sample.get("working_time") or sample.get("total_time"),
    )


def _score(name: str, value: Any, texts: dict[str, list[str]]) -> SampleScore:
    """Return a value as inspect_ai counts it. Other texts, which it counts as 0 with a warning, are unscored here."""
    if isinstance(value, bool):
        return SampleScore(float(value), float(value))
    known = VALUES.get(value, VALUES.get(value.lower())) if isinstance(value, str) else None
    if known is not None:
        return SampleScore(known, float(known == 1.0))
    try:
        return SampleScore(number(float(value)))  # NaN is how a scorer says that it has none
    except (TypeError, ValueError):
        if value is not None:
            texts.setdefault(name, []).append(str(value))
        return SampleScore(None)


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error!s:.200}"
