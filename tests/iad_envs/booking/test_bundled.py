"""The bundled site and its tasks: made by their scripts, apart from each other, and each with its trap."""

import re
import runpy
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.scoring import gold_actions
from iad_envs.booking.tasks import KINDS, load_tasks, task_of
from iad_envs.booking.world import load_world
from iad_envs.errors import DataNotFound
from tests.contract.environments import solution_of
from tests.iad_envs.booking.visits import ENGINE, FOLDER, TASKS, TEST, WORLD, folder_of, play, tasks_with
from tests.iad_envs.data_scripts import ran


@pytest.fixture(scope="module")
def faults() -> Any:
    """What finds the faults of a task."""
    return runpy.run_path(str(FOLDER / "plain_paths.py"))["faults"]


@pytest.mark.parametrize("script", ["make_world.py", pytest.param("make_tasks.py", marks=pytest.mark.slow)])
def test_the_files_are_those_that_their_scripts_write(script: str) -> None:
    code, said = ran(f"booking/{script}", "--check")
    assert (code, said.partition(": ")[2]) == (0, "the same\n")


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_no_task_has_a_fault(step: int, faults: Any) -> None:
    for task in [*TASKS.values()][::step]:
        assert faults(ENGINE, task) == [], task.task_id


def test_a_task_whose_trap_is_none_is_found_out(faults: Any) -> None:
    task = tasks_with("contested")[0]
    harmless = {"a detour does no harm", "to let the table go does no harm"}
    assert set(faults(ENGINE, task._replace(rivals=()))) == harmless
    early = tuple(one._replace(step=2) for one in task.rivals)
    assert faults(ENGINE, task._replace(rivals=early)) == ["gold can't be done"]
    task = tasks_with("move")[0]
    assert task.own is not None
    far = task.own._replace(table=task.own.table._replace(day=task.day + 1))
    assert "gold fails" not in faults(ENGINE, task._replace(own=far))
    assert faults(ENGINE, task._replace(gold_slots=(task.gold_slots[0] + 15,)))


def test_splits_have_their_sizes_and_complications_and_share_neither_restaurants_nor_people() -> None:
    assert Counter(task.split for task in TASKS.values()) == {"train": 600, "dev": 100, "test": 200}
    assert Counter(task.difficulty for task in TEST) == {"easy": 70, "medium": 70, "hard": 60}
    counts = Counter(kind for task in TEST for kind in task.kinds)
    assert (set(counts), min(counts.values()) >= 12) == (set(KINDS), True)
    owners = defaultdict(set)
    for task in TASKS.values():
        for what in (task.restaurant, task.user.first_name, task.user.last_name, task.user.email):
            owners[what].add(task.split)
    assert [what for what, splits in owners.items() if len(splits) > 1] == []
    env = BookingEnv(split=None)
    assert len({env.subject_of(task) for task in TASKS}) == len({task.restaurant for task in TASKS.values()})
    names = Counter((one.name, one.city) for one in WORLD.restaurants.values())
    assert max(names.values()) == 1 < max(Counter(name for name, _ in names).values())
    assert Counter(city for _, city in names) == dict.fromkeys(WORLD.cities, 40)
    lengths = [len(gold_actions(ENGINE, task)) for task in TEST[::4]]
    assert (13 <= sum(lengths) / len(lengths) <= 15, max(lengths) < 30 - 2) == (True, True)


def test_a_task_is_told_as_it_is_and_survives_its_line() -> None:
    """What an instruction says is read from it in `policy/test_instruction.py`. Nobody has these details."""
    for task in TASKS.values():
        n_kinds = len(task.kinds)
        assert bool(task.seating) is bool({"given_seating", "hidden_seating"} & set(task.kinds)), task.task_id
        assert (task.city != WORLD.restaurants[task.restaurant].city) is ("other_city" in task.kinds), task.task_id
        assert ("2026" in task.instruction) is ("relative_date" not in task.kinds), task.task_id
        expected = {"easy": task.kinds in ((), ("given_seating",)), "medium": n_kinds == 1, "hard": n_kinds >= 2}
        assert expected[task.difficulty], task.task_id
        assert re.fullmatch(r"555-01\d\d .*@example\.org", f"{task.user.phone} {task.user.email}")
        assert task_of(task.as_record()) == task


def test_fresh_tasks_load_and_are_the_same_in_a_second_run(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        given = ("--kind=contested", "--tasks=5", "--seed=3", f"--output={folder}")
        assert ran("booking/make_tasks.py", *given)[0] == 0
    files = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]
    assert set(files[0]) == {"world.json", "tasks.jsonl"}
    env, loaded = BookingEnv(data_dir=folders[0]), load_tasks(folders[0].resolve())
    assert env.data.digest != BookingEnv().data.digest
    assert (len(env.task_ids), {loaded[task_id].kinds for task_id in env.task_ids}) == (5, {("contested",)})
    assert not set(env.task_ids) & set(TASKS)
    for task_id in env.task_ids:
        env.reset(options={"task_id": task_id})
        assert play(env, solution_of(env))[1] == 1.0


def test_a_folder_without_data_or_with_broken_data_is_refused_in_words(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "broken", TEST[0])
    with (folder / "tasks.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "test-x"}\n')
    (tmp_path / "world.json").write_text("[]", encoding="utf-8")
    for call, said in (
        (lambda: BookingEnv(data_dir=tmp_path / "none"), "none"),
        (lambda: BookingEnv(data_dir=folder), r"line 2 of .*tasks\.jsonl"),
        (lambda: load_world(tmp_path), "cities and restaurants"),
    ):
        with pytest.raises(DataNotFound, match=said):
            call()
