"""A command sees nothing of the host's files but its programs."""

import os
import secrets
import sysconfig
from pathlib import Path

import pytest

from iad_envs.bash.embedded.opening import hidden_paths
from iad_envs.bash.sandbox import Sandbox
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


@pytest.mark.parametrize(
    "way",
    [
        "cat {path}",
        "cat /proc/1/root{path}",
        "cat /proc/self/root{path}",
        "cat /proc/1/cwd{path}",
        "cat ../../../../../../../../../..{path}",
        "cat /./../{path}",
        "ln -s / /tmp/link; cat /tmp/link{path}",
        "ln -s /proc/1/root /tmp/link; cat /tmp/link{path}",
        "ln -s {path} /tmp/name; cat /tmp/name",
        "cd /proc/1/cwd && cat .{path}",
        "cd /; cd ..; cd ..; cat .{path}",
        "cat /old{path} /host-proc/1/root{path} /own{path}",
        "for p in /proc/[0-9]*; do cat $p/root{path}; for f in $p/fd/*; do cat $f/..{path} </dev/null; done; done",
    ],
)
def test_a_file_of_the_host_is_out_of_reach(sandbox: Sandbox, way: str, secret: Path) -> None:
    answer = secret.read_text()
    assert answer in outside(f"cat {secret}").stdout
    result = sandbox.run(way.format(path=secret))
    assert answer not in result.output
    assert "No such file" in result.output or "denied" in result.output


def test_the_folders_of_the_host_are_not_there(sandbox: Sandbox) -> None:
    assert any(Path("/etc").iterdir())
    seen = sandbox.run("ls -A / /home /root /mnt /opt /srv /tmp /run /var/lib; find / -xdev -name '*.pem'").output
    assert ROOT.name not in seen.split()
    assert sandbox.run("ls -A /home /root /mnt /opt /srv /run").output.split() == [
        "/home:", "/mnt:", "/opt:", "/root:", "/run:", "/srv:"
    ]  # fmt: skip
    assert not sandbox.run("cat /etc/shadow /etc/ssh/* /etc/machine-id 2>/dev/null").output


def test_mounts_and_processes_tell_no_host_path(sandbox: Sandbox) -> None:
    told = sandbox.run("cat /proc/self/mountinfo /proc/mounts /proc/[0-9]*/cmdline /proc/[0-9]*/maps").output
    assert " / / " in told
    for path in (str(ROOT), str(Path.home()), "launcher"):
        assert path not in told


def test_programs_are_there_and_can_not_be_changed(sandbox: Sandbox) -> None:
    assert sandbox.run("awk 'BEGIN { print 6 * 7 }'").output == "42\n"
    for attempt in ("touch /usr/x", "rm -f /usr/bin/env", "echo >/usr/bin/env", "mv /usr /u", "mv /bin/env /tmp"):
        assert sandbox.run(attempt).exit_code != 0
    assert Path("/usr/bin/env").stat().st_size > 0
    assert sandbox.run("/usr/bin/env true").exit_code == 0


def test_answers_in_an_installed_package_are_masked(user: str) -> None:
    # Any folder under /usr stands for one that iad, with its tasks and golds, is installed in.
    package = next(path for path in Path("/usr/share").iterdir() if path.is_dir() and any(path.iterdir()))
    with sandbox_of(user) as sandbox:
        assert sandbox.run(f"ls -A {package}").output
    with sandbox_of(user, hide=[package]) as sandbox:
        result = sandbox.run(f"ls -A {package}")
        assert (result.exit_code, result.output) == (0, "")
        sandbox.run(f"umount {package}; rm -rf {package}")
        assert sandbox.run(f"ls -A {package}").output == ""


def test_what_is_masked_covers_this_package_and_where_packages_are() -> None:
    package = Path("/usr/share/env/lib/python3/site-packages/iad_envs")
    masked = hidden_paths(package, "/usr/share/env", {"IAD_DATA": "/usr/share/tasks"})
    assert {"/usr/share/env", str(package), "/usr/share/tasks"} <= set(masked)
    assert sysconfig.get_path("stdlib") not in masked
    assert not {"/usr", "/usr/bin", "/usr/lib"} & set(masked)


@pytest.mark.parametrize("path", ["/usr/local", "/usr/src", "/usr/lib/python3/dist-packages"])
def test_the_usual_places_of_packages_are_empty(sandbox: Sandbox, path: str) -> None:
    assert sandbox.run(f"ls -A {path} 2>/dev/null").output == ""


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
            assert child.run("cat /tmp/gold").output == "gold\n"
            child.run("echo more >/tmp/more")
            assert one.run("ls /tmp").output == "gold\n"
        assert other.run("ls -A /tmp /dev/shm/").output == "/dev/shm/:\n\n/tmp:\n"
