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
from tests.iad_envs.official.small_sources import ZIP, A, B, file, source, two, zipped
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


def iad(given: DataSource | None, *arguments: object, stdin: str = "") -> Any:
    """Run a command of the group on a table with one entry; by default the command line's own."""
    return CliRunner().invoke(group(given), [str(argument) for argument in arguments], input=stdin)


def group(given: DataSource | None) -> typer.Typer:
    app = typer.Typer()
    add_commands(app, (lambda: {given.name: given}) if given is not None else read_sources)
    return app


def test_a_fetch_shows_licence_citation_source_and_size_and_asks_before_the_first_byte(
    server: FileServer, root: Path
) -> None:
    given = two(server)
    for stdin, said in (("n\n", "Nothing was fetched."), ("", "Where nobody can, add --yes.")):
        done = iad(given, "fetch", "small", stdin=stdin)
        assert (done.exit_code, said in done.output) == (1, True), done.output
        for text in ("MIT", "Somebody et al.", "0.5 MB", f"{server.address}/a", str(root / "small"), "IAD/WebShop-v0"):
            assert text in done.output
    assert (server.asked, root.exists()) == ([], False)
    done = iad(given, "fetch", "small", stdin="y\n")
    assert done.exit_code == 0
    assert (root / "small" / "a.json").read_bytes() == A


def test_a_fetch_says_what_the_hashes_were_held_to_and_how_data_are_used(server: FileServer, root: Path) -> None:
    done = iad(two(server, use="iad compare"), "fetch", "small", "--yes")
    assert f"a.json, 256.0 kB, the SHA-256 that is known, from {server.address}/a\n" in done.stdout
    assert f"Folder: {root / 'small'} (2 files, 466.0 kB)\n" in done.stdout
    assert done.stdout.endswith("Use:    iad compare\n")
    again = iad(two(server), "fetch", "small", "--yes")
    assert (again.exit_code, again.stdout.count("\n")) == (0, 2)
    assert f"small is here: {root / 'small'}\n" in again.stdout
    done = iad(zipped(server)._replace(name="other"), "fetch", "other", "--yes")
    assert f"dev.zip, {len(ZIP)} B, SHA-256 not known before, from {server.address}/zip\n" in done.stdout


def test_offline_one_screen_has_files_sources_reasons_folder_and_what_to_do(server: FileServer, root: Path) -> None:
    with serving_files() as gone:
        given = source(
            file("a.json", A, gone.serve("/a", A), f"{gone.address}/b"), file("b.json", B, gone.serve("/c", B))
        )
    done = iad(given, "fetch", "small", "--yes")
    assert done.exit_code == NOT_FETCHED == 3
    screen = done.stderr
    assert screen.startswith("iad: small was not fetched: a.json ")
    known = [text for one in given.files for text in (one.name, one.sha256, *one.urls)]
    for text in (*known, f"{gone.address.removeprefix('http://')}: ", str(root / "small"), "--from FOLDER", "verify"):
        assert text in screen
    assert screen.count("\n") < 24
    assert not (root / "small").exists()
    server.serve("/page", b"<html>quota</html>", kind="text/html")
    given = source(file("a.json", A, f"{server.address}/none", f"{server.address}/page"))
    screen = iad(given, "fetch", "small", "--yes").stderr
    assert "HTTP 404 Not Found" in screen
    assert "a web page in place of the data" in screen


def test_what_was_fetched_by_hand_is_taken_without_asking(server: FileServer, root: Path, tmp_path: Path) -> None:
    given = two(server)
    for name, content in (("a.json", A), ("b.json", B[::-1])):
        (tmp_path / name).write_bytes(content)
    done = iad(given, "fetch", "small", "--from", tmp_path)
    assert (done.exit_code, done.stderr.count("\n"), "MIT" in done.stdout) == (2, 1, True)
    assert done.stderr.startswith(f"iad: {tmp_path / 'b.json'}: expected the SHA-256 ")
    done = iad(given, "fetch", "small", "--from", tmp_path, "--any-version")
    assert done.exit_code == 0
    assert "b.json, 210.0 kB, NOT the SHA-256 that is known" in done.stdout
    verified = iad(given, "verify", "small")
    assert (verified.exit_code, "b.json: taken as another version than the known one" in verified.stdout) == (0, True)
    assert server.asked == []
    done = iad(given, "fetch", "small", "--from", tmp_path / "none")
    assert (done.exit_code, "expected a file or a folder after --from" in done.stderr) == (2, True)


def test_verify_finds_what_was_changed(server: FileServer, root: Path) -> None:
    given = two(server)
    assert iad(given, "fetch", "small", "--yes").exit_code == 0
    done = iad(given, "verify", "small")
    assert (done.exit_code, done.stdout) == (0, f"{root / 'small'}\n2 files: 2 ok\n")
    (root / "small" / "b.json").write_bytes(B[::-1])
    (root / "small" / "a.json").unlink()
    done = iad(given, "verify", root / "small")
    assert done.exit_code == 1
    assert "  a.json: missing, held to SOURCE.json\n  b.json: changed, held to SOURCE.json\n" in done.stdout
    for name in ("b.json", "SOURCE.json"):  # in a folder without a record is what nobody knows
        (root / "small" / name).unlink()
    (root / "small" / "c.json").write_bytes(A)
    done = iad(given, "verify", root / "small")
    assert (done.exit_code, "1 file: 1 unknown" in done.stdout) == (1, True)
    (root / "small").rename(root / "other")
    done = iad(given, "verify", "small")
    assert (done.exit_code, "run: iad data fetch small" in done.stderr) == (2, True)


def test_list_fits_on_a_terminal_names_every_entry_and_shows_what_is_here(server: FileServer, root: Path) -> None:
    table, _, rest = iad(None, "list").stdout.partition("\n\n")
    assert max(map(len, table.splitlines())) <= 100
    for name in ("webshop-small", "bird-mini-dev", "sketch2code", "acebench"):
        assert name in table
    assert str(root) in rest
    given = two(server)
    assert re.search(r"small +IAD/WebShop-v0 +0\.5 MB +MIT +no", iad(given, "list").stdout)
    server.files["/b"].statuses = [404]
    assert iad(given, "fetch", "small", "--yes").exit_code == NOT_FETCHED
    assert re.search(r"MIT +begun", iad(given, "list").stdout)
    assert iad(given, "fetch", "small", "--yes").exit_code == 0
    assert re.search(r"MIT +yes", iad(given, "list").stdout)


def test_what_a_repository_has_is_said_with_its_commands_and_unknown_names_are_one_sentence(server: FileServer) -> None:
    done = iad(source_of("acebench"), "fetch", "acebench")
    assert (done.exit_code, done.stderr.count("\n")) == (NOT_FETCHED, 1)
    assert "    $ git -C ACEBench checkout 56dd66c\n" in done.stdout
    for command in ("fetch", "verify"):
        done = iad(two(server), command, "smal")
        assert (done.exit_code, done.stderr.count("\n"), "(near: small)" in done.stderr) == (2, 1, True)


# The command itself, in processes of its own.


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
    with subprocess.Popen(
        FETCH, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL, text=True, **streams
    ) as process:
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
            for line in second.stdout:
                if line.startswith("Another process is fetching agentboard-webshop."):
                    break
            board.hold.set()
            said = second.stdout.read()
            assert (first.wait(30), second.wait(30)) == (0, 0)
    assert "agentboard-webshop is here" in said
    assert server.sent == len(GOALS)
    assert (root / "agentboard-webshop" / "test.jsonl").read_bytes() == GOALS


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_leaves_what_the_next_one_goes_on_with(
    server: FileServer, board: Served, root: Path, how: signal.Signals
) -> None:
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
    assert "GPL-2.0" in shown
    assert "test.jsonl ━" in shown
    assert "440.0/440.0 kB" in shown
    assert "SHA-256 not known before" in shown
