import json
import os
import pty
import re
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from iad_policy.cli import COMMANDS, imported
from iad_policy.ledger.run import Run
from iad_policy.report.results import read_results
from tests.command_line import iad
from tests.iad_policy.terminal import read_to_end

SHOP = "IAD/WebShop-v0"


def without_progress(shown: str) -> str:
    """What a command prints, without the lines of its progress."""
    return "".join(line for line in shown.splitlines(keepends=True) if not re.match(r" *\d+/\d+ ", line))


def of(folder: Path, name: str) -> Any:
    """What a file of a run says."""
    return json.loads((folder / f"{name}.json").read_text())


def n_episodes(folder: Path) -> int:
    return len((folder / "episodes.jsonl").read_text().splitlines())


def test_compare_writes_the_folder_and_prints_the_table_or_the_whole_one(tmp_path: Path, monkeypatch: Any) -> None:
    """What the tables say is held to files in tests/iad_policy/report/test_metrics.py."""
    monkeypatch.delenv("COLUMNS", raising=False)
    given = ("compare", SHOP, "--tasks", 6, "--out", tmp_path)
    done = iad(*given)
    assert done.exit_code == 0, done.output
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 100
    assert done.stdout.splitlines()[-1] == f"Run folder: {tmp_path}"
    summary = of(tmp_path, "summary")
    n_of_rows = {row: one["n_episodes"] for row, one in summary["strategies"].items()}
    assert n_of_rows == dict.fromkeys(("single", "bon-sc", "iad"), 6)
    assert (summary["information"], summary["is_complete"], of(tmp_path, "config")["n"]) == ("proxy", True, 3)
    assert iad(*given).stdout == without_progress(done.stdout)
    table = (tmp_path / "report.txt").read_text()
    assert table in iad(*given, "--full").stdout
    assert table == read_results(tmp_path).table()
    assert "Spent, mean per episode" not in done.stdout


def test_without_a_terminal_the_first_episode_and_each_tenth_are_a_line(tmp_path: Path) -> None:
    given = ("--strategies", "single", "--tasks", 20, "--out", tmp_path)
    notebook = {**os.environ, "FORCE_COLOR": "1"}
    with subprocess.Popen(command("compare", SHOP, *given), stdout=subprocess.PIPE, text=True, env=notebook) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        assert not (tmp_path / "summary.json").exists(), "the line came at the end"
        lines = [first, *process.stdout]
    assert (process.returncode, "\x1b" in "".join(lines)) == (0, False)
    assert lines[-1] == f"Run folder: {tmp_path}\n"
    said = re.compile(r" *(\d+)/20 episodes, \d+ s(, about \d+ s left)?, (\d+) calls?\n")
    told = [said.sub(r"\1;\2;\3", line).split(";") for line in lines[:11]]
    assert [int(n) for n, _, _ in told] == [1, *range(2, 21, 2)]
    n_calls = [one.spent.proposals + one.spent.verifications for one in Run(tmp_path).records.values()]
    assert (int(told[0][2]), int(told[-1][2])) == (n_calls[0], sum(n_calls))
    assert [left != "" for _, left, _ in told] == [False, *[True] * 10], "one episode says little about the others"
    assert lines[11].startswith("IAD/WebShop-v0: 20 tasks")


def test_an_argument_of_the_environment_reaches_its_episodes_and_their_export(tmp_path: Path) -> None:
    given = ("--env-arg", "mode=answer", "--tasks", 5, "--out", tmp_path / "run")
    done = iad("run", "IAD/BIRD-v0", "--agent", "solution:0.5", "--strategy", "single", *given)
    assert done.exit_code == 0, done.output
    assert [one.n_steps for one in Run(tmp_path / "run").records.values()] == [1] * 5
    assert of(tmp_path / "run", "config")["env_args"] == {"mode": "answer"}
    done = iad("export", tmp_path / "run", "--format", "sft", "--out", tmp_path / "rows.jsonl")
    assert done.exit_code == 0, done.output
    assert "execute[" not in (tmp_path / "rows.jsonl").read_text()


def test_an_unknown_model_is_one_sentence_and_status_2(tmp_path: Path) -> None:
    done = iad("compare", SHOP, "--agent", "litellm:nosuchmodel", "--no-cache", "--out", tmp_path)
    assert (done.exit_code, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("iad: ModelError: expected an answer from nosuchmodel")
    (failed, last) = done.stdout.splitlines()
    assert (failed.endswith(", 1 call, 1 failed"), last) == (True, f"Run folder: {tmp_path}")


def test_list_names_everything_or_one_kind_and_how_its_names_are_written() -> None:
    listed = iad("list").stdout
    for name in (SHOP, "shopper", "litellm:<model>", "bon-sc", "oracle", "judge:<model>", "best-worst"):
        assert name in listed
    listed = iad("list", "verifiers").stdout
    assert ("noisy:<sd>:<verifier>" in listed, "shopper" in listed) == (True, False)
    assert iad("--version").stdout == f"iad {version('iad')}\n"


HEAVY = [("--help", "gymnasium numpy pydantic rich scipy iad_envs iad_policy.types"), ("list", "flask scipy")]


@pytest.mark.parametrize(("argument", "unneeded"), HEAVY)
def test_what_takes_long_to_import_is_imported_by_the_commands_that_need_it(argument: str, unneeded: str) -> None:
    code = f"""
import sys
from iad_policy.cli import app
try:
    app([{argument!r}])
finally:
    print(*(set({unneeded!r}.split()) & set(sys.modules)), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_the_first_line_of_each_command(name: str) -> None:
    assert str(imported(name).help).partition("\n")[0] == COMMANDS[name][1]


def test_play_goes_from_the_search_to_the_score_and_can_be_left() -> None:
    typed = "search lamp\n\n4\nback to search\nsearch\nred lamp\n5\nBuy Now\n"
    done = iad("play", SHOP, "--task", "test-0001", stdin=typed)
    assert done.exit_code == 0, done.output
    for text in ("step 0", "step 5", "click[buy now]", "reward", "r_type", "success", "Why it failed (this may quote"):
        assert text in done.stdout
    for stdin in ("q\n", "search lamp\nq\n", ""):
        done = iad("play", SHOP, stdin=stdin)
        assert (done.exit_code, "You quit" in done.stdout) == (0, True)


@pytest.mark.parametrize(
    ("env", "typos", "action", "said"),
    [
        (SHOP, ["help", "serch[tea]"], "search tea", "'serch[tea]'"),
        ("IAD/BIRD-v0", ["help"], "execute select 1", "a bare query, got 'help'"),
        ("IAD/InterCodeBash-v0", ["lsx"], "pwd", "lsx: command not found"),
        ("CartPole-v1", ["help", "7"], "1", "Discrete(2), got '7'"),
    ],
)
def test_a_typo_at_the_prompt_costs_no_step(env: str, typos: list[str], action: str, said: str) -> None:
    done = iad("play", env, stdin="\n".join([*typos, action, "q", ""]))
    assert (done.exit_code, done.stdout.count("Nothing was done: ")) == (0, len(typos)), done.output
    assert said in " ".join(done.stdout.split())  # its lines are as wide as the terminal
    assert done.stdout.count("\u2500 step ") == 2, done.stdout  # before the action and after it


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "iad_policy.cli", *map(str, arguments)]


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    given = ("compare", SHOP, "--tasks", 8, "--strategies", "single,bon-sc", "--out", tmp_path)
    process = subprocess.Popen(command(*given), stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown = b""
    while not re.search(rb"[1-9]\d*/16 episodes", shown):  # of the bar
        shown += os.read(master, 65536)
    process.send_signal(signal.SIGINT)
    shown += read_to_end(master)
    assert process.wait(timeout=30) == 130
    told = (b"Ctrl-C stops the run", b"Stopped after", b"Traceback")
    assert [one in shown for one in told] == [True, True, False]
    assert (0 < n_episodes(tmp_path) < 16, of(tmp_path, "summary")["is_complete"]) == (True, False)
    again = iad(*given)
    assert (again.exit_code, again.stderr) == (0, "")
    assert (n_episodes(tmp_path), of(tmp_path, "summary")["is_complete"]) == (16, True)


SUITE = """
tasks = 2
strategies = ["single", "bon-sc"]
n = [1, 2]
verifier = "none"

[[run]]
env = ["CartPole-v1", "FrozenLake-v1"]

[[run]]
env = "IAD/WebShop-v0"
name = "shop"
agent = ["shopper:0.5", "shopper:2"]
verifier = "proxy"
seed = [0, 1]
"""


def test_a_file_holds_several_runs_and_the_command_line_goes_before_it(tmp_path: Path) -> None:
    file, out = tmp_path / "suite.toml", tmp_path / "out"
    file.write_text(SUITE)
    done = iad("compare", "--config", file, "--tasks", 3, "--workers", 4, "--out", out)
    assert done.exit_code == 0, done.output
    configs = {folder.name: of(folder, "config") for folder in out.iterdir() if folder.is_dir()}
    shop = configs.pop("shop")
    assert (shop["env"], shop["tasks"], shop["n"], shop["seed"], shop["workers"]) == (SHOP, 3, [1, 2], [0, 1], 4)
    others = sorted((one["env"], one["tasks"], one["verifier"]) for one in configs.values())
    assert others == [("CartPole-v1", 3, ""), ("FrozenLake-v1", 3, "")]
    lines = (out / "shop" / "episodes.jsonl").read_text()
    assert n_episodes(out / "shop") == 3 * 2 * 2 * 3  # tasks, seeds, agents; single, bon-sc of 1 and of 2
    assert "bon-sc n=2 shopper:0.5" in done.stdout
    again = iad("compare", "--config", file, "--tasks", 3, "--out", out)
    assert again.stdout == without_progress(done.stdout)
    assert (out / "shop" / "episodes.jsonl").read_text() == lines


def test_data_are_made_indexed_and_shopped_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("IAD_INDEX", str(tmp_path / "indexes"))
    data = tmp_path / "data"
    assert "0 in" in iad("index", "info").stdout
    assert iad("data", "synth", "--products", 600, "--out", data).exit_code == 0
    built = iad("index", "build", "--data-dir", data, "--workers", 1)
    assert built.exit_code == 0, built.output
    assert [Path(line).name.partition("-")[0] for line in built.stdout.splitlines()] == ["catalog", "bm25"]
    info = iad("index", "info").stdout
    assert re.search(rf"bm25 +data [0-9a-f]{{16}} +600 products .* from {data}$", info, re.MULTILINE)
    shop = (SHOP, "--data-dir", data, "--env-arg", "catalog=disk", "--tasks", 2)
    done = iad("run", *shop, "--strategy", "single", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
