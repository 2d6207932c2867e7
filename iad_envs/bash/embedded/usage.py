"""What the processes of a runner use, as far as no control group counts it: memory, and the background's CPU time."""

import os
import resource
import time
from collections.abc import Iterable


def socket_bytes() -> int:
    """Return the most that one socket holds in bytes. Must be called on the host: namespaces don't show it.

    A buffer takes one more message when it is nearly full, so it holds up to twice its size. A command can't enlarge
    it, because the system call filter refuses that.
    """
    sizes = []
    for name in ("wmem_default", "rmem_default"):
        try:
            with open(f"/proc/sys/net/core/{name}", encoding="ascii") as file:
                sizes.append(int(file.read()))
        except OSError:
            sizes.append(1 << 18)  # the kernel's usual default
    return 2 * max(sizes)


class CellUsage:
    """Reads what processes use from their process file system.

    Args:
        proc: Mount point of the process file system of the runner's namespace, in which it is process 1.
        per_socket: The most that one socket holds in bytes.
    """

    def __init__(self, proc: str, per_socket: int) -> None:
        self._proc = proc
        self._per_socket = per_socket
        self._ticks_per_s = os.sysconf("SC_CLK_TCK")
        self._ticks_before = 0.0
        self._before_s = 0.0
        self._measured_s = 0.0
        self._sampled_s = 0.0

    def exceeds(self, most: int, processes: Iterable[str]) -> bool:
        """Return whether processes hold more than `most` bytes of memory.

        Every socket counts for the most that it holds. Sockets whose process has ended, or that are on their way
        between processes, still hold data, and the kernel tells only their number.
        """
        words = self._read("1/net/sockstat").split()
        sockets = int(words[2]) * self._per_socket if words[:2] == ["sockets:", "used"] else 0
        processes = list(processes)
        counted = ("RssAnon:", "VmSwap:", "VmPTE:")
        if sockets + sum(self._kilobytes(f"{each}/status", counted) for each in processes) * 1024 <= most:
            return False
        # Memory that a process shares with its children was counted for each of them. The exact sum takes longer. Where
        # one ends meanwhile, the others' shares grow, and the sum comes out too large: so it is taken several times.
        counted_once = ("Pss_Anon:", "SwapPss:")
        return all(
            sockets + sum(self._kilobytes(f"{each}/smaps_rollup", counted_once) for each in processes) * 1024 > most
            for _ in range(3)
        )

    def resume(self, processes: Iterable[str]) -> None:
        """Start to measure the background's CPU time, after a command has ended."""
        self._ticks_before, _ = self._ticks(processes)
        self._before_s = time.monotonic()

    def forget(self) -> None:
        """Start at zero: all background processes have ended."""
        self._measured_s = self._sampled_s = 0.0

    def background_s(self, processes: Iterable[str]) -> float:
        """Return the CPU time of the background in seconds, from all periods since it was started without a command.

        The time of a process that nobody waits for is lost with it. So processes are also counted that want a
        processor each time this is called, and the larger sum is returned.
        """
        ticks, n_ready = self._ticks(processes)
        now_s = time.monotonic()
        self._measured_s += max(0.0, ticks - self._ticks_before) / self._ticks_per_s
        self._sampled_s += min(n_ready, os.cpu_count() or 1) * (now_s - self._before_s)
        self._ticks_before, self._before_s = ticks, now_s
        return max(self._measured_s, self._sampled_s)

    def _ticks(self, processes: Iterable[str]) -> tuple[float, int]:
        """Return the CPU time of processes and of their ended children, and how many of them want a processor."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        ticks, n_ready = (ended.ru_utime + ended.ru_stime) * self._ticks_per_s, 0
        for each in processes:
            fields = self._read(f"{each}/stat").rpartition(")")[2].split()
            if fields:
                n_ready += fields[0] == "R"
                ticks += sum(map(int, fields[11:15]))
        return ticks, n_ready

    def _kilobytes(self, path: str, names: tuple[str, ...]) -> int:
        return sum(int(line.split()[1]) for line in self._read(path).splitlines() if line.startswith(names))

    def _read(self, path: str) -> str:
        try:
            with open(f"{self._proc}/{path}", encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:  # it has ended
            return ""
