"""`iad data list`, `fetch` and `verify`, as they are typed. The sources are on a server of this machine."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from iad_envs.official.sources import DataSource, read_sources, source_of
from iad_policy.commands.data import NOT_FETCHED, add_commands
from iad_policy.commands.terminal import INTERRUPTED
from tests import command_line
from tests.iad_envs.official.conftest import VARIABLES
from tests.iad_envs.official.file_server import FileServer, Served, serving_files
from tests.iad_envs.official.small_sources import A, B, file, source, two, zipped
from tests.iad_policy.report.snapshots import require_snapshot
from tests.iad_policy.terminal import read_to_end

ROOT = Path(__file__).parents[3]
BOARD = "/datasets/hkust-nlp/agentboard/resolve/main/data/webshop/test.jsonl"
"""Path of the only file of agentboard-webshop, which has no other source than the hub."""
GOALS = b'{"goal": "red shoes"}\n' * 20_000


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in (*VARIABLES, "IAD_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IAD_OFFICIAL", str(tmp_path / "official"))
    return tmp_path / "official"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving_files() as files:
        yield files


def test_what_is_said_was_looked_at(
    server: FileServer, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fetch shows licence, citation, source and size, and asks; what is wrong is on one screen, with what to do."""
    monkeypatch.setenv("COLUMNS", "100")
    screens = []

    def said(given: DataSource | None, *arguments: object, stdin: str = "") -> int:
        """Run a command of the group on a table with one entry; by default the command line's own."""
        app = typer.Typer()
        add_commands(app, read_sources if given is None else lambda: {given.name: given})
        done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
        screens.append(f"=== {' '.join(map(str, arguments))}: {done.exit_code}\n{done.stdout}{done.stderr}")
        return int(done.exit_code)

    given = two(server, use="iad compare")
    assert [said(given, "fetch", "small", stdin=stdin) for stdin in ("n\n", "")] == [1, 1]
    assert (server.asked, root.exists()) == ([], False), "nothing is fetched unasked"
    assert [said(given, "fetch", "small", stdin="y\n"), said(given, "fetch", "small", "--yes")] == [0, 0]
    assert (root / "small" / "a.json").read_bytes() == A
    assert [said(given, "list"), said(given, "verify", "small")] == [0, 0]
    (root / "small" / "b.json").write_bytes(B[::-1])
    (root / "small" / "a.json").unlink()
    assert said(given, "verify", root / "small") == 1
    for name in ("b.json", "SOURCE.json"):  # in a folder without a record is what nobody knows
        (root / "small" / name).unlink()
    (root / "small" / "c.json").write_bytes(A)
    assert said(given, "verify", root / "small") == 1
    (root / "small").rename(root / "other")
    assert said(given, "verify", "small") == 2

    by_hand = two(server)._replace(name="hand")
    for name, content in (("a.json", A), ("b.json", B[::-1])):
        (tmp_path / name).write_bytes(content)
    n_asked = len(server.asked)
    assert said(by_hand, "fetch", "hand", "--from", tmp_path) == 2
    assert said(by_hand, "fetch", "hand", "--from", tmp_path, "--any-version") == said(by_hand, "verify", "hand") == 0
    assert said(by_hand, "fetch", "hand", "--from", tmp_path / "none") == 2
    assert len(server.asked) == n_asked, "what was fetched by hand is taken without asking"

    assert said(zipped(server)._replace(name="zipped"), "fetch", "zipped", "--yes") == 0
    with serving_files() as gone:
        files = file("a.json", A, gone.serve("/a", A), f"{gone.address}/b"), file("b.json", B, gone.serve("/c", B))
    assert said(source(*files, name="gone"), "fetch", "gone", "--yes") == NOT_FETCHED == 3
    server.serve("/page", b"<html>quota</html>", kind="text/html")
    pages = source(file("a.json", A, f"{server.address}/none", f"{server.address}/page"), name="page")
    assert said(pages, "fetch", "page", "--yes") == NOT_FETCHED
    begun = two(server)._replace(name="begun")
    server.files["/b"].statuses = [404]
    assert [said(begun, "fetch", "begun", "--yes"), said(begun, "list")] == [NOT_FETCHED, 0]
    assert said(source_of("acebench"), "fetch", "acebench") == NOT_FETCHED
    assert [said(two(server), command, "smal") for command in ("fetch", "verify")] == [2, 2]
    assert said(None, "list") == 0
    text = "\n".join(screens)
    known = {server.address: "SERVER", gone.address: "GONE", str(root): "ROOT", str(tmp_path): "HERE"}
    for place, name in known.items():
        text = text.replace(place, name).replace(place.removeprefix("http://"), name)
    require_snapshot("data.txt", text)


@pytest.fixture
def board(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> Served:
    """The file of agentboard-webshop, on this machine in place of the hub."""
    monkeypatch.setenv("HF_ENDPOINT", server.address)
    server.serve(BOARD, GOALS)
    return server.files[BOARD]


INTERRUPTIBLE = """
import runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[0] = "iad"
runpy.run_module("iad_policy.cli", run_name="__main__")
"""
"""The command where SIGINT is not ignored, as it is in a shell's background jobs."""
FETCH = [sys.executable, "-c", INTERRUPTIBLE, "data", "fetch", "agentboard-webshop", "--yes"]


@contextmanager
def fetching(**streams: Any) -> Iterator[subprocess.Popen[str]]:
    """The command itself, in a process of its own."""
    here: dict[str, Any] = {"env": {**os.environ, "PYTHONPATH": str(ROOT)}, "stdin": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(FETCH, **here, **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def until(is_so: Any) -> None:
    limit = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.01)


def test_two_processes_fetch_once(server: FileServer, board: Served, root: Path) -> None:
    board.hold = threading.Event()
    with fetching(stdout=subprocess.PIPE) as first:
        until(lambda: server.asked)
        with fetching(stdout=subprocess.PIPE) as second:
            assert second.stdout is not None
            next(one for one in second.stdout if one.startswith("Another process is fetching agentboard-webshop."))
            board.hold.set()
            said = second.stdout.read()
            assert (first.wait(30), second.wait(30)) == (0, 0)
    assert "agentboard-webshop is here" in said
    assert server.sent == len(GOALS)
    assert (root / "agentboard-webshop" / "test.jsonl").read_bytes() == GOALS


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_ended_process_is_gone_on_with(server: FileServer, board: Served, root: Path, how: signal.Signals) -> None:
    board.hold, board.hold_at = threading.Event(), 300_000
    part = root / "agentboard-webshop.part" / "files" / "test.jsonl.part"
    with fetching(stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        until(lambda: part.exists() and part.stat().st_size > 0)
        process.send_signal(how)
        _, said = process.communicate(timeout=30)
        assert process.returncode == (-how if how == signal.SIGKILL else INTERRUPTED)
        assert ("The same command goes on" in said) == (how == signal.SIGINT)
    board.hold.set()
    kept = part.stat().st_size
    assert command_line.iad("data", "fetch", "agentboard-webshop", "--yes").exit_code == 0
    assert server.asked[1].headers["range"] == f"bytes={kept}-"
    assert server.asked[1].sent == len(GOALS) - kept
    assert (root / "agentboard-webshop" / "test.jsonl").read_bytes() == GOALS


def test_a_terminal_shows_how_far_it_is(server: FileServer, board: Served) -> None:
    mine, theirs = pty.openpty()
    with fetching(stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        said = read_to_end(mine)
        assert process.wait(30) == 0
    shown = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", said.decode())
    for said in ("GPL-2.0", "test.jsonl ━", "440.0/440.0 kB", "SHA-256 not known before"):
        assert said in shown
