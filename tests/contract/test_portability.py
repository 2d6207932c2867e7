"""Windows (no `fcntl`, no `resource`), macOS (no limit of the address space), and installations without litellm.

Each test runs a program in which modules and functions are hidden. So nothing that this process imported helps it.
"""

import json
import os
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import command_line

ROOT = Path(__file__).parents[2]
HIDING = """
import os, signal, sys

class Hider:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ["HIDDEN"].split(","):
            raise ImportError(f"No module named {name!r}", name=name)

for name in os.environ["HIDDEN"].split(","):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hider())
for module, names in ((os, os.environ["REMOVED"]), (signal, "SIGHUP SIGKILL" if os.environ["REMOVED"] else "")):
    for name in names.split():
        delattr(module, name)
"""
GONE = "fork forkpty killpg pread pwrite register_at_fork setsid O_DIRECTORY"
SHOP, SQL = "IAD/WebShop-v0", "IAD/BIRD-v0"
LOGS = ("episodes.jsonl", "answers.jsonl")
DEMO = ("compare", SHOP, "--strategies", "single,bon-sc,iad", "--n", "3", "--tasks", "1", "--split", "test")
COMMANDS = """
import json, sys
from typer.testing import CliRunner
from iad_policy.cli import app
done = [CliRunner().invoke(app, words) for words in json.loads(sys.argv[1])]
print(json.dumps([(one.exit_code, one.stdout, one.stderr) for one in done]))
"""
HOLDER = """
import sys
from iad_policy.ledger.run_folder import RunFolder, RunFolderError
folder = RunFolder(sys.argv[1], {})
print("held", flush=True)
sys.stdin.read()
try:
    RunFolder(sys.argv[1], {})
except RunFolderError as error:
    folder.close()
    folder.close()
    RunFolder(sys.argv[1], {}).close()
    print("and released")
"""
"""Opens a run folder. At the end of its input, it sees that nobody else in the process can until it is closed."""


def environment(folder: Path, **variables: str) -> dict[str, str]:
    (folder / "hiding").mkdir(exist_ok=True)
    (folder / "hiding" / "sitecustomize.py").write_text(HIDING)
    return {**os.environ, "PYTHONPATH": f"{folder / 'hiding'}{os.pathsep}{ROOT}", **variables}


def python(variables: dict[str, str], *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, *map(str, arguments)]
    return subprocess.run(words, env=variables, capture_output=True, text=True, timeout=100, check=False, **options)


def iad(variables: dict[str, str], *commands: tuple[object, ...]) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of commands, which one process runs."""
    words = json.dumps([[str(word) for word in words] for words in commands])
    done = python(variables, "-W", "error", "-c", COMMANDS, words)
    assert (done.returncode, done.stderr) == (0, "")
    return [(code, out, error) for code, out, error in json.loads(done.stdout)]


@pytest.fixture
def windows(tmp_path: Path) -> dict[str, str]:
    return environment(tmp_path, HIDDEN="fcntl,resource", REMOVED=GONE)


def answers(folder: Path) -> list[Any]:
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    return [{key: value for key, value in json.loads(line).items() if key != "usage"} for line in lines]


@pytest.mark.slow
def test_windows_runs_the_demo_with_the_same_answers_and_says_what_it_lacks(windows: Any, tmp_path: Path) -> None:
    here, there, exported = tmp_path / "here", tmp_path / "there", tmp_path / "rows.jsonl"
    *done, doctor, refused = iad(
        windows,
        (*DEMO, "--out", there),
        ("report", there),
        ("export", there, "--out", exported, "--format", "sft"),
        ("doctor", SHOP, SQL, "IAD/WebShopBrowser-v0", "--json", "--seconds", "60"),
        ("compare", SQL, "--tasks", "1", "--agent", "random"),
    )
    assert [(code, error) for code, _, error in done] == [(0, "")] * 3
    assert command_line.iad(*DEMO, "--out", here).exit_code == 0
    assert answers(there) == answers(here)
    assert (there / "report.html").stat().st_size
    assert len(exported.read_text(encoding="utf-8").splitlines()) > 2
    rows = {row["name"]: row for group in json.loads(doctor[1]).values() for row in group}
    assert (doctor[0], rows[SHOP]["status"]) == (0, "ok"), rows
    for name in (SQL, "browser"):
        assert (rows[name]["status"], "Linux or macOS" in rows[name]["said"]) == ("missing", True)
    assert (refused[0], refused[2].count("\n"), "Linux" in refused[2]) == (2, 1, True)
    code = "import sys, iad_envs.bash.embedded.opening\nfrom iad_envs.bash.env import BashEnv\nsys.platform = 'win32'\n"
    last = python(windows, "-c", f"{code}BashEnv().reset(seed=0)").stderr.splitlines()[-1]
    assert re.match(r"iad_envs\.bash\.sandbox\.SandboxUnavailable: .*Linux", last)


MAC = """
import json, os, resource, socket, sys
from pathlib import Path

limit = resource.setrlimit

def refusing(which, limits):
    if which == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    limit(which, limits)

resource.setrlimit = refusing

from iad_envs.bird import worker
from iad_envs.bird.database import DatabaseClient

ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    try:
        worker.serve(theirs, DatabaseClient(Path(sys.argv[1]))._settings)
    finally:
        os._exit(0)
theirs.close()
answers = [worker.read_message(ours)]
for sql in sys.argv[2:]:
    ours.sendall(worker.framed((sql, 20.0, 10, 1000)))
    answers.append(worker.read_message(ours)[:2])
ours.close()
os.wait()
print(json.dumps(answers))
"""
LARGE = (
    "WITH RECURSIVE numbers(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM numbers LIMIT 3000) "
    "SELECT x, hex(printf('%0100000d', x)) AS text FROM numbers ORDER BY text DESC"
)


def test_a_mac_that_limits_no_address_space_limits_the_heap_of_a_query(tmp_path: Path) -> None:
    path = tmp_path / "empty.sqlite"
    sqlite3.connect(path).close()
    done = python(dict(os.environ, PYTHONPATH=str(ROOT)), "-c", MAC, path, "SELECT 6 * 7", LARGE)
    assert done.stderr == ""
    ready, small, large = json.loads(done.stdout)
    assert (ready[0], small, large) == ("ready", ["ok", ""], ["limit", "out of memory"])


@pytest.mark.parametrize("first", [pytest.param("closed", marks=pytest.mark.slow), "killed"])
def test_windows_run_folder_is_locked_until_its_process_ends(windows: Any, tmp_path: Path, first: str) -> None:
    command = ["-W", "error", "-c", HOLDER, str(tmp_path / "run")]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": windows}
    with subprocess.Popen([sys.executable, *command], **pipes) as holder:
        assert holder.stdout.readline() == "held\n"  # type: ignore[union-attr]
        assert "RunFolderError" in python(windows, *command).stderr
        if first == "killed":
            holder.kill()
        holder.communicate()
    taken = python(windows, *command, input="")
    assert (taken.returncode, taken.stdout, taken.stderr) == (0, "held\nand released\n", "")
    assert {path.name for path in (tmp_path / "run").iterdir()} == {".lock", "config.json", *LOGS}


def test_missing_litellm_ends_a_run_before_its_first_episode_and_is_not_missed_without_a_model(tmp_path: Path) -> None:
    asked = ("--agent litellm", "--agent react", "--verifier judge", "--role critic=litellm", "--simulator llm")
    *refused, done = iad(
        environment(tmp_path, HIDDEN="litellm", REMOVED=""),
        *((*DEMO, *f"{one}:gpt-4o-mini".split(), "--out", tmp_path / "run") for one in asked),
        (*DEMO, "--out", tmp_path / "done"),
    )
    for code, out, error in refused:
        assert (code, out, error.count("\n")) == (2, "", 1)
        assert error.endswith(f"; {sys.executable} -m pip install litellm\n")
    assert not (tmp_path / "run").exists()
    assert (done[0], done[2]) == (0, "")
