import json
from itertools import pairwise
from pathlib import Path

import pytest

from iad_policy.evaluation.config import FREE
from iad_policy.recording.run_folder import RunFolder, RunFolderError
from iad_policy.recording.trace import RunTraces
from tests.iad_policy.evaluation_toy import Guesser, runner


def run(path: Path, agent: Guesser | None = None) -> None:
    one = runner(agent)
    with RunFolder(path, one.recorded_config(), free=FREE) as folder:
        for _ in one.episodes(folder):
            pass


def test_a_trace_tells_every_candidate_verdict_and_commit_of_the_episode(tmp_path: Path) -> None:
    run(tmp_path)
    traces = RunTraces(tmp_path)
    assert len(traces.records) == 12
    for key, record in traces.records.items():
        steps = traces.trace(key).steps
        candidates = [one for step in steps for one in step.decision.candidates]
        assert tuple(step.action for step in steps) == record.actions
        assert len(candidates) == record.usage["agent"]["proposals"]
        verdicts = [one.verdict for one in candidates if one.verdict is not None]
        assert len(verdicts) == record.usage.get("verifier", {}).get("verifications", 0)
        assert [step.after.done for step in steps if step.after] == [False] * (len(steps) - 1) + [True]
        assert sum(step.reward for step in steps) == record.reward
        for step, following in pairwise(steps):
            assert step.after == following.before
        for step in steps:
            (chosen,) = [one for one in step.decision.candidates if one.id == step.decision.committed.id]
            assert chosen == step.decision.committed
            assert chosen.action == step.action
            if record.strategy == "iad":
                assert chosen.verdict.score == max(one.verdict.score for one in step.decision.candidates)
                assert [bool(one.feedback) for one in step.decision.candidates] == [False, True, True]


def test_what_was_left_in_a_changed_course_is_not_told(tmp_path: Path) -> None:
    run(tmp_path)
    traces = RunTraces(tmp_path)
    key, whole = next((key, traces.trace(key)) for key, one in traces.records.items() if one.strategy == "iad")
    with (tmp_path / "answers.jsonl").open("a") as log:
        log.write(json.dumps({"episode": key, "item": "2.4.0", "kind": "left", "dropped": ["2.4.0"]}) + "\n")
    traces = RunTraces(tmp_path)
    fewer = traces.trace(key)
    assert [len(step.decision.candidates) for step in whole.steps] == [3, 3, 3]
    assert [len(step.decision.candidates) for step in fewer.steps] == [3, 3, 2]


def test_a_run_that_goes_on_is_followed_line_by_line(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    part = tmp_path / "part"
    part.mkdir()
    for name in ("config.json", "answers.jsonl"):
        (part / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    episodes = (tmp_path / "whole" / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    traces = RunTraces(part)
    assert traces.records == {}
    assert not traces.refresh()
    with (part / "episodes.jsonl").open("ab") as file:
        file.write(episodes[0] + episodes[1][:40])
        file.flush()
        assert traces.refresh()
        assert len(traces.records) == 1
        file.write(episodes[1][40:])
        file.flush()
        assert traces.refresh()
    assert len(traces.records) == 2
    with pytest.raises(KeyError, match="expected the key of an episode"):
        traces.trace("0" * 32)


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="expected a run folder"):
        RunTraces(tmp_path)


def test_lines_of_episodes_side_by_side_are_told_apart(tmp_path: Path) -> None:
    run(tmp_path)
    whole = RunTraces(tmp_path)
    expected = {key: whole.trace(key) for key in whole.records}
    log = tmp_path / "answers.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join(sorted(lines, key=lambda line: json.loads(line)["item"])))
    mixed = RunTraces(tmp_path)
    for key, trace in expected.items():
        assert mixed.trace(key) == trace


def test_a_log_that_others_wrote_is_read_as_json(tmp_path: Path) -> None:
    run(tmp_path)
    whole = RunTraces(tmp_path)
    expected = {key: whole.trace(key) for key in whole.records}
    log = tmp_path / "answers.jsonl"
    log.write_text("".join(f"{json.dumps(json.loads(line))}\n" for line in log.read_text().splitlines()))
    spaced = RunTraces(tmp_path)
    assert {key: spaced.trace(key) for key in expected} == expected
