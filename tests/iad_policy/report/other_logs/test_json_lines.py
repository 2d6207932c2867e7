from pathlib import Path
from typing import Any

import pytest

from iad_policy.errors import UnknownName
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import Samples, SampleScore, TaskSample
from tests.iad_policy.report.other_logs.fixtures import written


def read(tmp_path: Path, *lines: Any, **columns: str) -> Samples:
    return read_logs("jsonl", [written(tmp_path / "mine.jsonl", *lines)], columns=columns)


def test_a_line_with_every_key_and_one_with_the_least(tmp_path: Path) -> None:
    line = {"task": 7, "arm": "iad", "sample": 2, "score": 0.5, "success": False, "error": None}
    logs = read(tmp_path, {**line, "tokens": 12, "cost": 0.25, "seconds": 3, "other": []})
    score = {"score": SampleScore(0.5, 0.0)}
    assert logs.samples == [TaskSample("7", "iad", "2", score, tokens=12.0, usd=0.25, seconds=3.0)]
    assert (logs.parts, logs.problems) == ({"iad": {"arm": "iad"}}, [])
    assert read(tmp_path, {"task": "a", "success": True}).samples[0].scores["score"] == SampleScore(1.0, 1.0)
    lines = [{"task": task, "arm": arm, "score": 1} for arm in "xy" for task in "ab" for _ in range(2)]
    assert [one.sample for one in read(tmp_path, *lines).samples] == ["#1", "#2"] * 4, "samples are counted"
    files = [written(tmp_path / f"{name}.jsonl", {"task": "a", "score": 1}) for name in ("small", "large")]
    assert list(read_logs("jsonl", files).parts) == ["small", "large"], "each file is an arm"
    assert len(read_logs("jsonl", [files[0], tmp_path / "." / "small.jsonl"]).samples) == 1, "once"
    # Errors are kinds.
    errors = {"RateLimitError('slow down')": "RateLimitError", "openai.APIError: no": "APIError",
              "the sandbox\n went away": "the sandbox went away", "": "", None: "", False: ""}  # fmt: skip
    lines = [{"task": str(place), "score": 1, "error": error} for place, error in enumerate(errors)]
    assert [one.error for one in read(tmp_path, *lines).samples] == [*errors.values()]


def test_columns_have_your_names_also_inside_of_objects(tmp_path: Path) -> None:
    line = {"doc": {"id": 3}, "model": "m", "metrics": {"acc": 1.0}, "doc.tokens": 5}
    columns = {"task": "doc.id", "arm": "model", "score": "metrics.acc", "tokens": "doc.tokens"}
    found = read(tmp_path, line, **columns)
    (sample,) = found.samples
    assert (sample.task, sample.arm, sample.scores["score"].value) == ("3", "m", 1.0)
    assert (sample.tokens, sample.usd, found.problems) == (5, None, [])
    with pytest.raises(UnknownName, match=r"'tsk' \(near: task\)"):
        read(tmp_path, {"task": "a"}, tsk="id")


@pytest.mark.parametrize(
    ("columns", "absent"),
    [
        ({"task": "doc.id", "success": "okay"}, "'okay', for success"),
        ({"task": "doc.ident", "success": "ok"}, "'doc.ident', for task"),
        ({"task": "doc.id", "success": "ok", "cost": "usd"}, "'usd', for cost"),
        ({"success": "ok"}, "'task', for task"),
        ({"task": "doc.id"}, "'success', for success"),
    ],
)
def test_a_key_that_no_line_has_is_refused(columns: dict[str, str], absent: str, tmp_path: Path) -> None:
    lines = [{"doc": {"id": 1}, "by": "m", "ok": True}, {"doc": {"id": 2}, "by": "m", "ok": None}]
    with pytest.raises(ValueError, match=f"{absent}, .*the keys doc.id, by, ok;"):
        read(tmp_path, *lines, **columns)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{torn", "a JSON object"),
        ("[1]", "list"),
        ('{"score": 1}', "as task, got None"),
        ('{"task": 1.5, "score": 1}', "as task, got 1.5"),
        ('{"task": true, "score": 1}', "as task, got True"),
        ('{"task": "a", "score": "good"}', "as score, got 'good'"),
        ('{"task": "a", "score": NaN}', "as score, got nan"),
        ('{"task": "a", "score": 1, "tokens": []}', "as tokens, got []"),
        ('{"task": "a", "success": 0.5}', "as success, got 0.5"),
        ('{"task": "a", "score": 1' + "0" * 400 + "}", ""),
        (b"\xff".decode("latin-1").join(['{"task": "a', '", "score": "x"}']), "as score"),
    ],
)
def test_a_line_that_makes_no_sense_is_named_and_the_others_are_read(line: str, said: str, tmp_path: Path) -> None:
    logs = read(tmp_path, {"task": "a", "score": 1}, "", line, {"task": "b", "score": 0})
    assert [sample.task for sample in logs.samples] == ["a", "b"]
    (problem,) = logs.problems
    assert problem.startswith(f"{tmp_path / 'mine.jsonl'}, line 3: ")
    assert said in problem


def test_bytes_that_are_no_text_are_named_and_of_a_sample_that_is_twice_there_the_later_counts(tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    logs = read(tmp_path, *({"task": "a", "sample": 1, "score": score} for score in (0, 1)))
    assert [one.scores["score"].value for one in logs.samples] == [1.0]
    assert logs.problems == [f"{file}, line 2: the same task, arm and sample as in {file}, line 1; this one counts"]
    with file.open("ab") as opened:
        opened.write(b'{"task": "\xff\xfe"}\n')
    places = [one.partition(": ")[0] for one in read_logs("jsonl", [file]).problems]
    assert places == [f"{file}, line {n}" for n in (2, 3)]
    with pytest.raises(ValueError, match=r"at least one sample, got .*mine.jsonl, line 1: "):
        read(tmp_path, "x")
