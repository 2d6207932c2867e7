"""A command sees nothing of the host but its programs: no file, process, device, setting, environment or network."""

import os
import re
import secrets
import socket
import sysconfig
from pathlib import Path

import pytest

from iad_envs.bash.embedded.opening import hidden_paths
from iad_envs.bash.sandbox import Sandbox
from tests.security.attacks import SHELL
from tests.security.bash_sandboxes import ROOT, outside, sandbox_of


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file on the host that everybody may read."""
    path = tmp_path / "secret.txt"
    path.write_text("the answer is " + secrets.token_hex(8))
    for folder in (path, *path.parents):
        if folder.owner() == path.owner() and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    return path


def test_a_file_of_the_host_is_out_of_reach(sandbox: Sandbox, secret: Path) -> None:
    assert secret.read_text() in outside(f"cat {secret}").stdout
    for way in SHELL["ways_to_a_file"]:
        sandbox.reset()
        said = sandbox.run(way.replace("{path}", str(secret))).output
        assert secret.read_text() not in said, way
        assert re.search("No such file|denied", said), way


def test_what_needs_power_over_the_host_is_refused(sandbox: Sandbox) -> None:
    programs = {command.split()[0] for command in SHELL["refused"]} - {":", "echo"}
    assert sandbox.run(f"type -P {' '.join(programs)}").exit_code == 0  # the programs themselves are there
    words = "ermitted|denied|superuser|must be root|No such file|cannot|Read-only file system|unreachable|busy"
    for command in SHELL["refused"]:
        sandbox.reset()
        result = sandbox.run(command)
        assert result.exit_code != 0, command
        assert re.search(words, result.output), (command, result.output)


def test_what_is_there_is_the_sandboxs_own(sandbox: Sandbox) -> None:
    for command, told in SHELL["told"].items():
        sandbox.reset()
        assert sandbox.run(command).output == told, command


def test_no_path_of_the_host_is_told_and_its_programs_stay(sandbox: Sandbox) -> None:
    told = sandbox.run("cat /proc/self/mountinfo /proc/mounts /proc/[0-9]*/cmdline /proc/[0-9]*/maps").output
    assert " / / " in told
    seen = sandbox.run("ls -A / /home /root /mnt /opt /srv /tmp /run /var/lib; find / -xdev -name '*.pem'").output
    assert ROOT.name not in seen.split()
    assert not [path for path in (str(ROOT), str(Path.home()), "launcher") if path in told]
    programs = sandbox.run("grep ' /usr ' /proc/self/mounts").output
    assert " ro," in programs.splitlines()[0]
    assert Path("/usr/bin/env").stat().st_size > 0
    assert sandbox.run("/usr/bin/env true").exit_code == 0


def test_answers_in_an_installed_package_are_masked(user: str) -> None:
    # Any folder under /usr stands for one that iad, with its tasks and golds, is installed in.
    package = next(path for path in Path("/usr/share").iterdir() if path.is_dir() and any(path.iterdir()))
    with sandbox_of(user) as sandbox:
        assert sandbox.run(f"ls -A {package}").output
    with sandbox_of(user, hide=[package]) as sandbox:
        result = sandbox.run(f"ls -A {package}; umount {package} 2>/dev/null; rm -rf {package}/*; ls -A {package}")
        assert (result.exit_code, result.output) == (0, "")
    package = Path("/usr/share/env/lib/python3/site-packages/iad_envs")
    masked = hidden_paths(package, "/usr/share/env", {"IAD_DATA": "/usr/share/tasks"})
    assert {"/usr/share/env", str(package), "/usr/share/tasks"} <= set(masked)
    assert not {"/usr", "/usr/bin", "/usr/lib", sysconfig.get_path("stdlib")} & set(masked)


def test_the_environment_of_this_process_is_not_passed_on(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "sesame")
    assert "sesame" in outside("env").stdout
    seen = sandbox.run("env; cat /proc/*/environ").output
    assert "HOME=/root" in seen
    assert "sesame" not in seen
    assert not {name for name in os.environ if name.startswith(("IAD_", "PYTEST"))} & set(seen.split("="))


def test_files_in_one_sandbox_are_not_in_another(user: str) -> None:
    with sandbox_of(user) as one, sandbox_of(user) as other:
        one.run("echo gold >/tmp/gold; echo gold >/dev/shm/gold")
        with one.fork() as child:
            assert child.run("cat /tmp/gold; echo more >/tmp/more").output == "gold\n"
            assert one.run("ls /tmp").output == "gold\n"
        assert other.run("ls -A /tmp /dev/shm/").output == "/dev/shm/:\n\n/tmp:\n"


def test_a_server_that_answers_outside_does_not_inside(user: str) -> None:
    name = f"iad-test-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as by_name:
        by_name.bind(f"\0{name}")
        by_name.listen()
        knock = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo open; cat /proc/net/unix"
        with sandbox_of(user) as sandbox:
            for run, is_outside in ((lambda: outside(knock).stdout, True), (lambda: sandbox.run(knock).output, False)):
                assert ("open" in run().split(), name in run()) == (is_outside, is_outside)
