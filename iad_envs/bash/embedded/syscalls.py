"""Linux system calls that are missing in Python's standard library."""

import ctypes
import os
from enum import IntEnum, IntFlag


class Clone(IntFlag):
    """Flags of clone(2) for new namespaces."""

    NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
    NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000


class Mount(IntFlag):
    """Flags of mount(2)."""

    RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, NOATIME = 1, 2, 4, 8, 32, 1024
    BIND, REC, PRIVATE = 4096, 16384, 1 << 18


class Control(IntEnum):
    """Options of prctl(2)."""

    SET_PDEATHSIG, SET_DUMPABLE, SET_NAME, SET_SECCOMP = 1, 4, 15, 22
    CAPBSET_DROP, SET_CHILD_SUBREAPER, SET_NO_NEW_PRIVS = 24, 36, 38


MOUNT_SETATTR = 442
"""Number of the call mount_setattr, the same on every architecture."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_libc.mount.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong, ctypes.c_char_p]


def _check(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source: str, target: str, *, fstype: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    given = [text.encode() or None for text in (source, target, fstype, options)]
    _check(_libc.mount(given[0], given[1], given[2], flags, given[3]), f"mount {fstype or source} on {target}")


def bind(source: str, target: str, *, read_only: bool = False) -> None:
    """Bind-mount a file or a folder, with everything mounted in it, at another path."""
    mount(source, target, flags=Mount.BIND | Mount.REC)
    if read_only:
        attributes = (ctypes.c_uint64 * 4)(Mount.RDONLY | Mount.NOSUID | Mount.NODEV, 0, 0, 0)
        path = ctypes.c_char_p(target.encode())
        size = ctypes.c_size_t(ctypes.sizeof(attributes))
        at_working_folder, recursive = -100, 0x8000
        code = _libc.syscall(MOUNT_SETATTR, at_working_folder, path, recursive, attributes, size)
        _check(code, f"mount_setattr {target}")


def unmount(target: str) -> None:
    """Detach a mount and everything under it. Open files keep it alive until they are closed."""
    detach = 2
    _check(_libc.umount2(target.encode(), detach), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root folder. The old root is then at `old`."""
    number = {"x86_64": 155, "aarch64": 41}[os.uname().machine]
    _check(_libc.syscall(number, new.encode(), old.encode()), "pivot_root")


def unshare(flags: int) -> None:
    """Move this process, or with CLONE_NEWPID its children, to new namespaces."""
    _check(_libc.unshare(flags), "unshare")


def setns(descriptor: int, kind: int) -> None:
    """Enter a namespace by its descriptor."""
    _check(_libc.setns(descriptor, kind), "setns")


def prctl(option: int, first: int, second: int = 0) -> None:
    """Set an attribute of this process."""
    _check(_libc.prctl(option, first, second, 0, 0), f"prctl {option}")


def set_name(name: str) -> None:
    """Set the name of this process in process lists."""
    buffer = ctypes.create_string_buffer(name.encode()[:15])
    prctl(Control.SET_NAME, ctypes.addressof(buffer))


def drop_bounding_set(keep: int) -> None:
    """Remove all capabilities outside the bit set `keep` from the bounding set, for all programs started later."""
    for number in range(64):
        if not keep >> number & 1:
            try:
                prctl(Control.CAPBSET_DROP, number)
            except OSError:  # the kernel has no more capabilities
                return


def set_capabilities(keep: int) -> None:
    """Drop all capabilities of this process outside the bit set `keep`."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the version of the structure
    low, high = keep & 0xFFFFFFFF, keep >> 32
    sets = (ctypes.c_uint32 * 6)(low, low, low, high, high, high)  # effective, permitted, inheritable
    _check(_libc.capset(header, sets), "capset")


def hide_command_line() -> None:
    """Overwrite this process's arguments. They contain host paths, and all processes of the namespace can read them."""
    with open("/proc/self/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    start, end = int(fields[45]), int(fields[46])
    name = b"init"
    if end - start > len(name):
        ctypes.memmove(start, name.ljust(end - start, b"\0"), end - start)
