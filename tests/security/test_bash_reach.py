"""A command sees nothing of the host but its programs: no file, process, device, setting, environment or network.

Calls into the kernel that could lead out are refused, by their numbers, whatever the rights. Random commands, many of
them hostile, leave the host as it was and the sandbox alive.
"""

import errno
import hashlib
import os
import random
import re
import secrets
import socket
import struct
import sysconfig
from pathlib import Path

import pytest
from hypothesis import settings

from iad_envs.bash.embedded import syscalls
from iad_envs.bash.embedded.opening import hidden_paths
from iad_envs.bash.embedded.seccomp import ARCHITECTURES, EXAMINED, REFUSED, program
from iad_envs.bash.sandbox import Sandbox, SandboxLimits
from tests.security.attacks import SHELL
from tests.security.bash_sandboxes import ROOT, mounts, outside, sandbox_of


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


def test_what_needs_power_over_the_host_is_refused_and_what_is_there_is_the_sandboxs_own(sandbox: Sandbox) -> None:
    programs = {command.split()[0] for command in SHELL["refused"]} - {":", "echo"}
    assert sandbox.run(f"type -P {' '.join(programs)}").exit_code == 0  # the programs themselves are there
    words = "ermitted|denied|superuser|must be root|No such file|cannot|Read-only file system|unreachable|busy"
    for command in SHELL["refused"]:
        sandbox.reset()
        result = sandbox.run(command)
        assert result.exit_code != 0, command
        assert re.search(words, result.output), (command, result.output)
    for command, told in SHELL["told"].items():
        sandbox.reset()
        assert sandbox.run(command).output == told, command


def test_neither_paths_of_the_host_nor_its_environment_are_told(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = sandbox.run("cat /proc/self/mountinfo /proc/mounts /proc/[0-9]*/cmdline /proc/[0-9]*/maps").output
    assert " / / " in told
    seen = sandbox.run("ls -A / /home /root /mnt /opt /srv /tmp /run /var/lib; find / -xdev -name '*.pem'").output
    assert ROOT.name not in seen.split()
    assert not [path for path in (str(ROOT), str(Path.home()), "launcher") if path in told]
    programs = sandbox.run("grep ' /usr ' /proc/self/mounts").output
    assert " ro," in programs.splitlines()[0]
    assert Path("/usr/bin/env").stat().st_size > 0
    assert sandbox.run("/usr/bin/env true").exit_code == 0
    monkeypatch.setenv("A_KEY", "sesame")
    assert "sesame" in outside("env").stdout
    seen = sandbox.run("env; cat /proc/*/environ").output
    assert "HOME=/root" in seen
    assert "sesame" not in seen
    assert not {name for name in os.environ if name.startswith(("IAD_", "PYTEST"))} & set(seen.split("="))


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


COLUMN = list(ARCHITECTURES).index(os.uname().machine)
CALL = """perl -E 'for (@ARGV) { my ($n, @a) = map $_ + 0, split /,/; $! = 0; say syscall($n, @a), " ", $! + 0 }'"""
"""Makes calls, each a number and arguments with commas between them."""


def test_every_call_on_the_list_is_refused_and_no_process_starts_in_new_namespaces(sandbox: Sandbox) -> None:
    numbers = [numbers[COLUMN] for numbers in REFUSED.values() if numbers[COLUMN] is not None]
    result = sandbox.run(f"{CALL} {' '.join(f'{number},0,0,0,0,0,0' for number in numbers)}")
    assert result.output.splitlines() == [f"-1 {errno.EPERM}"] * len(numbers)
    clone, clone3 = EXAMINED["clone"][COLUMN], EXAMINED["clone3"][COLUMN]
    flags = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
    calls = " ".join(f"{clone},{flag | 17},0,0,0,0" for flag in flags)
    assert sandbox.run(f"{CALL} {calls}").output == f"-1 {errno.EPERM}\n" * len(flags)
    assert sandbox.run(f"{CALL} {clone3},0,0").output == f"-1 {errno.ENOSYS}\n"
    assert sandbox.run("(exit 3)").exit_code == 3  # ordinary processes do start


def test_capabilities_are_few_rights_can_not_grow_and_root_is_nobody_on_the_host(user: str, sandbox: Sandbox) -> None:
    status = dict(line.split(":\t", 1) for line in sandbox.run("cat /proc/self/status").output.splitlines())
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd"):
        assert int(status[kind], 16) == 0b11111011
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Uid"].split() == ["0"] * 4
    mapped = sandbox.run("cat /proc/self/uid_map").output.split()
    assert mapped == ["0", "0", "65536" if user == "root" else "1"]  # of the namespace above, which is shifted
    assert sandbox.run("touch /tmp/mine; stat -c %u /tmp/mine /usr/bin/env").output.split() == ["0", "65534"]


def verdict(code: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the kernel's machine makes of a call: an interpreter of the few instructions used."""
    data = struct.pack("=iIQ6Q", number, architecture, 0, *(*arguments, *[0] * 6)[:6])
    accumulator, at = 0, 0
    while True:
        operation, yes, no, operand = struct.unpack_from("=HBBI", code, at * 8)
        at += 1
        if operation == 0x06:
            return operand
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        else:
            test = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}
            at += yes if test[operation] else no


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_decides_alike_on_every_processor(machine: str) -> None:
    code, column, here = program(machine), list(ARCHITECTURES).index(machine), ARCHITECTURES[machine]
    allow, refuse, kill = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
    assert verdict(code, here ^ 1, 0, 0, 0) == kill
    refused = {numbers[column] for numbers in REFUSED.values()}
    call = {name: numbers[column] for name, numbers in EXAMINED.items()}
    for number in range(500):
        if number not in (call["clone"], call["clone3"], call["socket"], call["socketpair"]):
            assert verdict(code, here, number, 0, 0) == (refuse if number in refused else allow)
    for flags, expected in ((0x1200011, allow), (0x10000011, refuse), (0x80, refuse), (0x3D0F00, allow)):
        assert verdict(code, here, call["clone"], flags, 0) == expected
    families = {1: allow, 2: allow, 10: allow, 16: allow, 17: refuse, 38: refuse, 40: refuse}
    assert {each: verdict(code, here, call["socket"], each, 1) for each in families} == families
    assert verdict(code, here, call["ioctl"], 0, 0x5412) == refuse
    assert verdict(code, here, call["ioctl"], 0, 0x5401) == allow
    for level, option, expected in ((1, 7, refuse), (1, 8, refuse), (1, 2, allow), (6, 7, allow)):
        assert verdict(code, here, call["setsockopt"], 3, level, option) == expected
    alone = program(machine, shares_memory=False)
    # Private, a stack, shared, a shared file, huge.
    every = ((0x22, allow), (0x20022, allow), (0x21, refuse), (0x01, allow), (0x40022, refuse))
    for flags, on_its_own in every:
        counted = allow if flags == 0x21 else on_its_own
        assert verdict(alone, here, call["mmap"], 0, 4096, 3, flags) == on_its_own
        assert verdict(code, here, call["mmap"], 0, 4096, 3, flags) == counted
    if machine == "x86_64":
        assert verdict(code, here, 0x40000000 | 101, 0, 0) == kill


def test_the_calls_of_this_machine_have_the_numbers_of_its_headers_and_another_has_no_filter() -> None:
    headers = {"x86_64": "x86_64-linux-gnu/asm/unistd_64.h", "aarch64": "asm-generic/unistd.h"}
    for machine, name in headers.items():
        path = Path("/usr/include") / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}
        column = list(ARCHITECTURES).index(machine)
        for name, numbers in REFUSED.items():
            assert known.get(name, numbers[column]) == numbers[column], name
    assert REFUSED["mount_setattr"][COLUMN] == syscalls.MOUNT_SETATTR
    with pytest.raises(OSError, match=r"x86_64, aarch64.*'vax'"):
        program("vax")


def fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        digest.update(f"{path} {found.st_mode} {found.st_uid} {found.st_size} {found.st_mtime_ns} ".encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def test_random_commands_stay_inside(user: str, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"d{number}").mkdir(mode=0o777)
        (tmp_path / f"d{number}/sentinel").write_text(str(number))
    tmp_path.chmod(0o777)
    before = fingerprint(tmp_path), mounts(), sorted(Path("/dev").iterdir()), Path("/etc/passwd").read_bytes()
    draw = random.Random(user)  # other commands for each user
    limits = SandboxLimits(processes=32, memory_mb=128, disk_mb=8, inodes=1000, time_s=0.3)
    places = [place.replace("{host}", str(tmp_path)) for place in SHELL["places"]]
    with sandbox_of(user, setup=["mkdir /desk; echo kept >/desk/kept"], limits=limits) as sandbox:
        for round_number in range(settings.default.max_examples // 2):
            with sandbox.fork(sandbox.start) as child:
                for _ in range(5):
                    command = draw.choice(SHELL["on_places"])
                    for blank, word in enumerate((draw.choice(places), draw.choice(places), draw.randrange(300))):
                        command = command.replace(f"{{{blank}}}", str(word))
                    child.run(command, cwd=draw.choice(["/", "/root", "/desk", "/tmp"]))
                    child.diff(timeout_s=20)  # the short limit is for the commands
                sandbox.restore(child.snapshot() if round_number % 3 else sandbox.start)
            sandbox.run("true")
            sandbox.reset()
            assert sandbox.run("cat /desk/kept", timeout_s=20).output == "kept\n"
            assert sandbox.diff() == ()
    assert (fingerprint(tmp_path), mounts(), sorted(Path("/dev").iterdir()), Path("/etc/passwd").read_bytes()) == before
