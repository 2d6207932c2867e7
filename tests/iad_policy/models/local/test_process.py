"""The server's process: shared by those who use it, and gone with the last of them.

llama.cpp is replaced by a module of the same name, so that these tests run where it is not installed.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from iad_policy.errors import ModelError
from iad_policy.models.local.process import ServerProcess

FAKE = """
import types, time, os
class CommonParams:
    def __init__(self):
        self.model, self.cpuparams, self.cpuparams_batch = (types.SimpleNamespace() for _ in range(3))
common_reasoning_format = types.SimpleNamespace(COMMON_REASONING_FORMAT_NONE=0)
class Server:
    listening_address = "http://127.0.0.1:4711"
    def __init__(self, params):
        if "broken" in params.model.path:
            raise RuntimeError("failed to load model: tensor data is not within the file bounds")
        if "crash" in params.model.path:
            os.write(2, b"GGML_ASSERT failed")
            os.abort()
        while "slow" in params.model.path:
            time.sleep(0.05)
"""
USER = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
from iad_policy.models.local.process import ServerProcess
print(ServerProcess({options!r}, Path({folder!r})).pid, flush=True)
time.sleep(60)
"""
END_S = 10.0

SIZES = {"n_context": 512, "n_parallel": 8, "n_batch": 512, "n_threads": 1, "cache_mib": 0}
OPTIONS: dict[str, Any] = {"path": "toy.gguf", "sha256": "f00d", **SIZES}
Start = Callable[..., ServerProcess]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """A function that starts, or joins, a server with a module in place of llama.cpp."""
    (tmp_path / "xllamacpp.py").write_text(FAKE)
    root = Path(__file__).parents[4]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{root}")
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    def started(**changes: Any) -> ServerProcess:
        return ServerProcess({**OPTIONS, **changes}, tmp_path)

    return started


def runs(pid: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return not shown.stdout.startswith("Z") and bool(shown.stdout.strip())


def ends(pid: int, within_s: float = END_S) -> bool:
    """Whether a process ends within some seconds."""
    return bool(until(lambda: not runs(pid), within_s))


def using(tmp_path: Path, **changes: Any) -> "subprocess.Popen[str]":
    """Another process that uses a server, and tells the server's process id."""
    code = USER.format(options={**OPTIONS, **changes}, folder=str(tmp_path))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def told(user: "subprocess.Popen[str]") -> int:
    assert user.stdout is not None
    return int(user.stdout.readline())


def until(condition: Callable[[], Any], within_s: float = END_S) -> Any:
    """Wait for a condition, and return what it is then."""
    limit = time.monotonic() + within_s
    while not (found := condition()) and time.monotonic() < limit:
        time.sleep(0.02)
    return found


def test_a_server_is_shared_by_those_who_want_the_same_and_ends_with_its_last_lease(start: Start) -> None:
    first, second, other = start(), start(), start(n_context=1024)
    assert (first.host, first.port, first.is_alive, runs(first.pid)) == ("127.0.0.1", 4711, True, True)
    assert first.pid == second.pid != other.pid
    assert first.key == second.key != other.key
    assert len(first.key) == 32
    first.end()
    assert (first.is_alive, second.is_alive, runs(second.pid)) == (False, True, True)
    second.end()
    assert ends(second.pid)
    second.end()
    other.end()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_server_outlives_the_process_that_uses_it(start: Start, tmp_path: Path, number: signal.Signals) -> None:
    user = using(tmp_path)
    pid = told(user)
    assert runs(pid)
    user.send_signal(number)
    user.communicate()
    assert ends(pid)


def test_a_server_goes_on_for_others_when_the_one_who_started_it_is_killed(start: Start, tmp_path: Path) -> None:
    user = using(tmp_path)
    pid, mine = told(user), start()
    assert mine.pid == pid
    user.kill()
    user.communicate()
    assert (mine.is_alive, runs(pid)) == (True, True)
    mine.end()
    assert ends(pid)


def test_who_uses_a_server_that_is_killed_sees_it(start: Start) -> None:
    server = start()
    os.kill(server.pid, signal.SIGKILL)
    assert until(lambda: not server.is_alive)
    server.end()
    again = start()  # what it left in the folder does no harm
    assert again.is_alive
    again.end()


@pytest.mark.parametrize(
    ("path", "said"),
    [("broken.gguf", "tensor data is not within the file bounds"), ("crash.gguf", "GGML_ASSERT failed")],
)
def test_a_file_that_can_not_be_loaded_is_said_in_one_sentence(start: Start, path: str, said: str) -> None:
    with pytest.raises(ModelError, match=f"llama.cpp to serve {path}, got: .*{said}") as caught:
        start(path=path)
    assert (caught.value.kind, "\n" in str(caught.value)) == ("not_found", False)


def test_a_folder_that_others_can_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o777)
    with pytest.raises(ModelError, match=r"shared to belong to this user alone"):
        ServerProcess(OPTIONS, tmp_path / "shared")
