"""What differs between two states, read from their layers: only paths that some layer touches are looked at."""

import os
import stat
from collections.abc import Iterator
from hashlib import blake2b
from io import FileIO
from typing import NamedTuple

from iad_envs.bash.embedded.flatten import is_opaque, is_whiteout

BLOCK = 1 << 20

Row = tuple[str, str, int, int, str, int]
"""Path, kind, mode, size, digest, former mode: a `Change` as it travels."""


class Stack(NamedTuple):
    """A state to look into.

    Attributes:
        layers: Folders with its files, lowest first.
        hidden: Names at its root that are no part of it.
    """

    layers: tuple[str, ...]
    hidden: tuple[str, ...]


class Found(NamedTuple):
    """Where a path of a state really is."""

    place: str
    stat: os.stat_result


def diff(old: Stack, new: Stack) -> list[Row]:
    """Every path that is not the same in both, sorted."""
    shared = 0
    for one, other in zip(old.layers, new.layers, strict=False):
        if one != other:
            break
        shared += 1
    paths: set[str] = set()
    for stack in (old, new):
        for layer in stack.layers[shared:]:
            paths.update(_touched(layer, stack.hidden))
    gone_or_come: set[str] = set()
    for path in paths:
        was, now = lookup(old, path), lookup(new, path)
        if _is_folder(was) and _is_folder(now) and not _replaced((old, new), path):
            continue
        for stack, here in ((old, was), (new, now)):
            if _is_folder(here):
                gone_or_come.update(_below(stack, path))
    rows = (_row(path, lookup(old, path), lookup(new, path)) for path in sorted(paths | gone_or_come))
    return [row for row in rows if row]


def tree(stack: Stack, path: str) -> list[Row]:
    """Everything at and under a path, sorted, as if it had been added."""
    path = "" if path == "/" else path.rstrip("/")
    rows = (_row(each, None, lookup(stack, each)) for each in sorted({path, *_below(stack, path)}) if each)
    return [row for row in rows if row]


def lookup(stack: Stack, path: str) -> Found | None:
    """Find a path in the highest layer that has it, unless something above hides it."""
    names = path.split("/")[1:]
    for layer in reversed(stack.layers):
        place, hides = layer, False
        for depth, name in enumerate(names):
            place = f"{place}/{name}"
            try:
                found = os.lstat(place)
            except OSError:
                break
            if depth == len(names) - 1:
                return None if is_whiteout(found) else Found(place, found)
            if not stat.S_ISDIR(found.st_mode):
                return None
            hides = hides or is_opaque(place)
        if hides:
            return None
    return None


def _is_folder(found: Found | None) -> bool:
    return found is not None and stat.S_ISDIR(found.stat.st_mode)


def _replaced(stacks: tuple[Stack, Stack], path: str) -> bool:
    """Whether a folder may lack entries that no layer names, because one was put in another's place."""
    return any(is_opaque(f"{layer}{path}") for stack in stacks for layer in stack.layers)


def _touched(layer: str, hidden: tuple[str, ...], below: str = "") -> Iterator[str]:
    """Every path that a layer has an entry for."""
    with os.scandir(f"{layer}{below}") as entries:
        for entry in entries:
            if not below and entry.name in hidden:
                continue
            path = f"{below}/{entry.name}"
            yield path
            if entry.is_dir(follow_symlinks=False):
                yield from _touched(layer, hidden, path)


def _below(stack: Stack, path: str) -> Iterator[str]:
    """Every path under a folder of a state."""
    names: set[str] = set()
    for layer in stack.layers:
        try:
            names.update(os.listdir(f"{layer}{path}"))
        except OSError:
            continue
    for name in names:
        child = f"{path}/{name}"
        if (path or name not in stack.hidden) and (found := lookup(stack, child)):
            yield child
            if stat.S_ISDIR(found.stat.st_mode):
                yield from _below(stack, child)


def _row(path: str, was: Found | None, now: Found | None) -> Row | None:
    if now is None:
        return None if was is None else (path, "deleted", 0, 0, "", was.stat.st_mode)
    digest = _digest(now)
    size = now.stat.st_size if stat.S_ISREG(now.stat.st_mode) else 0
    if was is None:
        return (path, "added", now.stat.st_mode, size, digest, 0)
    kind = ""
    if stat.S_IFMT(was.stat.st_mode) != stat.S_IFMT(now.stat.st_mode) or not _same_content(was, now, digest):
        kind = "modified"
    elif _permissions(was) != _permissions(now):
        kind = "mode"
    return (path, kind, now.stat.st_mode, size, digest, was.stat.st_mode) if kind else None


def _same_content(was: Found, now: Found, digest: str) -> bool:
    if was.place == now.place:
        return True
    if stat.S_ISREG(now.stat.st_mode) and was.stat.st_size != now.stat.st_size:
        return False
    return _digest(was) == digest


def _permissions(found: Found) -> tuple[int, int, int]:
    return found.stat.st_mode, found.stat.st_uid, found.stat.st_gid


def _digest(found: Found) -> str:
    try:
        if stat.S_ISLNK(found.stat.st_mode):
            return blake2b(os.fsencode(os.readlink(found.place)), digest_size=32).hexdigest()
        if not stat.S_ISREG(found.stat.st_mode):
            return ""
        descriptor = os.open(found.place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb", buffering=0) as file:
            return _of_holes(file, found.stat.st_size) if _is_sparse(found.stat) else _of_content(file)
    except OSError:  # a background process took it away meanwhile
        return ""


def _of_content(file: FileIO) -> str:
    digest = blake2b(digest_size=32)
    while block := file.read(BLOCK):
        digest.update(block)
    return digest.hexdigest()


def _is_sparse(found: os.stat_result) -> bool:
    """Whether a file is mostly holes: thousands of huge empty ones cost nothing to make, and hours to read."""
    return found.st_size > BLOCK and found.st_blocks * 512 < found.st_size // 2


def _of_holes(file: FileIO, size: int) -> str:
    digest = blake2b(str(size).encode(), digest_size=32)
    position = 0
    while position < size:
        try:
            start = os.lseek(file.fileno(), position, os.SEEK_DATA)
        except OSError:  # nothing but a hole from here on
            break
        position = os.lseek(file.fileno(), start, os.SEEK_HOLE)
        digest.update(str(start).encode())
        os.lseek(file.fileno(), start, os.SEEK_SET)
        while start < position and (block := file.read(min(BLOCK, position - start))):
            digest.update(block)
            start += len(block)
    return "sparse:" + digest.hexdigest()
