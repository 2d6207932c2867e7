"""`IAD/InterCodeBash-v0` beyond the contract that every environment keeps: what a shell does, seen from outside."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from iad_envs.bash.env import BashEnv
from iad_envs.errors import UnknownTask

TASKS = [
    {"query": "Say hello", "gold": "echo hello there"},
    {"query": "Draw a number", "gold": "echo number$RANDOM$RANDOM$RANDOM"},
    {"query": "Draw a tree", "gold": "no-such-tool /desk | sort"},
    {"query": "Change one", "gold": "echo new words > /desk/one.txt"},
    {"query": "Two at once", "gold": ["mkdir /desk/made", "echo text > /desk/made/a.txt"]},
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("intercode")
    (folder / "tasks_fs_1.json").write_text(json.dumps(TASKS))
    (folder / "setup_nl2b_fs_1.sh").write_text(
        "mkdir -p /desk/sub /desk/hollow\necho first > /desk/one.txt\n"
        "echo two > /desk/sub/two.txt\nln -s sub /desk/link\n"
    )
    return folder


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


def test_the_working_directory_is_carried_as_a_shell_would(env: BashEnv) -> None:
    assert said(env, "cd /desk && ls sub") == "two.txt\n"
    assert said(env, "cd link; pwd") == "/desk/link\n"
    assert said(env, "cd -") == "/desk\n"
    env.step("(cd sub); false")
    assert said(env, "pwd") == "/desk\n"


def test_the_observation_tells_output_errors_exit_code_and_what_else_happened(data: Path) -> None:
    env = BashEnv(data_dir=data, limits={"time_s": 0.5, "output_bytes": 2000})
    env.reset(seed=0)
    observation, *_, info = env.step("echo out; echo err >&2; exit 3")
    assert observation == "out\nerr\n[exit code 3]"
    assert info["facts"]["exit_code"] == 3
    observation, *_, info = env.step("echo before; sleep 60")
    assert "before" in observation
    assert "timed out" in observation
    assert info["facts"]["timed_out"] is True
    observation, *_, info = env.step("seq 5000")
    assert "truncated" in observation
    assert info["facts"]["truncated"] is True
    observation, *_, info = env.step("sleep 60 & echo on")
    assert "1 background jobs ended" in observation
    assert info["facts"]["background_ended"] == 1
    env.close()


def test_facts_name_what_a_command_touched_and_destroyed(env: BashEnv) -> None:
    env.step("cd /desk; echo x > new.txt; echo y >> one.txt; rm sub/two.txt; chmod 000 hollow")
    facts = env.simulate(env.snapshot(), "true").info["facts"]
    assert (facts["created"], facts["changed"], facts["deleted"]) == ((), (), ())
    *_, info = env.step("echo z > other.txt; echo y >> one.txt; rm new.txt")
    facts = info["facts"]
    assert facts["created"] == ("/desk/other.txt",)
    assert facts["changed"] == ("/desk/one.txt",)
    assert facts["deleted"] == ("/desk/new.txt",)
    assert facts["destructive"] == ("deletes", "overwrites")
    assert env.simulate(env.snapshot(), ": > one.txt").info["facts"]["destructive"] == ("empties",)


def test_a_simulated_command_is_taken_over_and_not_run_again(env: BashEnv) -> None:
    action = "echo $RANDOM$RANDOM$RANDOM | tee /desk/drawn.txt"
    ahead = env.simulate(env.snapshot(), action)
    other = env.simulate(env.snapshot(), "rm -rf /desk")
    assert env.step(action)[0] == ahead.observation
    assert said(env, "cat /desk/drawn.txt") == ahead.info["page"]["output"]
    assert other.info["facts"]["n_deleted"] > 0
    assert said(env, "cat /desk/one.txt") == "first\n"


def test_candidates_run_side_by_side_do_not_see_each_other(env: BashEnv) -> None:
    token = env.snapshot()
    with ThreadPoolExecutor(4) as threads:
        actions = [f"echo {k} > /desk/mine-{k}; sleep 0.1; ls /desk | grep mine" for k in range(8)]
        outcomes = list(threads.map(lambda action: env.simulate(token, action), actions))
    assert [outcome.info["page"]["output"] for outcome in outcomes] == [f"mine-{k}\n" for k in range(8)]
    assert said(env, "ls /desk | grep -c mine") == "0\n"


def test_outcomes_are_the_same_when_output_and_changes_are(env: BashEnv) -> None:
    def key(action: str) -> str:
        return env.simulate(env.snapshot(), action).key

    assert key("echo a > /desk/x") == key("printf 'a\\n' > /desk/x")
    assert len({key("echo a > /desk/x"), key("echo b > /desk/x"), key("echo a"), key("cd /desk"), key("submit")}) == 5


def test_a_simulated_submit_says_submitted_and_nothing_else(env: BashEnv) -> None:
    env.step("echo something")
    assert env.terminal(" submit\n")
    assert not env.terminal("submit now")
    outcome = env.simulate(env.snapshot(), "submit")
    assert (outcome.observation, outcome.done) == ("submitted", True)
    assert outcome.info["page"]["output"] == ""
    assert outcome.info["facts"]["exit_code"] == 0


def test_progress_is_known_from_the_first_step_and_its_gold_run_is_kept(env: BashEnv) -> None:
    _, info = env.reset(options={"task_id": "fs_1-1"})
    assert info["progress"] == 0.0
    drawn = [env.oracle(env.simulate(env.snapshot(), f"echo number{k}").token)["progress"] for k in range(3)]
    assert drawn == pytest.approx([0.67] * 3)
    env.step("true")
    env.reset(options={"task_id": "fs_1-0"})
    assert env.step("echo hello")[4]["progress"] < env.step("echo there hello")[4]["progress"] == 1.0


def test_the_gold_command_leaves_nothing_that_the_agent_sees(env: BashEnv, data: Path) -> None:
    env.reset(options={"task_id": "fs_1-4"})
    env.step("true")
    assert said(env, "ls /desk") == "hollow\nlink\none.txt\nsub\n"
    assert "No such file" in said(env, f"ls {data}")
    assert said(env, "grep -rl 'echo text' /usr/lib/python3*/site-packages /usr/local /home /root 2>/dev/null") == ""


def test_published_files_that_were_only_modified_are_not_compared_and_strictly_they_are(data: Path) -> None:
    for reward, wrong in (("intercode", 1.0), ("strict", 0.5)):
        env = BashEnv(data_dir=data, reward=reward)  # type: ignore[arg-type]
        for command, expected in (("echo nonsense > /desk/one.txt", wrong), ("echo new words > /desk/one.txt", 1.0)):
            env.reset(options={"task_id": "fs_1-3"})
            env.step(command)
            assert float(env.step("submit")[1]) == expected
        env.close()


def test_submitting_at_once_answers_with_the_instruction(env: BashEnv) -> None:
    _, reward, terminated, _, info = env.step("submit")
    assert terminated
    assert info["success"] is False
    assert float(reward) == pytest.approx(0.67 + info["reward_parts"]["answer"])
    assert info["reward_parts"]["answer"] > 0


def test_the_published_shell_has_the_originals_quoting_and_lacks_what_its_reset_destroys(data: Path) -> None:
    env = BashEnv(data_dir=data, published=True)
    env.reset(options={"task_id": "fs_1-0"})
    assert said(env, "ls -d /tmp /mnt /desk/hollow 2>/dev/null; ls /desk") == "link\none.txt\nsub\n"
    observation, *_, info = env.step('echo "a   b"')
    assert info["page"]["output"] == "a\n"
    assert "ran as" in observation
    observation, *_, info = env.step('echo "')
    assert info["invalid_action"] is True
    assert "expected quotes that still balance" in observation
    env.close()


def test_tasks_whose_programs_are_missing_are_excluded_by_name(env: BashEnv) -> None:
    assert "fs_1-2" not in env.task_ids
    assert len(env.task_ids) == len(TASKS) - 1
    assert env.excluded == {"fs_1-2": "needs no-such-tool, which this sandbox does not have"}
    _, info = env.reset(options={"task_id": "fs_1-2"})
    assert info["facts"]["missing_tools"] == ("no-such-tool",)


def test_an_environment_can_be_closed_and_reset_again(env: BashEnv) -> None:
    env.close()
    env.reset(options={"task_id": "fs_1-0"})
    assert said(env, "cat /desk/one.txt") == "first\n"


def test_unknown_arguments_list_the_known_ones(data: Path) -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"reward": "kind"}, "intercode, strict"),
        ({"split": "train"}, "known: test"),
    ]
    for arguments, known in bad:
        with pytest.raises(UnknownTask, match=known):
            BashEnv(data_dir=data, **arguments)
    with pytest.raises(ValueError, match="known: embedded"):
        BashEnv(data_dir=data, backend="podman").reset()
