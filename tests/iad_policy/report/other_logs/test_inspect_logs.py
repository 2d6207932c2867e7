"""Logs that inspect_ai wrote are read as its own reader reads them (`expected.json` is what that says)."""

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from iad_policy.errors import MissingExtra
from iad_policy.report.compare import compare
from iad_policy.report.other_logs import read_logs
from iad_policy.report.samples import EXCLUDED, SCORED, CountingRules, Samples, SampleScore
from tests.iad_policy.report.other_logs.fixtures import LOGS, needs_zstandard, require_samples_of_inspect, zstandard

INSPECT = LOGS / "inspect"
EXPECTED = json.loads((INSPECT / "expected.json").read_text(encoding="utf-8"))


def read(*paths: Path | str) -> Samples:
    return read_logs("inspect", [INSPECT / path for path in paths])


def kinds(logs: Samples) -> dict[str, str]:
    """Task and sample -> its error."""
    return {f"{sample.task}/{sample.sample}": sample.error for sample in logs.samples}


@pytest.mark.parametrize("path", [pytest.param(path, marks=zstandard(path)) for path in EXPECTED])
def test_samples_and_scores_are_those_of_the_packages_own_reader(path: str) -> None:
    require_samples_of_inspect(read(path).samples, EXPECTED[path])


def test_every_kind_of_value_says_whether_it_is_a_success_and_a_text_is_told() -> None:
    logs = read("values.json")
    scores = {one.task: one.scores["any_value"] for one in logs.samples}
    letters = [(1, 1), (0, 0), (0.5, 0), (0, 0)]
    flags_words_and_numbers = [(1, 1), (0, 0), (1, 1), (0, 0), (0.25,), (1,), (0.5,), (None,), (None,)]
    expected = [SampleScore(*one) for one in (*letters, *flags_words_and_numbers)]
    assert [scores[f"sum-{n}"] for n in range(13)] == expected
    (note,) = logs.notes
    assert "any_value is no number in 1 sample, such as 'perhaps'" in note


def test_logs_are_arms_named_by_what_they_differ_in_with_their_costs() -> None:
    logs = read("models")
    assert (list(logs.parts), logs.score) == (["rule/large", "rule/small"], "match")
    assert logs.parts["rule/small"]["task"] == "arithmetic"
    assert logs.problems == logs.notes == []
    first = logs.samples[0]
    assert (first.tokens, first.usd) == (17, pytest.approx(0.012))
    assert 0 < (first.seconds or 0) < 10
    several = read("several.json")
    assert several.score == "", "it has to be named"
    assert set(several.samples[0].scores) == {"match", "parts.right", "parts.length", "pair.0", "pair.1"}


@pytest.mark.parametrize(
    ("path", "errors"),
    [("models/small.json", EXCLUDED), ("errors/left_out.json", EXCLUDED), ("errors/scored.json", SCORED)],
)
def test_the_mean_is_the_accuracy_that_the_log_has(path: str, errors: str) -> None:
    own: Any = next(iter(compare(read(path), CountingRules(errors=errors)).arms.values()))
    results = json.loads((INSPECT / path).read_bytes())["results"]
    assert own.success.value == pytest.approx(results["scores"][0]["metrics"]["accuracy"]["value"])
    if path == "errors/left_out.json":
        failed = {key for key, error in kinds(read(path)).items() if error == "RuntimeError"}
        assert failed == {"sum-3/1", "sum-7/1"}, "failures have the name of their exception"
    if errors == SCORED:
        assert (own.n_samples, own.n_errored, own.n_scored_errors) == (16, 2, 2)


STATES: list[tuple[str, dict[str, str], str]] = [
    ("retried", {"sum-0/1": ""}, "first.json is left out: second.json is another attempt at the same evaluation"),
    ("cancelled.json", {}, "rule/small: status 'cancelled', with 4 of 5 samples in the log"),
    ("killed.eval", {"sum-2/1": ""}, "rule/small: status 'started', with 3 of 5 samples in the log"),
    ("invalidated.eval", {"sum-0/1": "", "sum-1/1": "invalidated"}, "some samples are invalidated, with 3 of 3"),
]


@pytest.mark.parametrize(("path", "errors", "note"), [pytest.param(*one, marks=zstandard(one[0])) for one in STATES])
def test_what_became_of_an_evaluation_is_told(path: str, errors: dict[str, str], note: str) -> None:
    logs = read(path)
    assert (len(logs.notes), note in logs.notes[0], len(logs.parts)) == (1, True, 1)
    assert errors.items() <= kinds(logs).items()


def test_an_attempt_that_ended_counts_before_a_later_one_that_did_not(tmp_path: Path) -> None:
    assert set(kinds(read("retried")).values()) == {""}
    shutil.copytree(INSPECT / "retried", tmp_path / "logs")
    aborted = json.loads((tmp_path / "logs/first.json").read_bytes())
    aborted["eval"]["created"] = "2099-01-01T00:00:00+00:00"
    (tmp_path / "logs/first.json").write_text(json.dumps(aborted), encoding="utf-8")
    assert set(kinds(read(tmp_path / "logs")).values()) == {""}


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
    assert sorted(map(repr, logs.samples)) == sorted(map(repr, read("models/small.json").samples))


DAMAGES: dict[str, Callable[[list[Any]], object]] = {
    "no scores": lambda samples: samples[2].update(scores=[1]),
    "no epoch": lambda samples: samples[2].pop("epoch"),
    "no object": lambda samples: samples.__setitem__(2, "sum-2"),
    "huge": lambda samples: samples[2]["scores"]["match"].update(value=10**400),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_sample_that_makes_no_sense_is_named_and_the_others_are_read(kind: str, small: Any, tmp_path: Path) -> None:
    DAMAGES[kind](small["samples"])
    (tmp_path / "log.json").write_text(json.dumps(small), encoding="utf-8")
    logs = read(tmp_path / "log.json")
    assert len(logs.samples) == 31
    (problem,) = logs.problems
    assert problem.startswith(f"{tmp_path / 'log.json'}, sample 3 in the log: ")


def damage(path: Path, member: str, at: int) -> None:
    content = path.read_bytes()
    with ZipFile(path) as archive:
        start = archive.getinfo(member).header_offset + at
    path.write_bytes(content[:start] + bytes(20) + content[start + 20 :])


def test_a_damaged_member_is_named_and_the_others_are_read(small: dict[str, Any], tmp_path: Path) -> None:
    path = packed(tmp_path / "log.eval", small, summaries=False)
    damage(path, "samples/sum-2_epoch_1.json", 60)
    logs = read(path)
    assert len(logs.samples) == 31
    assert [problem.partition(": ")[0] for problem in logs.problems] == [f"{path}, samples/sum-2_epoch_1.json"]


@pytest.mark.parametrize("content", [b"PK\x03\x04 torn", b"", b"{}", pytest.param(None, marks=needs_zstandard)])
def test_a_damaged_log_is_named_and_the_others_are_read(content: bytes | None, tmp_path: Path) -> None:
    shutil.copy(INSPECT / "models/small.json", tmp_path / "good.json")
    if content is None:  # a damaged frame of zstandard
        shutil.copy(INSPECT / "once/small.eval", tmp_path / "bad.eval")
        damage(tmp_path / "bad.eval", "summaries.json", 100)
    else:
        (tmp_path / "bad.eval").write_bytes(content)
    (tmp_path / "logs.json").write_text("{}", encoding="utf-8")  # inspect_ai's listing of a folder
    logs = read(tmp_path)
    assert len(logs.parts) == 1
    assert [problem.partition(": ")[0] for problem in logs.problems] == [str(tmp_path / "bad.eval")]


def test_what_is_no_log_is_a_problem_and_nothing_to_read_an_error(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("[1]", encoding="utf-8")
    logs = read("models/small.json", tmp_path / "other.json")
    assert [problem.partition(": ")[0] for problem in logs.problems] == [str(tmp_path / "other.json")]
    (tmp_path / "bad.eval").write_bytes(b"no zip")
    with pytest.raises(ValueError, match=r"at least one sample, got .*bad.eval: BadZipFile"):
        read(tmp_path)
    with pytest.raises(FileNotFoundError, match="logs of inspect_ai"):
        read(tmp_path / "nowhere")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python itself reads zstandard")
def test_without_zstandard_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtra, match=r"\[analyse\]"):
        read("once")
