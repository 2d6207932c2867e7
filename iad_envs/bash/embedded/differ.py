"""Compares two states by their layers. Only paths that occur in a layer are compared."""

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from hashlib import blake2b
from io import FileIO
from typing import NamedTuple

from iad_envs.bash.embedded.flatten import is_opaque, is_whiteout

BLOCK = 1 << 20
SMALLEST_SPARSE = 64 << 10
MAX_PATH_CHARS = 16 << 20

Row = tuple[str, str, int, int, str, int]
"""Path, kind, mode, size, digest and former mode: the message form of a `Change`."""


class TooMuch(Exception):
    """Two states differ in more than can be listed within the limits."""


class Effort:
    """The effort of one comparison. A single command can leave work for hours behind, so it is limited.

    Args:
        seconds: Time limit.

    Attributes:
        digests: Digests of the files read so far, by device and inode. A file can have thousands of names.
    """

    def __init__(self, seconds: float) -> None:
        self.digests: dict[tuple[int, int], str] = {}
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._chars = 0

    def spend(self, path: str = "") -> None:
        """Count one step, and a path if it was found in it.

        Raises:
            TooMuch: The time is over, or the paths are too long together.
        """
        self._chars += len(path)
        if self._chars > MAX_PATH_CHARS:
            raise TooMuch(f"paths of over {MAX_PATH_CHARS:,} characters together")
        if time.monotonic() > self._until:
            raise TooMuch(f"more than can be read in {self._seconds:.1f} s")


class Found(NamedTuple):
    """The location of a path in the layers of a state."""

    place: str
    stat: os.stat_result


class Stack:
    """A read-only view of a state.

    Args:
        layers: Folders with the state's files, lowest first.
        hidden: Names in the root folder that are not part of the state.
    """

    def __init__(self, layers: tuple[str, ...], hidden: tuple[str, ...]) -> None:
        self.layers = layers
        self.hidden = hidden
        self._folders: dict[str, list[str]] = {"": list(reversed(layers))}

    def folders(self, path: str) -> list[str]:
        """Return the layer folders that form a folder, highest first. Empty if the state has no such folder."""
        missing = []
        while path not in self._folders:
            path, _, name = path.rpartition("/")
            missing.append(name)
        for name in reversed(missing):
            visible = []
            for above in self._folders[path]:
                found = _stat(f"{above}/{name}")
                if found and stat.S_ISDIR(found.st_mode):
                    visible.append(f"{above}/{name}")
                if found and (not stat.S_ISDIR(found.st_mode) or is_opaque(f"{above}/{name}")):
                    break
            path = f"{path}/{name}"
            self._folders[path] = visible
        return self._folders[path]

    def find(self, path: str) -> Found | None:
        """Find a path in the highest layer that has it. Return None if that layer deletes it or no layer has it."""
        folder, _, name = path.rpartition("/")
        for above in self.folders(folder):
            if found := _stat(f"{above}/{name}"):
                return None if is_whiteout(found) else Found(f"{above}/{name}", found)
        return None


def diff(old: Stack, new: Stack, effort: Effort) -> list[Row]:
    """Return all paths that differ between two states, sorted.

    Raises:
        TooMuch: It takes more than the allowed effort.
    """
    shared = 0
    for one, other in zip(old.layers, new.layers, strict=False):
        if one != other:
            break
        shared += 1
    paths: set[str] = set()
    for stack in (old, new):
        for layer in stack.layers[shared:]:
            paths.update(_touched(layer, stack.hidden, effort))
    gone_or_come: set[str] = set()
    walked: dict[Stack, set[str]] = {old: set(), new: set()}
    for path in sorted(paths):
        effort.spend()
        was, now = old.find(path), new.find(path)
        if _is_folder(was) and _is_folder(now) and not _replaced((old, new), path):
            continue
        for stack, here in ((old, was), (new, now)):
            if path.rpartition("/")[0] in walked[stack]:
                walked[stack].add(path)
            elif _is_folder(here):
                walked[stack].add(path)
                gone_or_come.update(_below(stack, path, effort))
    rows = (_row(path, old.find(path), new.find(path), effort) for path in sorted(paths | gone_or_come))
    return [row for row in rows if row]


def tree(stack: Stack, path: str, effort: Effort) -> list[Row]:
    """Return all entries at and under a path, sorted, as if they had been added.

    Raises:
        TooMuch: It takes more than the allowed effort.
    """
    path = "" if path == "/" else path.rstrip("/")
    paths = sorted({path, *_below(stack, path, effort)})
    rows = (_row(each, None, stack.find(each), effort) for each in paths if each)
    return [row for row in rows if row]


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _is_folder(found: Found | None) -> bool:
    return found is not None and stat.S_ISDIR(found.stat.st_mode)


def _replaced(stacks: tuple[Stack, Stack], path: str) -> bool:
    """Whether a folder replaced another one, so that entries may be missing although no layer lists them.

    If a layer replaces a folder of a lower layer, the kernel marks the new folder as opaque. If a lower layer had
    already deleted the folder, the only sign is that layer's whiteout or its entry in place of the folder.
    """
    return any(_hides(f"{layer}{path}") for stack in stacks for layer in stack.layers)


def _hides(entry: str) -> bool:
    found = _stat(entry)
    return found is not None and (not stat.S_ISDIR(found.st_mode) or is_opaque(entry))


def _touched(layer: str, hidden: tuple[str, ...], effort: Effort) -> Iterator[str]:
    """Yield every path that has an entry in a layer, down to the kernel's limit of path length."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(f"{layer}{below}") as entries:
            for entry in entries:
                if below or entry.name not in hidden:
                    path = f"{below}/{entry.name}"
                    effort.spend(path)
                    yield path
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)


def _below(stack: Stack, path: str, effort: Effort) -> Iterator[str]:
    """Yield every path under a folder of a state."""
    waiting = [path]
    while waiting:
        folder = waiting.pop()
        names: set[str] = set()
        for place in stack.folders(folder):
            with contextlib.suppress(OSError):
                names.update(os.listdir(place))
        for name in names:
            child = f"{folder}/{name}"
            effort.spend(child)
            if (folder or name not in stack.hidden) and (found := stack.find(child)):
                yield child
                if stat.S_ISDIR(found.stat.st_mode):
                    waiting.append(child)


def _row(path: str, was: Found | None, now: Found | None, effort: Effort) -> Row | None:
    effort.spend()
    if now is None:
        return None if was is None else (path, "deleted", 0, 0, "", was.stat.st_mode)
    digest = _digest(now, effort)
    size = now.stat.st_size if stat.S_ISREG(now.stat.st_mode) else 0
    if was is None:
        return (path, "added", now.stat.st_mode, size, digest, 0)
    kind = ""
    if stat.S_IFMT(was.stat.st_mode) != stat.S_IFMT(now.stat.st_mode) or not _same_content(was, now, effort):
        kind = "modified"
    elif _permissions(was) != _permissions(now):
        kind = "mode"
    return (path, kind, now.stat.st_mode, size, digest, was.stat.st_mode) if kind else None


def _same_content(was: Found, now: Found, effort: Effort) -> bool:
    if was.place == now.place:
        return True
    if stat.S_ISREG(now.stat.st_mode) and was.stat.st_size != now.stat.st_size:
        return False
    return _digest(was, effort) == _digest(now, effort)


def _permissions(found: Found) -> tuple[int, int, int]:
    return found.stat.st_mode, found.stat.st_uid, found.stat.st_gid


def _digest(found: Found, effort: Effort) -> str:
    file = (found.stat.st_dev, found.stat.st_ino)
    if file not in effort.digests:
        effort.digests[file] = _read(found, effort)
    return effort.digests[file]


def _read(found: Found, effort: Effort) -> str:
    try:
        if stat.S_ISLNK(found.stat.st_mode):
            return blake2b(os.fsencode(os.readlink(found.place)), digest_size=32).hexdigest()
        if not stat.S_ISREG(found.stat.st_mode):
            return ""
        descriptor = os.open(found.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            is_sparse = _is_sparse(found.stat)
            return _of_holes(file, found.stat.st_size, effort) if is_sparse else _of_content(file, effort)
    except OSError:  # a background process deleted it meanwhile
        return ""


def _of_content(file: FileIO, effort: Effort) -> str:
    digest = blake2b(digest_size=32)
    while block := file.read(BLOCK):
        effort.spend()
        digest.update(block)
    return digest.hexdigest()


def _is_sparse(found: os.stat_result) -> bool:
    """Whether a file is mostly holes. Huge empty files are free to create but would take hours to read."""
    return found.st_size > SMALLEST_SPARSE and found.st_blocks * 512 < found.st_size // 2


def _of_holes(file: FileIO, size: int, effort: Effort) -> str:
    digest = blake2b(str(size).encode(), digest_size=32)
    position = 0
    while position < size:
        effort.spend()
        try:
            start = os.lseek(file.fileno(), position, os.SEEK_DATA)
        except OSError:  # the rest of the file is a hole
            break
        position = os.lseek(file.fileno(), start, os.SEEK_HOLE)
        digest.update(str(start).encode())
        os.lseek(file.fileno(), start, os.SEEK_SET)
        while start < position and (block := file.read(min(BLOCK, position - start))):
            effort.spend()
            digest.update(block)
            start += len(block)
    return "sparse:" + digest.hexdigest()
