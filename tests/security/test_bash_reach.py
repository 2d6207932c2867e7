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
from tests.security.bash_sandboxes import ROOT, outside, sandbox_of

WAYS = (
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
)
"""Ways to a file of the host."""
SETTINGS = ("kernel/core_pattern", "vm/drop_caches", "net/ipv4/ip_forward", "kernel/hostname", "kernel/shmmax")
REFUSED = (
    *(f": >>/proc/sys/{name}" for name in SETTINGS),
    "umount -l /proc/sys; mount -o remount,rw /proc/sys; mount -t proc none /mnt; : >/proc/sys/net/ipv4/ip_forward",
    "mount -t proc none /mnt; : >/mnt/sys/kernel/core_pattern",
    *(
        f"ls /proc/1/{name}/ || head -c 1 /proc/1/{name} || readlink /proc/1/{name}"
        for name in ("root", "cwd", "environ", "mem", "maps", "fd", "ns/mnt", "map_files")
    ),
    *("touch /usr/x", "rm -f /usr/bin/env", "echo >/usr/bin/env", "mv /usr /u", "mv /bin/env /tmp"),
    *("mount -t tmpfs none /mnt", "umount -l /usr", "unshare -r true", "unshare -m true", "nsenter -t 1 -m true"),
    *("chroot /tmp /bin/true", "mknod /tmp/disk b 254 0", "mknod /tmp/memory c 1 1", "mknod /tmp/whiteout c 0 0"),
    *("hostname other", "date -s 2001-01-01", "swapon /tmp/x", "cat /dev/kmsg /dev/mem", "dmesg"),
    *("chmod 000 /dev/zero", "rm /dev/null", "touch /dev/x"),
    "echo x >/dev/udp/10.255.255.255/53",
    # Families of sockets that go round the network namespace: of virtual machines, of packets, of algorithms.
    *(f"perl -e 'socket(my $s, {family}, 1, 0) or die \"refused: $!\\n\"'" for family in (40, 17, 38)),
)
TOLD = {
    "awk 'BEGIN { print 6 * 7 }'": "42\n",
    "ls -A /home /root /mnt /opt /srv /run": "/home:\n\n/mnt:\n\n/opt:\n\n/root:\n\n/run:\n\n/srv:\n",
    "ls -A /usr/local /usr/src /usr/lib/python3/dist-packages 2>/dev/null | grep -v :": "\n\n",
    "cat /etc/shadow /etc/ssh/* /etc/machine-id 2>/dev/null": "",
    **{
        f"head -c 100 /proc/{name} 2>/dev/null": ""
        for name in ("sysrq-trigger", "kcore", "kmsg", "cmdline", "keys", "kallsyms", "timer_list")
    },
    "for f in /dev/*; do test -c $f -o -b $f && echo -n ${f#/dev/}' '; done; readlink /dev/ptmx": (
        "full null ptmx random tty urandom zero /dev/null\n"
    ),
    "find / -xdev -type c -o -xdev -type b": "",
    "rm -f /dev/null 2>/dev/null; head -c 2 /dev/zero | wc -c; echo gone >/dev/null": "2\n",
    "mkfifo /tmp/pipe; mknod /tmp/disk b 254 0 2>/dev/null; test -p /tmp/pipe; echo $? /tmp/*": "0 /tmp/pipe\n",
    "set -- /proc/[0-9]*; echo $# $1": "2 /proc/1\n",  # and the shell
    "tail -n +3 /proc/net/dev | cut -d: -f1; tail -n +2 /proc/net/route": "    lo\n",
    "grep -vc ' lo$' /proc/net/ipv6_route": "0\n",
    "perl -e 'socket(my $s, 1, 1, 0) and print \"made\\n\"'": "made\n",
}
"""What commands print, however it is on the host."""


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file on the host that everybody may read."""
    path = tmp_path / "secret.txt"
    path.write_text("the answer is " + secrets.token_hex(8))
    for folder in (path, *path.parents):
        if folder.owner() == path.owner() and folder.is_relative_to("/tmp"):
            folder.chmod(0o755)
    return path


@pytest.mark.parametrize("way", WAYS)
def test_a_file_of_the_host_is_out_of_reach(sandbox: Sandbox, way: str, secret: Path) -> None:
    assert secret.read_text() in outside(f"cat {secret}").stdout
    result = sandbox.run(way.format(path=secret))
    assert secret.read_text() not in result.output
    assert re.search("No such file|denied", result.output)


@pytest.mark.parametrize("command", REFUSED)
def test_what_needs_power_over_the_host_is_refused(sandbox: Sandbox, command: str) -> None:
    if not command.startswith((":", "echo")):
        assert sandbox.run("type -P " + command.split()[0]).exit_code == 0  # the program itself is there
    result = sandbox.run(command)
    assert result.exit_code != 0
    said = "ermitted|denied|superuser|must be root|No such file|cannot|Read-only file system|unreachable|busy"
    assert re.search(said, result.output), result.output


@pytest.mark.parametrize("command", TOLD)
def test_what_is_there_is_the_sandboxs_own(sandbox: Sandbox, command: str) -> None:
    assert sandbox.run(command).output == TOLD[command]


def test_what_is_refused_or_missing_is_there_outside() -> None:
    names = " ".join(f"/proc/self/{name}" for name in ("root", "cwd", "environ", "mem", "maps", "fd", "ns/mnt"))
    assert outside(f"ls {names} {' '.join(f'/proc/sys/{name}' for name in SETTINGS)}").returncode == 0
    assert str(os.getpid()) in outside("ls /proc").stdout.split()
    if os.geteuid() == 0:  # opened on the host, nothing written
        for name in SETTINGS:
            os.close(os.open(f"/proc/sys/{name}", os.O_WRONLY))


def test_no_path_of_the_host_is_told_and_its_programs_stay(sandbox: Sandbox) -> None:
    told = sandbox.run("cat /proc/self/mountinfo /proc/mounts /proc/[0-9]*/cmdline /proc/[0-9]*/maps").output
    assert " / / " in told
    seen = sandbox.run("ls -A / /home /root /mnt /opt /srv /tmp /run /var/lib; find / -xdev -name '*.pem'").output
    assert ROOT.name not in seen.split()
    assert not [path for path in (str(ROOT), str(Path.home()), "launcher") if path in told]
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
