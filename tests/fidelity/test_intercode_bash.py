"""The shell environment against InterCode: recorded rewards, real git, and the gold commands of the real tasks."""

import shutil
import subprocess
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.bash.intercode_compat import IGNORED_NAMES, MalformedCommand, arrives_as, git_status
from iad_envs.bash.sandbox import open_sandbox
from iad_envs.bash.scoring.reward import UnreadableStatus, intercode_parts, similarity
from iad_envs.bash.start_state import StartState
from iad_envs.bash.tasks import load_tasks
from tests.effort import times

Vectors = Callable[[str], Any]
N_TASKS = 200
TIME_DEPENDENT = {
    "fs_2-42", "fs_2-49", "fs_4-25", "fs_4-5", "fs_2-36",  # print times, loads, processes, free space
    "fs_1-45", "fs_1-46", "fs_2-39", "fs_2-48",  # pack archives, whose bytes may hold times
    "fs_1-6", "fs_1-55",  # read every file of the system, where others write
}  # fmt: skip
"""Gold commands whose second run may differ from the first, so that a reward below 1 is no fault."""


def test_rewards_and_their_parts_are_the_originals(vectors: Vectors) -> None:
    for case in vectors("intercode_bash_reward.json"):
        agent, gold = case["agent_hashes"], case["gold_hashes"]
        outputs = case["agent_obs"], None if case["gold_raises"] else case["gold_obs"]
        given: dict[str, Any] = {"agent_output": outputs[0], "gold_output": outputs[1]}
        given["same_content"] = lambda path, agent=agent, gold=gold: bool(agent.get(path) == gold.get(path))
        statuses = case["agent_status"], case["gold_status"]
        if case.get("raises") == "IndexError":
            with pytest.raises(UnreadableStatus):
                intercode_parts(*statuses, **given)
            continue
        found = intercode_parts(*statuses, **given)
        assert (case["name"], *found) == (case["name"], case["file_diff"], case["file_changes"], case["answer"])
        assert found.total == case["reward"], case["name"]
        assert similarity(*outputs) == pytest.approx(case["similarity"], abs=1e-12), case["name"]


def test_commands_are_altered_as_often_as_in_the_original(real_data: Path) -> None:
    altered: Counter[str] = Counter()
    split = []
    for task in load_tasks(real_data / "intercode"):
        arguments = arrives_as(task.gold)
        altered[task.file_system] += arguments[2:] != (task.gold.strip(),)
        if len(arguments) > 3:
            split.append(task.task_id)
    assert altered == {"fs_1": 14, "fs_2": 12, "fs_3": 8, "fs_4": 2}
    assert split == ["fs_3-33"]
    with pytest.raises(MalformedCommand, match="quotes that still balance"):
        arrives_as('echo "')


@pytest.mark.parametrize(("options", "step"), [
    ({"published": True}, 12), pytest.param({"published": True}, 1, marks=pytest.mark.slow),
    pytest.param({"limits": {"time_s": 15.0}}, 1, marks=pytest.mark.slow),
])  # fmt: skip
def test_every_gold_command_of_the_200_real_tasks_scores_1(real_data: Path, options: dict[str, Any], step: int) -> None:
    env = BashEnv(data_dir=real_data / "intercode", split=None, **options)
    below = {}
    tasks = load_tasks(real_data / "intercode")
    assert len(tasks) == N_TASKS
    for task in tasks[::step]:
        env.reset(options={"task_id": task.task_id})
        env.step(task.gold)
        _, reward, _, _, info = env.step("submit")
        if (reward, info["progress"], info["success"]) != (1.0, 1.0, True):
            below[task.task_id] = (reward, info["reward_parts"])
    assert not below.keys() - TIME_DEPENDENT, below
    assert len(env.task_ids) == N_TASKS - len(env.excluded)
    assert all(any(tool in why for tool in env.missing_tools) for why in env.excluded.values())
    env.close()


class Replica:
    """A tree in a folder under real git, and the same tree in a sandbox."""

    def __init__(self, folder: Path, script: str) -> None:
        self.folder = folder / "tree"
        self.folder.mkdir()
        self._home = folder
        self.bash(script)
        self.archive = folder / "tree.tar"
        with tarfile.open(self.archive, "w") as packed:
            for entry in sorted(self.folder.iterdir()):
                packed.add(entry, entry.name)
        (self.folder / ".gitignore").write_text("".join(f"{name}\n" for name in sorted(IGNORED_NAMES - {".git"})))
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "start")

    def git(self, *arguments: str) -> str:
        settings = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "safe.directory=*", "-c", "core.fileMode=true"]
        environment = {"HOME": str(self._home), "PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", *settings, *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, check=True)
        return done.stdout.decode(errors="surrogateescape")

    def bash(self, script: str) -> None:
        subprocess.run(["bash", "-c", script], cwd=self.folder, capture_output=True, check=False, timeout=20)


NAMES = ["a", "b.txt", "c d", "é.md", "lib", "run.log", 'q"t', "e", "tab\\tname", "bin"]


def scripts(rng: Random) -> tuple[str, str]:
    """A script that makes a random tree and one that changes it; all paths are relative and stay inside."""

    def path() -> str:
        # The first name is no name of the system, as the sandbox's root has those already.
        names = [rng.choice(["t1", "t2", "t3.d"]), *(rng.choice(NAMES) for _ in range(rng.randint(0, 3)))]
        return "/".join(f"$'{name}'" for name in names)

    def make() -> str:
        where = path()
        return f"mkdir -p $(dirname {where} 2>/dev/null) ; mkdir -p {path()}; echo {rng.randint(0, 9)} > {where}"

    def change() -> str:
        one = other = path()
        # Neither is above the other: a folder copied or linked into itself comes out differently each time.
        while f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/"):
            one, other = path(), path()
        return rng.choice(
            [
                f"echo {rng.randint(0, 9)} >> {path()}", f"mkdir -p {path()} && echo new > {path()}",
                f"rm -rf {path()}", f"mv {one} {other}",
                f"chmod {rng.choice(['+x', '600', '755'])} {path()}", f"cp -r {one} {other}",
                f"ln -sfn gone{rng.randint(0, 3)} {other}", f"touch -d 2001-01-01 {path()}",
                f"mkfifo {path()}/pipe",  # a name that nothing is written to
            ]
        )  # fmt: skip

    first = "; ".join([*(make() for _ in range(rng.randint(6, 16))), "mkdir -p t1/hollow/deep"])
    return first, "; ".join(change() for _ in range(rng.randint(4, 20)))


def replica_of(seed: int, place: Path) -> tuple[Replica, str]:
    folder = place / str(seed)
    folder.mkdir()
    first, second = scripts(Random(seed))
    return Replica(folder, first), second


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed, to compare with")


@needs_git
def test_the_status_from_the_sandboxs_changes_is_what_real_git_prints(tmp_path: Path) -> None:
    n_lines = 0
    for seed in range(times(60)):
        replica, changes = replica_of(seed, tmp_path)
        with open_sandbox(setup=replica.archive) as sandbox:
            start = StartState(sandbox, published=False)
            with sandbox.fork(start.token) as fork:
                fork.run(changes)
                ours = git_status(start.index, fork.diff(start.token))
        replica.bash(changes)
        theirs = replica.git("status", "--short")
        assert ours == theirs, (seed, changes)
        n_lines += len(theirs.splitlines())
    assert n_lines > 5


@needs_git
def test_cleaning_leaves_the_folders_that_real_git_leaves(tmp_path: Path) -> None:
    for seed in range(3):
        replica, _ = replica_of(seed, tmp_path)
        with open_sandbox(setup=replica.archive) as sandbox:
            start = StartState(sandbox, published=True)
            with sandbox.fork(start.token) as fork:
                found = fork.tree("/")
                ours = {change.path[1:] for change in found if change.path.startswith("/t")}
        replica.git("clean", "-fd")
        theirs = {str(path.relative_to(replica.folder)) for path in replica.folder.rglob("*")}
        assert ours == {path for path in theirs if path.startswith("t")}
