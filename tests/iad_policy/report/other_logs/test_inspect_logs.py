"""Logs that inspect_ai wrote are read as its own reader reads them (`expected.json` is what that says)."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from iad_policy.errors import MissingExtra
from iad_policy.report.compare import compare
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import SCORED, CountingRules, Samples, SampleScore
from tests.iad_policy.report.other_logs.fixtures import (
    HAS_ZSTANDARD,
    LOGS,
    needs_zstandard,
    readable,
    require_samples_of_inspect,
)

INSPECT = LOGS / "inspect"
EXPECTED = json.loads((INSPECT / "expected.json").read_text(encoding="utf-8"))


def read(*paths: Path | str) -> Samples:
    return read_logs("inspect", [INSPECT / path for path in paths])


def kinds(logs: Samples) -> dict[tuple[str, str], str]:
    return {(sample.task, sample.sample): sample.error for sample in logs.samples}


@pytest.mark.parametrize("path", [readable(path) for path in EXPECTED])
def test_samples_and_scores_are_those_of_the_packages_own_reader(path: str) -> None:
    require_samples_of_inspect(read(path).samples, EXPECTED[path])


def test_every_kind_of_value_says_whether_it_is_a_success() -> None:
    scores = {one.task: one.scores["any_value"] for one in read("values.json").samples}
    in_order = [scores[f"sum-{n}"] for n in range(13)]
    letters = [SampleScore(1, 1), SampleScore(0, 0), SampleScore(0.5, 0), SampleScore(0, 0)]
    flags_and_words = [SampleScore(1, 1), SampleScore(0, 0), SampleScore(1, 1), SampleScore(0, 0)]
    numbers = [SampleScore(0.25), SampleScore(1), SampleScore(0.5)]
    assert in_order == [*letters, *flags_and_words, *numbers, SampleScore(None), SampleScore(None)]


def test_a_text_that_is_no_number_is_told() -> None:
    (note,) = read("values.json").notes
    assert "any_value is no number in 1 sample, such as 'perhaps'" in note


def test_logs_are_arms_named_by_what_they_differ_in() -> None:
    logs = read("models")
    assert list(logs.parts) == ["rule/large", "rule/small"]
    assert logs.parts["rule/small"]["task"] == "arithmetic"
    assert logs.score == "match"
    assert not logs.problems
    assert not logs.notes


def test_costs_are_there() -> None:
    first = read("models").samples[0]
    assert (first.tokens, first.usd) == (17, pytest.approx(0.012))
    assert first.seconds is not None
    assert 0 < first.seconds < 10


@pytest.mark.parametrize("path", ["models/small.json", "models/large.json", "errors/left_out.json"])
def test_the_mean_is_the_accuracy_that_the_log_has(path: str) -> None:
    (own,) = compare(read(path)).arms.values()
    results = json.loads((INSPECT / path).read_bytes())["results"]
    assert own.success is not None
    assert own.success.value == pytest.approx(results["scores"][0]["metrics"]["accuracy"]["value"])


def test_errors_that_the_log_scores_can_count_as_it_counts_them() -> None:
    (own,) = compare(read("errors/scored.json"), CountingRules(errors=SCORED)).arms.values()
    results = json.loads((INSPECT / "errors/scored.json").read_bytes())["results"]
    assert (own.n_samples, own.n_errored, own.n_scored_errors) == (16, 2, 2)
    assert own.success is not None
    assert own.success.value == pytest.approx(results["scores"][0]["metrics"]["accuracy"]["value"])


def test_a_score_in_parts_has_to_be_named() -> None:
    logs = read("several.json")
    assert logs.score == ""
    assert set(logs.samples[0].scores) == {"match", "parts.right", "parts.length", "pair.0", "pair.1"}


def test_failures_have_the_name_of_their_exception() -> None:
    logs = read("errors/left_out.json")
    assert {key for key, error in kinds(logs).items() if error == "RuntimeError"} == {("sum-3", "1"), ("sum-7", "1")}


def test_the_last_of_two_attempts_counts() -> None:
    logs = read("retried")
    assert len(logs.parts) == 1
    assert set(kinds(logs).values()) == {""}
    assert logs.notes == ["first.json is left out: second.json is another attempt at the same evaluation"]


def test_an_attempt_that_ended_counts_before_a_later_one_that_did_not(tmp_path: Path) -> None:
    shutil.copytree(INSPECT / "retried", tmp_path / "logs")
    aborted = json.loads((tmp_path / "logs/first.json").read_bytes())
    aborted["eval"]["created"] = "2099-01-01T00:00:00+00:00"
    (tmp_path / "logs/first.json").write_text(json.dumps(aborted), encoding="utf-8")
    assert set(kinds(read(tmp_path / "logs")).values()) == {""}


def test_an_evaluation_that_was_stopped_is_told() -> None:
    assert read("cancelled.json").notes == ["rule/small: status 'cancelled', with 4 of 5 samples in the log"]


@needs_zstandard
def test_a_killed_evaluation_is_read_as_far_as_it_got() -> None:
    logs = read("killed.eval")
    assert kinds(logs) == {("sum-0", "1"): "", ("sum-1", "1"): "", ("sum-2", "1"): ""}
    assert logs.notes == ["rule/small: status 'started', with 3 of 5 samples in the log"]


@needs_zstandard
def test_an_invalidated_sample_is_an_error() -> None:
    logs = read("invalidated.eval")
    assert kinds(logs) == {("sum-0", "1"): "", ("sum-1", "1"): "invalidated", ("sum-2", "1"): ""}
    assert logs.notes == ["rule/small: some samples are invalidated, with 3 of 3 samples in the log"]


@needs_zstandard
def test_a_task_is_the_same_in_both_forms_of_a_log() -> None:
    """The forms shorten inputs in different ways."""
    contents = [[sample.content for sample in read(f"forms/chats.{form}").samples] for form in ("eval", "json")]
    assert contents[0] == contents[1]
    assert len(set(contents[0])) == 4


def packed(path: Path, log: dict[str, Any], *, summaries: bool) -> Path:
    """A log as a zip that any Python reads, as earlier versions of inspect_ai wrote them."""
    samples = log.pop("samples")
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(log))
        if summaries:
            archive.writestr("summaries.json", json.dumps(samples))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
    return path


@pytest.fixture
def small() -> dict[str, Any]:
    log: dict[str, Any] = json.loads((INSPECT / "models/small.json").read_text(encoding="utf-8"))
    return log


@pytest.mark.parametrize("summaries", [True, False])
def test_a_zip_with_another_compression_is_read(small: dict[str, Any], summaries: bool, tmp_path: Path) -> None:
    logs = read(packed(tmp_path / "small.eval", small, summaries=summaries))
    wanted = read("models/small.json").samples
    assert sorted(map(repr, logs.samples)) == sorted(map(repr, wanted))


def without_scores(log: dict[str, Any]) -> None:
    log["samples"][2]["scores"] = [1]


def without_epoch(log: dict[str, Any]) -> None:
    del log["samples"][2]["epoch"]


def no_object(log: dict[str, Any]) -> None:
    log["samples"][2] = "sum-2"


def huge(log: dict[str, Any]) -> None:
    log["samples"][2]["scores"]["match"]["value"] = 10**400


@pytest.mark.parametrize("damage", [without_scores, without_epoch, no_object, huge])
def test_a_sample_that_makes_no_sense_is_named_and_the_others_are_read(
    damage: Callable[[dict[str, Any]], None], small: dict[str, Any], tmp_path: Path
) -> None:
    damage(small)
    (tmp_path / "log.json").write_text(json.dumps(small), encoding="utf-8")
    logs = read(tmp_path / "log.json")
    assert len(logs.samples) == 31
    (problem,) = logs.problems
    assert problem.startswith(f"{tmp_path / 'log.json'}, sample 3 in the log: ")


def test_a_damaged_member_is_named_and_the_others_are_read(small: dict[str, Any], tmp_path: Path) -> None:
    path = packed(tmp_path / "log.eval", small, summaries=False)
    content = path.read_bytes()
    with ZipFile(path) as archive:
        start = archive.getinfo("samples/sum-2_epoch_1.json").header_offset
    path.write_bytes(content[: start + 60] + bytes(20) + content[start + 80 :])
    logs = read(path)
    assert len(logs.samples) == 31
    assert [problem.partition(": ")[0] for problem in logs.problems] == [f"{path}, samples/sum-2_epoch_1.json"]


@needs_zstandard
def test_a_damaged_frame_of_zstandard_is_named(tmp_path: Path) -> None:
    content = (INSPECT / "once/small.eval").read_bytes()
    with ZipFile(INSPECT / "once/small.eval") as archive:
        start = archive.getinfo("summaries.json").header_offset
    (tmp_path / "log.eval").write_bytes(content[: start + 100] + bytes(20) + content[start + 120 :])
    shutil.copy(INSPECT / "models/small.json", tmp_path / "other.json")
    logs = read(tmp_path)
    assert len(logs.parts) == 1
    assert [problem.partition(": ")[0] for problem in logs.problems] == [str(tmp_path / "log.eval")]


@pytest.mark.parametrize("content", [b"PK\x03\x04 torn", b"", b"{}"])
def test_a_damaged_log_is_named_and_the_others_are_read(content: bytes, tmp_path: Path) -> None:
    shutil.copy(INSPECT / "models/small.json", tmp_path / "good.json")
    (tmp_path / "bad.eval").write_bytes(content)
    (tmp_path / "logs.json").write_text("{}", encoding="utf-8")  # inspect_ai's listing of a folder
    logs = read(tmp_path)
    assert len(logs.parts) == 1
    assert [problem.partition(": ")[0] for problem in logs.problems] == [str(tmp_path / "bad.eval")]


def test_a_named_file_that_is_no_log_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[1]", encoding="utf-8")
    logs = read("models/small.json", tmp_path / "other.json")
    assert logs.problems == [f"{tmp_path / 'other.json'}: expected a log of inspect_ai, got other JSON"]


def test_nothing_to_read_is_an_error_that_says_why(tmp_path: Path) -> None:
    (tmp_path / "bad.eval").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"at least one sample, got .*bad.eval: BadZipFile.*; name others"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="expected logs of inspect_ai"):
        read(tmp_path / "nowhere")


@pytest.mark.skipif(HAS_ZSTANDARD, reason="zstandard is installed")
def test_without_zstandard_the_extra_is_named() -> None:
    with pytest.raises(MissingExtra, match=r'pip install -e ".+\[analyse\]"'):
        read("once")
