"""Calls into the kernel that could lead out of a sandbox are refused, by their numbers, whatever the rights."""

import ctypes
import errno
import os
import re
import struct
from functools import cache
from pathlib import Path

import pytest

from iad_envs.bash.embedded import syscalls
from iad_envs.bash.embedded.seccomp import ARCHITECTURES, EXAMINED, REFUSED, program
from iad_envs.bash.sandbox import Sandbox
from tests.security.attacks import SHELL
from tests.security.bash_sandboxes import sandbox_of

COLUMN = list(ARCHITECTURES).index(os.uname().machine)
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x20000
CALL = (
    "perl -e 'for (@ARGV) { my ($n, @a) = map { $_ + 0 } split /,/; $! = 0; "
    """print syscall($n, @a), " ", $! + 0, "\\n" }'"""
)
"""Makes calls, each a number and arguments with commas between them."""


@cache
def outside(number: int, *arguments: int) -> int:
    """The error of a call on the host, made with all rights over a throw-away namespace and none over the host."""
    pid = os.fork()
    if pid == 0:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.unshare(CLONE_NEWUSER | CLONE_NEWNS)
        padded = [ctypes.c_long(each) for each in (*arguments, *[0] * 6)][:6]
        os._exit(ctypes.get_errno() if libc.syscall(ctypes.c_long(number), *padded) < 0 else 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_calls_that_the_host_would_look_at_are_refused(sandbox: Sandbox) -> None:
    calls = [(REFUSED[name][COLUMN] or -1, *arguments) for name, arguments in SHELL["calls"].items()]
    assert errno.EPERM not in {outside(*call) for call in calls}
    assert sandbox.run(
        f"{CALL} {' '.join(','.join(map(str, call)) for call in calls)}"
    ).output == f"-1 {errno.EPERM}\n" * len(calls)


def test_every_call_on_the_list_is_refused(sandbox: Sandbox) -> None:
    numbers = [numbers[COLUMN] for numbers in REFUSED.values() if numbers[COLUMN] is not None]
    result = sandbox.run(f"{CALL} {' '.join(f'{number},0,0,0,0,0,0' for number in numbers)}")
    assert result.output.splitlines() == [f"-1 {errno.EPERM}"] * len(numbers)


def test_no_process_starts_in_new_namespaces(sandbox: Sandbox) -> None:
    clone, clone3 = EXAMINED["clone"][COLUMN], EXAMINED["clone3"][COLUMN]
    flags = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
    calls = " ".join(f"{clone},{flag | 17},0,0,0,0" for flag in flags)
    assert sandbox.run(f"{CALL} {calls}").output == f"-1 {errno.EPERM}\n" * len(flags)
    assert sandbox.run(f"{CALL} {clone3},0,0").output == f"-1 {errno.ENOSYS}\n"
    assert sandbox.run("(exit 3)").exit_code == 3  # ordinary processes do start


def test_capabilities_are_few_and_rights_can_not_grow(sandbox: Sandbox) -> None:
    status = dict(line.split(":\t", 1) for line in sandbox.run("cat /proc/self/status").output.splitlines())
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd"):
        assert int(status[kind], 16) == 0b11111011
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Uid"].split() == ["0"] * 4


def test_the_root_of_a_sandbox_is_nobody_on_the_host(user: str) -> None:
    with sandbox_of(user) as sandbox:
        mapped = sandbox.run("cat /proc/self/uid_map").output.split()
        expected = (
            ["0", "0", "65536"] if user == "root" else ["0", "0", "1"]
        )  # of the namespace above, which is shifted
        assert mapped == expected
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
    private, shared, shared_file, huge = 0x22, 0x21, 0x01, 0x40022
    for flags, on_its_own, counted in (
        (private, allow, allow),
        (private | 0x20000, allow, allow),  # a stack
        (shared, refuse, allow),
        (shared_file, allow, allow),
        (huge, refuse, refuse),
    ):
        assert verdict(alone, here, call["mmap"], 0, 4096, 3, flags) == on_its_own
        assert verdict(code, here, call["mmap"], 0, 4096, 3, flags) == counted
    if machine == "x86_64":
        assert verdict(code, here, 0x40000000 | 101, 0, 0) == kill


def test_a_processor_without_a_filter_is_refused() -> None:
    with pytest.raises(OSError, match=r"x86_64, aarch64.*'vax'"):
        program("vax")


def test_the_calls_of_this_machine_have_the_numbers_of_its_headers() -> None:
    folders = {
        "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
        "aarch64": "/usr/include/asm-generic/unistd.h",
    }
    for machine, path in folders.items():
        text = Path(path).read_text(encoding="utf-8") if Path(path).exists() else ""
        known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)", text)}
        column = list(ARCHITECTURES).index(machine)
        for name, numbers in REFUSED.items():
            assert known.get(name, numbers[column]) == numbers[column], name
    assert REFUSED["mount_setattr"][COLUMN] == syscalls.MOUNT_SETATTR
