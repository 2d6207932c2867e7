from pathlib import Path
from typing import Any

import pytest

from iad_policy.errors import UnknownName
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import Samples, SampleScore, TaskSample
from tests.iad_policy.report.other_logs.fixtures import written


def read(tmp_path: Path, *lines: Any, **columns: str) -> Samples:
    return read_logs("jsonl", [written(tmp_path / "mine.jsonl", *lines)], columns=columns)


def test_a_line_with_every_key(tmp_path: Path) -> None:
    line = {"task": 7, "arm": "iad", "sample": 2, "score": 0.5, "success": False, "error": None}
    logs = read(tmp_path, {**line, "tokens": 12, "cost": 0.25, "seconds": 3, "other": []})
    assert logs.samples == [
        TaskSample("7", "iad", "2", {"score": SampleScore(0.5, 0.0)}, tokens=12.0, usd=0.25, seconds=3.0)
    ]
    assert logs.parts == {"iad": {"arm": "iad"}}
    assert not logs.problems


def test_what_is_not_there_has_a_default(tmp_path: Path) -> None:
    (sample,) = read(tmp_path, {"task": "a", "success": True}).samples
    assert sample.scores["score"] == SampleScore(1.0, 1.0)
    lines = [{"task": task, "arm": arm, "score": 1} for arm in "xy" for task in "ab" for _ in range(2)]
    assert [one.sample for one in read(tmp_path, *lines).samples] == ["#1", "#2"] * 4, "samples are counted"
    files = [written(tmp_path / f"{name}.jsonl", {"task": "a", "score": 1}) for name in ("small", "large")]
    assert list(read_logs("jsonl", files).parts) == ["small", "large"], "each file is an arm"
    assert len(read_logs("jsonl", [files[0], tmp_path / "." / "small.jsonl"]).samples) == 1, "once"


def test_columns_have_your_names_also_inside_of_objects(tmp_path: Path) -> None:
    line = {"doc": {"id": 3}, "model": "m", "metrics": {"acc": 1.0}, "doc.tokens": 5}
    columns = {"task": "doc.id", "arm": "model", "score": "metrics.acc", "tokens": "doc.tokens"}
    found = read(tmp_path, line, **columns)
    (sample,) = found.samples
    assert (sample.task, sample.arm, sample.scores["score"].value) == ("3", "m", 1.0)
    assert (sample.tokens, sample.usd) == (5, None)
    assert not found.problems
    with pytest.raises(UnknownName, match=r"expected a known column, got 'tsk' \(near: task\); known: arm, cost"):
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
def test_a_key_that_no_line_has_is_refused_with_those_that_are_there(
    columns: dict[str, str], absent: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"the key {absent}, got none; there are the keys doc.id, by, ok; name yours"):
        read(tmp_path, {"doc": {"id": 1}, "by": "m", "ok": True}, {"doc": {"id": 2}, "by": "m", "ok": None}, **columns)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("RateLimitError('slow down')", "RateLimitError"),
        ("openai.APIError: no", "APIError"),
        ("the sandbox\n went away", "the sandbox went away"),
        ("", ""),
        (None, ""),
        (False, ""),
    ],
)
def test_errors_are_kinds(error: Any, kind: str, tmp_path: Path) -> None:
    (sample,) = read(tmp_path, {"task": "a", "score": 1, "error": error}).samples
    assert sample.error == kind


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{torn", "expected a JSON object, got "),
        ("[1]", "expected a JSON object, got list"),
        ('{"score": 1}', "expected a text or a whole number as task, got None"),
        ('{"task": 1.5, "score": 1}', "expected a text or a whole number as task, got 1.5"),
        ('{"task": true, "score": 1}', "expected a text or a whole number as task, got True"),
        ('{"task": "a", "score": "good"}', "expected a number as score, got 'good'"),
        ('{"task": "a", "score": NaN}', "expected a number as score, got nan"),
        ('{"task": "a", "score": 1, "tokens": []}', "expected a number as tokens, got []"),
        ('{"task": "a", "success": 0.5}', "expected true, false, 1 or 0 as success, got 0.5"),
        ('{"task": "a", "score": 1' + "0" * 400 + "}", ""),
        (b"\xff".decode("latin-1").join(['{"task": "a', '", "score": "x"}']), "expected a number as score"),
    ],
)
def test_a_line_that_makes_no_sense_is_named_and_the_others_are_read(line: str, said: str, tmp_path: Path) -> None:
    logs = read(tmp_path, {"task": "a", "score": 1}, "", line, {"task": "b", "score": 0})
    assert [sample.task for sample in logs.samples] == ["a", "b"]
    (problem,) = logs.problems
    assert problem.startswith(f"{tmp_path / 'mine.jsonl'}, line 3: {said}")


def test_bytes_that_are_no_text_are_named_and_nothing_to_read_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path / "mine.jsonl", {"task": "a", "score": 1})
    with path.open("ab") as file:
        file.write(b'{"task": "\xff\xfe"}\n')
    assert [problem.partition(": ")[0] for problem in read_logs("jsonl", [path]).problems] == [f"{path}, line 2"]
    with pytest.raises(ValueError, match=r"with at least one sample, got .*mine.jsonl, line 1: expected a JSON object"):
        read(tmp_path, "x")


def test_of_a_sample_that_is_there_twice_the_later_one_counts(tmp_path: Path) -> None:
    logs = read(tmp_path, *({"task": "a", "sample": 1, "score": score} for score in (0, 1)))
    assert [one.scores["score"].value for one in logs.samples] == [1.0]
    file = tmp_path / "mine.jsonl"
    assert logs.problems == [f"{file}, line 2: the same task, arm and sample as in {file}, line 1; this one counts"]
