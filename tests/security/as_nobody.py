"""Start a program as an ordinary user who owns nothing: `as_nobody.py FOLDER:FOLDER... PROGRAM ARGUMENT...`.

The folders (interpreter, checkout) may lie where only root may look; they are made reachable, at their own paths, in a
private mount namespace.
"""

import ctypes
import os
import sys
from pathlib import Path

NOBODY = 65534
CLONE_NEWNS, MS_BIND, MS_REC, MS_PRIVATE = 0x20000, 4096, 16384, 1 << 18

libc = ctypes.CDLL(None, use_errno=True)


def mount(source: str, target: str, kind: str, flags: int) -> None:
    if libc.mount(source.encode(), target.encode(), kind.encode() or None, ctypes.c_ulong(flags), b"mode=755") < 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def closed_to_others(folder: Path) -> Path | None:
    """The highest folder on the way that others may not pass."""
    for above in reversed((folder, *folder.parents)):
        if not above.stat().st_mode & 0o001:
            return above
    return None


def expose(folders: list[Path]) -> None:
    barriers = {folder: barrier for folder in folders if (barrier := closed_to_others(folder))}
    handles = {folder: os.open(folder, os.O_PATH) for folder in barriers}
    for barrier in set(barriers.values()):
        mount("tmpfs", str(barrier), "tmpfs", 0)
    for folder, handle in handles.items():
        folder.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{handle}", str(folder), "", MS_BIND | MS_REC)


if __name__ == "__main__":
    if os.geteuid() == 0:
        if libc.unshare(CLONE_NEWNS) < 0:
            raise OSError(ctypes.get_errno(), "unshare")
        mount("", "/", "", MS_REC | MS_PRIVATE)
        expose([Path(folder) for folder in sys.argv[1].split(":")])
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    os.execv(sys.argv[2], sys.argv[2:])
