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
        if self._chars > 16 << 20:
            raise TooMuch(f"paths of over {16 << 20:,} characters together")
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
        if _is_folder(was) and _is_folder(now):
            # If one folder has replaced another, entries may be missing although no layer lists them. If a layer
            # replaces a folder of a lower layer, the kernel marks the new folder as opaque. If a lower layer had
            # already deleted the folder, the only sign is that layer's whiteout or its entry in place of the folder.
            entries = (f"{layer}{path}" for layer in (*old.layers, *new.layers))
            stats = ((entry, _stat(entry)) for entry in entries)
            if not any(found and (not stat.S_ISDIR(found.st_mode) or is_opaque(entry)) for entry, found in stats):
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
    mode, is_file = now.stat.st_mode, stat.S_ISREG(now.stat.st_mode)
    size = now.stat.st_size if is_file else 0
    if was is None:
        return (path, "added", mode, size, digest, 0)
    has_same_content = was.place == now.place or (
        stat.S_IFMT(was.stat.st_mode) == stat.S_IFMT(mode)
        and not (is_file and was.stat.st_size != size)
        and _digest(was, effort) == digest
    )
    before, after = ((found.stat.st_mode, found.stat.st_uid, found.stat.st_gid) for found in (was, now))
    if has_same_content and before == after:
        return None
    return (path, "mode" if has_same_content else "modified", mode, size, digest, was.stat.st_mode)


def _digest(found: Found, effort: Effort) -> str:
    """Return the digest of a file's content or a link's target, "" of anything else."""
    file = (found.stat.st_dev, found.stat.st_ino)
    if file in effort.digests:
        return effort.digests[file]
    digest = ""
    with contextlib.suppress(OSError):  # a background process deleted it meanwhile
        if stat.S_ISLNK(found.stat.st_mode):
            digest = blake2b(os.fsencode(os.readlink(found.place)), digest_size=32).hexdigest()
        elif stat.S_ISREG(found.stat.st_mode):
            descriptor = os.open(found.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb", buffering=0) as content:
                digest = _digest_of_content(content, found.stat, effort)
    effort.digests[file] = digest
    return digest


def _digest_of_content(file: FileIO, found: os.stat_result, effort: Effort) -> str:
    size, block_size = found.st_size, 1 << 20
    if size <= 64 << 10 or found.st_blocks * 512 >= size // 2:
        digest = blake2b(digest_size=32)
        while block := file.read(block_size):
            effort.spend()
            digest.update(block)
        return digest.hexdigest()
    # It is mostly holes. Huge empty files are free to create but would take hours to read.
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
        while start < position and (block := file.read(min(block_size, position - start))):
            effort.spend()
            digest.update(block)
            start += len(block)
    return "sparse:" + digest.hexdigest()
