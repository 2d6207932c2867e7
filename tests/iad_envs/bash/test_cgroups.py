"""Control groups where systemd offers them, on folders that stand for the kernel's."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from iad_envs.bash.embedded.cgroups import ControlGroup, Controller, controllers, enter, scope
from tests.security.bash_sandboxes import AS_NOBODY, ROOT

OPENS = """
from iad_envs.bash.sandbox import open_sandbox
with open_sandbox() as sandbox:
    print(sandbox.run("echo isolated").output, end="")
"""
PASSES_ON = 'while [ "$1" != -- ]; do echo "$1"; shift; done >$XDG_RUNTIME_DIR/told; shift; exec "$@"'
FAILS = "echo Failed to connect to bus >&2; exit 1"


def group(folder: Path, *, processes: list[int]) -> Path:
    """A process folder whose group of version 2 lies in a folder, and can be divided once another lies below it."""
    own = folder / "fs/some.scope"
    own.mkdir(parents=True)
    (own / "cgroup.controllers").write_text("cpu memory pids\n")
    (own / "cgroup.procs").write_text("".join(f"{each}\n" for each in processes))
    (own / "cgroup.subtree_control").symlink_to("launcher/enabled")
    proc = folder / "proc"
    proc.mkdir()
    (proc / "cgroup").write_text("0::/some.scope\n")
    (proc / "mounts").write_text(f"cgroup2 {folder}/fs cgroup2 rw 0 0\n")
    return proc


def test_a_group_of_its_own_is_divided_after_its_process_has_left_it_and_another_left_as_it_is(tmp_path: Path) -> None:
    own, shared = tmp_path / "own/fs/some.scope", tmp_path / "shared/fs/some.scope"
    found = controllers(str(group(tmp_path / "own", processes=[os.getpid()])))
    assert found == [Controller("pids", 2, str(own)), Controller("memory", 2, str(own))]
    assert (own / "launcher/cgroup.procs").read_text() == str(os.getpid())
    (own / "iad-sandbox-1-1").mkdir()
    (own / "iad-sandbox-1-1/cgroup.procs").touch()
    made = ControlGroup(found, "iad-sandbox-1-1", processes=5, memory_bytes=1 << 20)
    assert made.in_force == {"pids": "cgroup v2", "memory": "cgroup v2"}
    enter(made.doors)
    made.close()
    written = {path.name: path.read_text() for path in (own / "iad-sandbox-1-1").iterdir()}
    assert written == {"pids.max": "5", "memory.max": str(1 << 20), "memory.swap.max": "0", "cgroup.procs": "0"}
    assert controllers(str(group(tmp_path / "shared", processes=[1, os.getpid()]))) == []
    left = {f"cgroup.{one}" for one in ("controllers", "procs", "subtree_control")}
    assert {path.name for path in shared.iterdir()} == left


@pytest.mark.parametrize(("user", "words"), [(1000, ["--user", "--scope"]), (0, ["--scope", "--quiet"])])
def test_systemd_is_asked_where_it_runs(tmp_path: Path, user: int, words: list[str]) -> None:
    def find(name: str) -> str:
        return f"/usr/bin/{name}"

    variables = {"XDG_RUNTIME_DIR": str(tmp_path)} if user else {}
    assert scope(variables, user=user, run=str(tmp_path), which=find) == ()
    (tmp_path / "systemd").mkdir()
    (tmp_path / "systemd/private").touch()
    command = scope(variables, user=user, run=str(tmp_path), which=find)
    assert [*command[:3]] == ["/usr/bin/systemd-run", *words]
    assert command[-2:] == ("--property=Delegate=yes", "--")
    assert scope(variables, user=user, run=str(tmp_path), which=lambda _: None) == ()
    assert scope({}, user=1000, run=str(tmp_path), which=find) == ()


@pytest.mark.parametrize("script", [PASSES_ON, FAILS])
def test_a_sandbox_opens_with_systemd_and_with_one_that_fails(script: str) -> None:
    with tempfile.TemporaryDirectory(prefix="iad-test-") as folder:  # as systemd makes it for a user
        runtime = Path(folder)
        (runtime / "systemd").mkdir()
        (runtime / "systemd/private").touch()
        (runtime / "systemd-run").write_text(f"#!/bin/sh\n{script}\n")
        for each in (runtime, runtime / "systemd", runtime / "systemd-run"):
            each.chmod(0o777)
        variables = {"XDG_RUNTIME_DIR": folder, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
        done = subprocess.run([*AS_NOBODY, "-c", OPENS], env=variables, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("isolated\n", "")
        assert (runtime / "told").exists() == (script == PASSES_ON)
