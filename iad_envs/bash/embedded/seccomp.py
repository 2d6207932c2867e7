"""A system call filter for everything that namespaces leave open, written as a BPF program.

The instructions are those of seccomp(2): load a word of the call's description, compare, jump, return a verdict.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable
from enum import IntEnum

from iad_envs.bash.embedded.syscalls import Control, prctl


class Code(IntEnum):
    """Codes of BPF instructions."""

    LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


ALLOW, KILL, REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | errno.EPERM
"""Verdicts."""
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

# Name: number on x86_64, number on aarch64 (None: no such call). From 424 on, all architectures agree.
REFUSED: dict[str, tuple[int | None, int | None]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440), "process_mrelease": (448, 448),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "move_mount": (429, 429),
    "open_tree": (428, 428), "open_tree_attr": (467, 467), "fsopen": (430, 430), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442), "statmount": (457, 457),
    "listmount": (458, 458), "unshare": (272, 97), "setns": (308, 268),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "quotactl": (179, 60), "quotactl_fd": (443, 443),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "create_module": (174, None), "query_module": (178, None), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "syslog": (103, 116), "vhangup": (153, 58),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None), "sysfs": (139, None),
    "sethostname": (170, 161), "setdomainname": (171, 162), "settimeofday": (164, 170), "adjtimex": (159, 171),
    "clock_settime": (227, 112), "clock_adjtime": (305, 266), "nfsservctl": (180, 42), "lookup_dcookie": (212, 18),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "set_mempolicy_home_node": (450, 450), "personality": (135, 92),
    "io_setup": (206, 0),  # the whole host has a fixed number of these
    # Memory that counts neither for a process's address space nor for a layer.
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
}  # fmt: skip
EXAMINED = {
    "clone": (56, 220), "clone3": (435, 435), "socket": (41, 198), "socketpair": (53, 199), "ioctl": (16, 29),
    "mmap": (9, 222), "setsockopt": (54, 208),
}  # fmt: skip
"""Calls that are refused by their arguments."""


def program(machine: str, *, shares_memory: bool = True) -> bytes:
    """Return the filter program for a machine type as given by `os.uname`.

    Args:
        machine: The machine type.
        shares_memory: Whether processes may share memory that belongs to no file. Only a control group can count it:
            it stays when it is no longer mapped, and then the kernel shows it nowhere.

    Raises:
        OSError: There is no filter for this machine type.
    """
    if machine not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise OSError(errno.ENOSYS, f"expected a processor with a system call filter ({known}), got {machine!r}")
    column = list(ARCHITECTURES).index(machine)
    # The description of a call begins with its number. The architecture is at 4, the arguments are at 16, 24, 32 ...
    lines = [_line(Code.LOAD, 4), _line(Code.EQUAL, ARCHITECTURES[machine], yes=1), _verdict(KILL)]
    lines.append(_line(Code.LOAD, 0))
    if machine == "x86_64":  # its second set of numbers
        lines += [_line(Code.AT_LEAST, 0x40000000, no=1), _verdict(KILL)]
    namespaces = 0x7E020080  # user, pid, net, ipc, uts, cgroup, mount and time
    families = (1, 2, 10, 16)  # unix, inet, inet6, netlink (vsock could reach the host of a virtual machine)
    type_into_terminal = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
    # The sizes of a socket's buffers, SO_SNDBUF and SO_RCVBUF of SOL_SOCKET, count for the memory limit.
    buffer_sizes = [_line(Code.LOAD, 24), _line(Code.EQUAL, 1, yes=1), _verdict(ALLOW)]
    buffer_sizes += _argument(2, Code.EQUAL, (7, 8), on_match=REFUSE)
    # Huge pages are refused, as the host has a fixed number of them: MAP_HUGETLB.
    mapping = [_line(Code.LOAD, 40), _line(Code.ANY_BIT, 0x40000, no=1), _verdict(REFUSE)]
    if not shares_memory:  # MAP_ANONYMOUS with MAP_SHARED
        mapping += [_line(Code.ANY_BIT, 0x20, no=2), _line(Code.ANY_BIT, 0x1, no=1), _verdict(REFUSE)]
    examined = {
        "clone3": [_verdict(0x00050000 | errno.ENOSYS)],  # the C library then falls back to clone
        "clone": _argument(0, Code.ANY_BIT, [namespaces], on_match=REFUSE),
        "ioctl": _argument(1, Code.EQUAL, type_into_terminal, on_match=REFUSE),
        "socket": _argument(0, Code.EQUAL, families, on_match=ALLOW),
        "socketpair": _argument(0, Code.EQUAL, families, on_match=ALLOW),
        "setsockopt": buffer_sizes,
        "mmap": [*mapping, _verdict(ALLOW)],
    }
    calls = [(EXAMINED[name][column], verdict) for name, verdict in examined.items()]
    calls += [(number, [_verdict(REFUSE)]) for numbers in REFUSED.values() if (number := numbers[column]) is not None]
    for number, verdict in calls:  # each ends with a verdict, or is skipped
        lines += [_line(Code.EQUAL, number, no=len(verdict)), *verdict]
    return b"".join([*lines, _verdict(ALLOW)])


def _line(code: Code, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Return one instruction. `yes` and `no` are the numbers of instructions to skip."""
    return struct.pack("=HBBI", code, yes, no, operand)


def _verdict(value: int) -> bytes:
    return _line(Code.RETURN, value)


def _argument(number: int, test: Code, operands: Iterable[int], *, on_match: int) -> list[bytes]:
    """Return instructions that load an argument and give a verdict on it."""
    lines = [_line(Code.LOAD, 16 + 8 * number)]
    for operand in operands:
        lines += [_line(test, operand, no=1), _verdict(on_match)]
    return [*lines, _verdict(ALLOW if on_match == REFUSE else REFUSE)]


class Filter:
    """The filter of this machine, ready to be installed. See `program`."""

    def __init__(self, *, shares_memory: bool) -> None:
        code = program(os.uname().machine, shares_memory=shares_memory)
        self._code = ctypes.create_string_buffer(code, len(code))
        address = ctypes.addressof(self._code)
        self._program = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, address))

    def install(self) -> None:
        """Filter this process and its future children permanently. Requires no_new_privs."""
        with_filter = 2
        prctl(Control.SET_SECCOMP, with_filter, ctypes.addressof(self._program))
