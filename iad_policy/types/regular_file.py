"""Opens files of a run folder, which may come from somebody else: regular files only, and through no link."""

import errno
import os
import stat
from functools import partial
from pathlib import Path
from typing import IO, Any

MAX_BYTES = 2**26
"""Largest size of a file that is read as a whole, and of an array in it: far more than any page or picture has."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAITING = getattr(os, "O_NONBLOCK", 0)  # opening a FIFO would wait for its other end


def open_regular(path: Path, mode: str = "rb", *, buffering: int = -1) -> IO[Any]:
    """Open a file in binary mode.

    Raises:
        FileNotFoundError: It is missing.
        OSError: It can't be opened, or is a link, a folder, a FIFO or a device.
    """
    return open(path, mode, buffering, opener=partial(_opened, path))


def read_regular(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        FileNotFoundError: It is missing.
        OSError: It can't be read, is no regular file, or has more than `MAX_BYTES`.
    """
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > MAX_BYTES:
            raise OSError(errno.EFBIG, f"expected at most {MAX_BYTES} bytes", str(path))
        content: bytes = file.read()
        return content


def n_bytes_of(path: Path) -> int:
    """Return the size of a regular file; 0 if there is none, or a link to one."""
    try:
        found = path.lstat()
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) else 0


def no_links(folder: Path, *names: str) -> None:
    """Refuse names in a folder that are links, as what they lead to may lie outside of it.

    Raises:
        OSError: One of them is a link.
    """
    for name in names:
        if (folder / name).is_symlink():
            raise OSError(errno.EINVAL, "expected a part of the run folder, got a link", str(folder / name))


def _opened(path: Path, name: str, flags: int) -> int:
    if not _NO_LINK and path.is_symlink():
        raise _refused(path)
    try:
        descriptor = os.open(name, flags | _NO_LINK | _NO_WAITING, 0o666)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, and a FIFO that nobody reads
            raise _refused(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _refused(path)
    return descriptor


def _refused(path: Path) -> OSError:
    return OSError(errno.EINVAL, "expected a regular file, got a link, a folder, a FIFO or a device", str(path))
