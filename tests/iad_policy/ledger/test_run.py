import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from iad_policy.ledger.episode import UNFINISHED, UNKNOWN
from iad_policy.ledger.run import Run
from iad_policy.types import FALLBACK, Candidate
from tests.iad_policy.evaluation_toy import Babbler, kept, runner


def run(path: Path, agent: Any = None) -> None:
    kept(runner(agent), path)


def test_the_steps_of_an_episode_add_up_to_its_record(tmp_path: Path) -> None:
    """What a step has of its decision is in tests/contract/test_recorded_decisions.py."""
    run(tmp_path)
    traces = Run(tmp_path)
    assert len(traces.records) == 12
    for key, record in traces.records.items():
        steps = traces.episode(key).steps
        assert tuple(step.action for step in steps) == record.actions
        assert [step.after.done for step in steps if step.after] == [False] * (len(steps) - 1) + [True]
        assert sum(step.reward for step in steps) == record.reward
        for step, following in pairwise(steps):
            assert step.after == following.before
        if record.strategy == "iad":
            first, second, _ = steps[0].decision.candidates
            assert (bool(first.feedback), bool(second.feedback)) == (False, True)


def test_what_was_left_in_a_changed_course_is_not_told(tmp_path: Path) -> None:
    run(tmp_path)
    traces = Run(tmp_path)
    key, whole = next((key, traces.episode(key)) for key, one in traces.records.items() if one.strategy == "iad")
    with (tmp_path / "answers.jsonl").open("a") as log:
        log.write(json.dumps({"episode": key, "item": "2.4.0", "kind": "left", "dropped": ["2.4.0"]}) + "\n")
    traces = Run(tmp_path)
    fewer = traces.episode(key)
    assert [len(step.decision.candidates) for step in whole.steps] == [3, 3, 3]
    assert [len(step.decision.candidates) for step in fewer.steps] == [3, 3, 2]


def test_a_run_that_goes_on_is_followed_line_by_line(tmp_path: Path) -> None:
    run(tmp_path / "whole")
    part = tmp_path / "part"
    part.mkdir()
    for name in ("config.json", "answers.jsonl"):
        (part / name).write_bytes((tmp_path / "whole" / name).read_bytes())
    episodes = (tmp_path / "whole" / "episodes.jsonl").read_bytes().splitlines(keepends=True)
    traces = Run(part)
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
        traces.episode("0" * 32)


OTHER_FORMS: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "episodes side by side": lambda lines: sorted(lines, key=lambda line: str(json.loads(line).get("item"))),
    "as others write JSON": lambda lines: [f"{json.dumps(json.loads(line))}\n".encode() for line in lines],
    "longer, so its size does not tell": lambda lines: lines[::-1] + lines[:1],
}


@pytest.mark.parametrize("form", OTHER_FORMS)
def test_files_that_were_replaced_by_another_form_of_the_same_are_read_anew(form: str, tmp_path: Path) -> None:
    run(tmp_path)
    traces = Run(tmp_path)
    expected = {key: traces.episode(key) for key in traces.records}
    for name in ("answers.jsonl", "episodes.jsonl"):
        new = tmp_path / f"{name}.new"
        new.write_bytes(b"".join(OTHER_FORMS[form]((tmp_path / name).read_bytes().splitlines(keepends=True))))
        new.replace(tmp_path / name)
    assert traces.refresh()
    for own in (traces, Run(tmp_path)):
        assert {key: own.episode(key) for key in own.records} == expected


def changed(folder: Path, change: Callable[[dict[str, Any]], Any]) -> tuple[Any, Any]:
    """The steps of a first episode, and those after a change of its lines: True keeps a line, False drops it."""
    run(folder)
    key, whole = next((key, Run(folder).episode(key)) for key in Run(folder).records)
    log = folder / "answers.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    new = [(line, change(line) if line["episode"] == key else True) for line in lines]
    log.write_text("".join(f"{json.dumps(line if one is True else one)}\n" for line, one in new if one))
    return whole.steps, Run(folder).episode(key).steps


def test_a_decision_that_was_not_finished_says_so_and_keeps_what_was_proposed(tmp_path: Path) -> None:
    whole, (*others, last) = changed(tmp_path, lambda line: line["item"] not in ("2.commit", "2.step"))
    episodes = tmp_path / "episodes.jsonl"
    first, *records = [json.loads(line) for line in episodes.read_text().splitlines()]
    records.insert(0, first | {"actions": first["actions"][:2]})
    episodes.write_text("".join(f"{json.dumps(one)}\n" for one in records))
    *others, last = Run(tmp_path).episode(first["key"]).steps
    assert (*others, last.decision.candidates) == (*whole[:2], whole[2].decision.candidates)
    assert [step.is_finished for step in (*others, last)] == [True, True, False]
    assert (last.decision.committed, last.action, last.after, last.proposed) == (UNFINISHED, None, None, None)
    assert all(step.proposed == step.decision.committed for step in others)


def test_what_the_strategy_made_itself_has_the_action_alone(tmp_path: Path) -> None:
    _, steps = changed(tmp_path, lambda line: line["kind"] != "commit" or line | {"candidate": ""})
    for step in steps:
        assert (step.decision.committed, step.is_finished, step.proposed) == (Candidate(step.action), True, None)


def test_a_state_whose_line_is_damaged_is_not_known_and_the_rest_is_read(tmp_path: Path) -> None:
    whole, (first, *others) = changed(tmp_path, lambda line: line["item"] != "reset")
    assert (first.before, first.decision.state) == (None, UNKNOWN)
    assert first.decision.candidates == whole[0].decision.candidates
    assert tuple(others) == whole[1:]


def test_what_stood_in_for_an_answer_that_is_no_action_keeps_its_error(tmp_path: Path) -> None:
    run(tmp_path, Babbler())
    traces = Run(tmp_path)
    for key, record in traces.records.items():
        for step in traces.episode(key).steps:
            assert step.decision.committed.error
            assert step.decision.committed.action == step.action == record.actions[step.index]
            assert (step.is_finished, step.decision.is_fallback, step.decision.notes) == (True, True, (FALLBACK,))
            assert step.proposed is not None
            assert step.proposed.action == "blah"
