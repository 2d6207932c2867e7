"""Files of predictions: what can be read of them is read, and the rest is named with its place."""

import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from iad_policy.ledger.predictions.formats import ActionsOnly
from iad_policy.ledger.predictions.json_items import read_items
from iad_policy.ledger.predictions.prediction_files import files_of, read_predictions
from iad_policy.report.predictions.scored_files import ExpectedTasks, read_files
from iad_policy.types.hashing import encode


def read(tmp_path: Path, text: str | bytes, name: str = "file.json") -> tuple[list[tuple[Any, ...]], list[str]]:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    items, problems = read_items(path)
    for place in [item.place for item in items] + problems:
        assert place.startswith(str(path))
    shown = [(item.place.removeprefix(f"{path}, line "), *item[1:]) for item in items]
    return shown, [problem.removeprefix(f"{path}") for problem in problems]


def test_members_of_objects_and_arrays_and_lines_have_their_places(tmp_path: Path) -> None:
    assert read(tmp_path, '{"a": 1,\n"b": [2]}') == ([("1", 0, "a", 1), ("2", 1, "b", [2])], [])
    assert read(tmp_path, '\ufeff [1,\n\n{"b": 2} ]\n') == ([("1", 0, None, 1), ("3", 1, None, {"b": 2})], [])
    lines = '{"a": 1}\n\n{"a": 2}\n'
    for name in ("file.jsonl", "file.ndjson", "file.json"):
        assert read(tmp_path, lines, name) == ([("1", 0, None, {"a": 1}), ("3", 1, None, {"a": 2})], [])
    assert read(tmp_path, "{}") == read(tmp_path, "[]") == ([], [])


def test_a_line_that_can_not_be_read_costs_only_itself_and_keeps_its_number(tmp_path: Path) -> None:
    items, problems = read(tmp_path, '{"a": 1}\n{"a": \nNaN\n"\udc80'.encode("utf-8", "surrogateescape"), "file.jsonl")
    assert [(place, position) for place, position, *_ in items] == [("1", 0), ("3", 2)]
    assert [problem.partition(":")[0] for problem in problems] == [", line 2", ", line 4"]
    assert "not UTF-8" in problems[1]
    items, problems = read(tmp_path, '{bad}\n{"a": 2}\n')
    assert ([position for _, position, *_ in items], len(problems)) == ([1], 1)


@pytest.mark.parametrize(
    ("text", "n_items", "place"),
    [
        *(('{"a": 1,\n"b": 2,\n"c": "cut o', 2, ", line 3"), ('{"a": 1,\n"b" 2}', 1, ", line 2")),
        *(('{"a": 1 "b": 2}', 1, ", line 1"), ("{1: 2}", 0, ", line 1"), ('[1,\n2,\n{"a":', 2, ", line 3")),
        *(("[1,\n" + "[" * 10**5, 1, ", line 2"), ("[1, " + "9" * 10**4 + "]", 1, ", line 1")),
        *(("", 0, ""), ("no JSON", 0, ""), ("12", 0, "")),
    ],
)
def test_what_comes_before_a_damaged_place_is_kept(text: str, n_items: int, place: str, tmp_path: Path) -> None:
    items, (problem,) = read(tmp_path, text)
    assert len(items) == n_items
    assert problem.startswith(f"{place}: expected ")


def test_of_two_members_with_one_key_the_later_one_counts_and_one_that_is_not_utf_8_is_left_out(tmp_path: Path) -> None:
    items, problems = read(tmp_path, '{"a": 1,\n"b": 2,\n"a": 3}')
    assert items == [("2", 1, "b", 2), ("3", 2, "a", 3)]
    assert problems == [", line 1: the key 'a' is there again in a later line, which counts"]
    items, problems = read(tmp_path, b'{"a": "x",\n"b": "\xff",\n"c": "\xc3\xa9"}')
    assert [(key, value) for *_, key, value in items] == [("a", "x"), ("c", "é")]
    assert problems == [", line 2: expected UTF-8, got other bytes"]


TASKS = ExpectedTasks({"a": "easy", "b": ""}, {"a": 1, "b": 1, "other": 1}, "split dev")


@pytest.fixture
def form() -> ActionsOnly:
    return ActionsOnly(gym.make("CartPole-v1"))


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


def test_a_line_is_an_attempt_and_bad_ones_are_named(tmp_path: Path, form: ActionsOnly) -> None:
    lines: list[Any] = [{"task_id": "a", "actions": ["x", "y"], "seed": 3, "reward": 1.0}, {"task_id": 7}]
    lines += [{"task_id": "a", "actions": "x"}, {"task_id": None}, {"task_id": True}, {}]
    lines += [{"task_id": "a", "seed": -1}, {"task_id": "a", "arm": 5}, {"task_id": "nope"}]
    lines = [{"actions": [], **line} for line in (*lines, {"task_id": "b", "arm": "mine"})]
    path = write(tmp_path / "file.jsonl", *lines, {"question_id": 1, "sql": "SELECT 1"}, ["x"])
    read = read_predictions(path, form, ["a", "b", "7"])
    expected = [("a", ("x", "y"), 3, "", None), ("7", (), 0, "", None), ("b", (), 0, "mine", None)]
    assert [(one.task_id, one.actions, one.seed, one.arm, one.answer) for one in read.attempts] == expected
    assert (read.attempts[0].place, read.unknown) == (f"{path}, line 1", ["nope"])
    places = [problem.removeprefix(f"{path}, line ").partition(": ")[0] for problem in read.problems]
    assert places == ["3", "4", "5", "6", "7", "8", "11 and 1 more"]


def test_an_array_has_several_attempts_and_actions_may_be_no_text(tmp_path: Path, form: ActionsOnly) -> None:
    path, one = tmp_path / "file.json", '{"task_id": "a", "actions": ["x"]}'
    for text, n in ((one, 1), (f"[{one}, {one}]", 2)):
        path.write_text(text)
        assert [attempt.actions for attempt in read_predictions(path, form, ["a"]).attempts] == [("x",)] * n
    actions = [1, encode((1, 2))]
    lines = [{"task_id": "a", "actions": one} for one in ([*actions, {"__array__": "no"}], actions)]
    read = read_predictions(write(tmp_path / "file.jsonl", *lines), form, [])
    assert "line 1: expected an encoded value" in read.problems[0]
    assert [one.actions for one in read.attempts] == [(1, (1, 2))]


def test_a_folder_has_files(tmp_path: Path, form: ActionsOnly) -> None:
    with pytest.raises(FileNotFoundError, match=r"\*\.jsonl"):
        files_of(tmp_path, form)
    paths = [write(tmp_path / name) for name in ("b.jsonl", "a.json", "c.txt")]
    assert files_of(tmp_path, form) == [paths[1], paths[0]]


def test_attempts_at_other_tasks_are_left_out_and_named(tmp_path: Path, form: ActionsOnly) -> None:
    lines = [{"task_id": task, "actions": []} for task in ("a", "other", "other", "nope")]
    ((arm, read),) = read_files([write(tmp_path / "mine.jsonl", *lines)], form, TASKS, is_compared=False)
    assert (arm, [one.task_id for one in read.attempts], read.unknown) == ("mine", ["a"], ["nope"])
    assert read.notes[0].endswith("outside of split dev, which are not scored: 2 (other)")


def test_files_are_samples_of_one_arm_or_arms_with_their_own_names(tmp_path: Path, form: ActionsOnly) -> None:
    (tmp_path / "deep").mkdir()
    paths = [write(tmp_path / name, {"task_id": "a", "actions": []}) for name in ("x.jsonl", "y.json", "deep/x.jsonl")]
    assert {arm for arm, _ in read_files(paths, form, TASKS, is_compared=False)} == {"3 files"}
    arms = [arm for arm, _ in read_files(paths, form, TASKS, is_compared=True)]
    assert arms == [f"{tmp_path.name}/x", f"{tmp_path.name}/y", "deep/x"]
    assert [arm for arm, _ in read_files(paths[1:], form, TASKS, is_compared=True)] == ["y", "x"]
    assert [arm for arm, _ in read_files([tmp_path], form, TASKS, is_compared=True)] == [tmp_path.stem] * 2
