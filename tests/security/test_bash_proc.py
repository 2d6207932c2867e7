"""The kernel's own files can be read in part, and none of them written."""

import os
from pathlib import Path

import pytest

from iad_envs.bash.sandbox import Sandbox
from tests.security.bash_sandboxes import outside

SETTINGS = ("kernel/core_pattern", "vm/drop_caches", "net/ipv4/ip_forward", "kernel/hostname", "kernel/shmmax")


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_of_the_kernel_can_not_be_opened_for_writing(sandbox: Sandbox, name: str) -> None:
    path = Path("/proc/sys") / name
    if os.geteuid() == 0:
        os.close(os.open(path, os.O_WRONLY))  # opened on the host, nothing written
    assert path.exists()
    result = sandbox.run(f": >>{path}")
    assert result.exit_code != 0
    assert "Read-only file system" in result.output or "ermission denied" in result.output


def test_the_read_only_cover_of_settings_can_not_be_taken_off(sandbox: Sandbox) -> None:
    sandbox.run("umount -l /proc/sys; mount -o remount,rw /proc/sys; mount -t proc none /mnt")
    assert sandbox.run(": >/proc/sys/net/ipv4/ip_forward").exit_code != 0
    assert sandbox.run(": >/mnt/sys/kernel/core_pattern; test -e /mnt/sys").exit_code != 0


@pytest.mark.parametrize("name", ["root", "cwd", "environ", "mem", "maps", "fd", "ns/mnt", "map_files"])
def test_process_one_can_not_be_looked_into(sandbox: Sandbox, name: str) -> None:
    assert outside(f"ls /proc/self/{name}").returncode == 0
    result = sandbox.run(f"ls /proc/1/{name}/ || head -c 1 /proc/1/{name} || readlink /proc/1/{name}")
    assert result.exit_code != 0
    assert "denied" in result.output


def test_processes_of_the_host_are_not_seen(sandbox: Sandbox) -> None:
    assert str(os.getpid()) in outside("ls /proc").stdout.split()
    pids = [name for name in sandbox.run("ls /proc").output.split() if name.isdigit()]
    assert pids[0] == "1"
    assert len(pids) == 3  # and the shell, and ls


@pytest.mark.parametrize("name", ["sysrq-trigger", "kcore", "kmsg", "cmdline", "keys", "kallsyms", "timer_list"])
def test_files_of_the_kernel_that_tell_or_do_too_much_are_empty_or_closed(sandbox: Sandbox, name: str) -> None:
    assert sandbox.run(f"head -c 100 /proc/{name} 2>/dev/null").output == ""


def test_no_device_but_the_harmless_six_is_there(sandbox: Sandbox) -> None:
    assert Path("/dev").is_dir()
    devices = sandbox.run("for f in /dev/*; do test -c $f -o -b $f && echo $f; done").output.split()
    harmless = [f"/dev/{name}" for name in ("full", "null", "ptmx", "random", "tty", "urandom", "zero")]
    assert sorted(devices) == harmless
    assert sandbox.run("readlink /dev/ptmx").output == "/dev/null\n"
    assert sandbox.run("find / -xdev -type c -o -xdev -type b").output == ""
    assert sandbox.run("rm /dev/null; touch /dev/x; chmod 000 /dev/zero").exit_code != 0
    assert sandbox.run("head -c 2 /dev/zero | wc -c; echo gone >/dev/null").output == "2\n"
