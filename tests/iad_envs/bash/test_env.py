"""`IAD/InterCodeBash-v0`: contract 1, and what a shell does, seen from outside.

What is seen and scored along commands is recorded: `tests/fixtures/episodes/bash.toml` has the ways.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bash.env import BashEnv
from iad_envs.errors import UnknownTask
from tests.contract.environments import EnvironmentContract, Subject
from tests.iad_envs.bash.small_tasks import make_tasks


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tasks(tmp_path_factory.mktemp("intercode"))


class TestContract(EnvironmentContract):
    @pytest.fixture
    def subject(self, data: Path) -> Subject:
        walk = "cd / && mkdir -p walked && echo step {step} >> walked/notes.txt && ls walked"
        arguments = {"data_dir": str(data)}
        bound_by = "files in a sandbox"
        return Subject(
            "IAD/InterCodeBash-v0", lambda info: walk.format_map(info), arguments=arguments, bound_by=bound_by,
            exempt=["fs_1-1"],
        )  # fmt: skip


@pytest.fixture(scope="module")
def opened(data: Path) -> Iterator[BashEnv]:
    env = BashEnv(data_dir=data)
    yield env
    env.close()


@pytest.fixture
def env(opened: BashEnv) -> BashEnv:
    opened.reset(options={"task_id": "fs_1-0"})
    return opened


def said(env: BashEnv, command: str) -> str:
    output: str = env.step(command)[4]["page"]["output"]
    return output


def test_outcomes_are_the_same_when_output_and_changes_are_and_a_submit_says_nothing_else(env: BashEnv) -> None:
    def key(action: str) -> str:
        return env.simulate(env.snapshot(), action).key

    assert key("echo a > /desk/x") == key("printf 'a\\n' > /desk/x")
    assert len({key("echo a > /desk/x"), key("echo b > /desk/x"), key("echo a"), key("cd /desk"), key("submit")}) == 5
    env.step("echo something")
    assert [env.terminal(action) for action in (" submit\n", "submit now")] == [True, False]
    outcome = env.simulate(env.snapshot(), "submit")
    assert (outcome.observation, outcome.done) == ("submitted", True)
    assert (outcome.info["page"]["output"], outcome.info["facts"]["exit_code"]) == ("", 0)


def test_progress_is_known_from_the_first_step_and_its_gold_run_is_kept(env: BashEnv) -> None:
    _, info = env.reset(options={"task_id": "fs_1-1"})
    assert info["progress"] == 0.0
    drawn = [env.oracle(env.simulate(env.snapshot(), f"echo number{k}").token)["progress"] for k in range(3)]
    assert drawn == pytest.approx([0.67] * 3)
    env.step("true")
    env.reset(options={"task_id": "fs_1-0"})
    assert env.step("echo hello")[4]["progress"] < env.step("echo there hello")[4]["progress"] == 1.0


def test_the_gold_command_leaves_nothing_that_the_agent_sees_and_a_closed_environment_opens_again(data: Path) -> None:
    env = BashEnv(data_dir=data)
    for _ in range(2):
        env.reset(options={"task_id": "fs_1-4"})
        env.step("true")
        assert said(env, "ls /desk") == "hollow\nlink\none.txt\nsub\n"
        assert "No such file" in said(env, f"ls {data}")
        looked = said(env, "grep -rl 'echo text' /usr/lib/python3*/site-packages /usr/local /home /root 2>/dev/null")
        assert looked == ""
        env.close()


def test_tasks_without_their_programs_are_excluded(env: BashEnv, data: Path) -> None:
    assert [*env.task_ids] == [f"fs_1-{place}" for place in (0, 1, 3, 4)]
    assert env.excluded == {"fs_1-2": "needs no-such-tool, which this sandbox does not have"}
    _, info = env.reset(options={"task_id": "fs_1-2"})
    assert info["facts"]["missing_tools"] == ("no-such-tool",)
    for name, value, known in (("reward", "kind", "intercode, strict"), ("split", "train", "known: test")):
        with pytest.raises(UnknownTask, match=known):
            BashEnv(data_dir=data, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="known: embedded"):
        BashEnv(data_dir=data, backend="podman").reset()
