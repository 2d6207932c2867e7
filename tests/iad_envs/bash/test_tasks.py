"""The bundled shell tasks: how they are made, and that each can be solved."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.bash.intercode_compat import arrives_as
from iad_envs.bash.tasks import TaskFileError, commands_in, load_tasks, setup_of
from iad_envs.errors import DataNotFound
from tests.contract.environments import solution_of

DATA = Path(__file__).parents[3] / "data" / "intercode"
OPTIONS = {"published": True, "reward": "strict"}


def test_the_script_writes_the_same_bytes_again_and_golds_arrive_the_same_however_they_are_quoted() -> None:
    done = subprocess.run([sys.executable, "make_tasks.py", "--check"], cwd=DATA, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    for task in load_tasks(DATA):
        assert arrives_as(task.gold) == ("/bin/bash", "-c", task.gold)
        assert '"' not in task.gold


@pytest.mark.parametrize(
    ("options", "step"),
    [
        *(({name: value}, 30) for name, value in OPTIONS.items()),
        *(pytest.param(dict([one]), 1, marks=pytest.mark.slow) for one in OPTIONS.items()),
        pytest.param({}, 1, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_gold_command_does_something_and_scores_1(options: dict[str, Any], step: int) -> None:
    """On the trees of the test. The contract runs all of them with default options."""
    env = BashEnv(split=None, data_dir=DATA, **options)
    for task in [task for task in load_tasks(DATA) if task.split in ("test", "tuning")][::step]:
        env.reset(options={"task_id": task.task_id})
        *_, info = env.step(solution_of(env)[0])
        facts = info["facts"]
        assert (facts["exit_code"], info["progress"]) == (0, 1.0), task
        assert info["page"]["output"] or facts["n_created"] or facts["n_changed"] or facts["n_deleted"], task
        _, reward, terminated, _, info = env.step("submit")
        assert (reward, terminated, info["success"]) == (1.0, True, True), task
    env.close()


def test_the_programs_that_a_command_calls_are_found_in_it() -> None:
    cases = {
        "find /a -name '*.x' -exec rm {} \\; | sort -u": {"find", "rm", "sort"},
        "cat f | xargs -I{} -P10 compress {} &": {"cat", "xargs", "compress"},
        "cat f | xargs -n 1 wc -l": {"cat", "xargs", "wc"},
        "diff <(ls /a) <(tree /b)": {"diff", "ls", "tree"},
        "a=$(dig +short x | head -n 1) && echo $a": {"dig", "head", "echo"},
        "ls `which c++`": {"ls", "which"},
        "echo '|tree'": {"echo"},
    }
    for command, names in cases.items():
        assert commands_in(command) == names, command


def test_broken_task_files_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match="expected task files"):
        load_tasks(tmp_path)
    for name, text, message in (
        ("one", "[", "expected JSON"),
        ("two", '{"query": 1}', "a list of tasks"),
        ("three", '[{"query": "q"}]', "query and gold"),
    ):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "tasks_fs_1.json").write_text(text)
        with pytest.raises(TaskFileError, match=message):
            load_tasks(folder)


def test_a_start_state_may_be_a_tar_a_script_or_nothing(tmp_path: Path) -> None:
    (tmp_path / "fs_1.tar.gz").write_bytes(b"")
    (tmp_path / "setup_nl2b_fs_2.sh").write_text("mkdir /x\n")
    assert setup_of(tmp_path, "fs_1") == tmp_path / "fs_1.tar.gz"
    assert setup_of(tmp_path, "fs_2") == ("mkdir /x\n",)
    assert setup_of(tmp_path, "fs_3") == ()
