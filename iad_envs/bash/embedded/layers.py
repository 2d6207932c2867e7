"""States as stacks of layers. Freezing, restoring and forking a state copies nothing.

Each layer is a separate tmpfs with an upper folder `u` and overlayfs's work folder `w`. Deleting a layer is a single
unmount, however much was written, and a full layer does not block the next one. A state is the tuple of its layers,
lowest first. A root is a mounted state with a new layer on top for the changes.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from iad_envs.bash.embedded import syscalls
from iad_envs.bash.embedded.flatten import flatten
from iad_envs.bash.embedded.rootfs import furnish
from iad_envs.bash.embedded.syscalls import Mount

OWN = "/own"
FLATTEN_AT = 24
ALLOWANCE = 8
"""How many times the limit of one root's changes all layers of a sandbox may take."""
INODE_BYTES = 1536
"""The most memory that a file takes besides its content: its inode, and the longest name."""

State = tuple[str, ...]
"""Layer folders of a state, lowest first, without the base."""


def uppers(state: State) -> tuple[str, ...]:
    """Return the folders with a state's files, lowest first, including the base."""
    return ("/base", *(f"{layer}/u" for layer in state))


def new_layer(path: str, size: int, inodes: int) -> None:
    """Create a folder and mount an empty layer of at most `size` bytes there."""
    os.mkdir(path)
    options = f"mode=755,size={size},nr_inodes={inodes}"
    syscalls.mount("layer", path, fstype="tmpfs", flags=Mount.NOSUID | Mount.NODEV | Mount.NOATIME, options=options)
    os.mkdir(f"{path}/u")
    os.mkdir(f"{path}/w")


def most_kept(limits: Mapping[str, Any]) -> int:
    """Return the number of bytes that all layers of a sandbox may take together."""
    return ALLOWANCE * (int(limits["disk_mb"]) << 20)


def most_in_layer(limits: Mapping[str, Any]) -> int:
    """Return the number of bytes that one layer may take."""
    return (int(limits["disk_mb"]) << 20) + INODE_BYTES * int(limits["inodes"])


class Size(NamedTuple):
    """What a layer takes, or may take at most: bytes of content, and inodes."""

    content: int
    inodes: int

    @property
    def memory(self) -> int:
        """Bytes in all."""
        return self.content + self.inodes * INODE_BYTES


@dataclass(slots=True)
class Root:
    """A mounted state.

    Attributes:
        path: Mount point of the root.
        proc: Mount point of the process file system.
        state: The state below the top layer.
        top: The layer that records the changes.
        clean: Original mode, owner and times of the top layer's folder.
    """

    path: str
    proc: str
    state: State
    top: str = ""
    clean: tuple[int, ...] = ()


@dataclass(slots=True)
class Layers:
    """All layers of one sandbox.

    Attributes:
        start: The start state. Other sandboxes share it, so it is never unmounted.
        disk_bytes: Maximum size in bytes of a root's changes to the start state.
        inodes: Maximum number of inodes of one layer.
    """

    start: State
    disk_bytes: int
    inodes: int
    _count: int = 0
    _holders: dict[str, int] = field(default_factory=dict)
    _sizes: dict[str, Size] = field(default_factory=dict)

    def mount(self, root: Root, *, top: str = "", is_whole: bool = False) -> None:
        """Mount a root's state with a new layer on top, or with the given one.

        A whole layer may take all that one may, however much others have taken.
        """
        top = top or self._new(self._room(root.state, is_whole=is_whole))
        folders = uppers(root.state)
        look = os.stat(folders[-1])
        upper = f"{top}/u"
        os.chown(upper, look.st_uid, look.st_gid)
        os.chmod(upper, look.st_mode & 0o7777)
        os.utime(upper, ns=(look.st_atime_ns, look.st_mtime_ns))
        try:
            _stack(root, top)
        except OSError:
            self._unmount(top)
            raise
        root.top, root.clean = top, _attributes(upper)

    def unmount(self, root: Root) -> None:
        """Unmount a root, if it is mounted. Changes that were not frozen are lost."""
        if root.top:  # else its last mount has failed
            syscalls.unmount(root.path)
            self._unmount(root.top)
            root.top = ""

    def freeze(self, root: Root) -> State:
        """Freeze a root's changes as a state, and continue from this state.

        Raises:
            OSError: There are too many states under this one. The root is unchanged.
        """
        if not os.listdir(f"{root.top}/u") and _attributes(f"{root.top}/u") == root.clean:
            return root.state
        syscalls.unmount(root.path)
        before, top = root.state, root.top
        given = self._sizes.get(top)
        self._sizes[top] = _size(top)
        state = (*before, top)
        root.state, root.top = self._flat(state), ""
        try:
            self.mount(root)
        except OSError as error:
            after, root.state = root.state, before
            if after is state:
                if given:
                    self._sizes[top] = given
                _stack(root, top)
                root.top = top
            else:
                self._unmount(after[-1])
            raise OSError(error.errno, f"a state on top of {len(before)} others can't be mounted: {error}") from error
        return root.state

    def hold(self, state: State) -> None:
        """Keep a state's layers until they are released."""
        for layer in state:
            self._holders[layer] = self._holders.get(layer, 0) + 1

    def release(self, state: State) -> None:
        """Unmount the layers of a state that no other state uses."""
        for layer in state:
            self._holders[layer] -= 1
            if not self._holders[layer]:
                del self._holders[layer]
                if layer not in self.start:
                    self._unmount(layer)

    def _flat(self, state: State) -> State:
        """Return an equal state with few layers, so that a long history does not slow down access."""
        if (len(state) - len(self.start)) % FLATTEN_AT:  # if it fails, it is not tried again each time
            return state
        changes = state[len(self.start) :]
        top = self._new(Size(self.disk_bytes * 2, self.inodes * FLATTEN_AT))
        try:
            flatten([f"{layer}/u" for layer in changes], f"{top}/u", limit_s=0.5)
        except (OSError, RecursionError):  # too deep for path names, or too many files: the layers stay as they are
            self._unmount(top)
            return state
        self._sizes[top] = _size(top)
        for layer in changes:
            if layer not in self._holders:
                self._unmount(layer)
        return (*self.start, top)

    def _room(self, state: State, *, is_whole: bool) -> Size:
        """Return what a new layer on a state may take: its own limit, of what is left for all layers.

        There is always a little room, so that others' large files don't make a small command fail.
        """
        left = ALLOWANCE * self.disk_bytes
        if not is_whole:
            left -= sum(size.memory for size in self._sizes.values())
        inodes = max(min(self.inodes, left // 4 // INODE_BYTES), self.inodes // 64)
        own = self.disk_bytes - sum(self._sizes[layer].content for layer in state if layer in self._sizes)
        return Size(max(min(own, max(left - inodes * INODE_BYTES, self.disk_bytes // 64)), 256 << 10), max(inodes, 64))

    def _new(self, room: Size) -> str:
        self._count += 1
        path = f"{OWN}/{self._count}"
        new_layer(path, room.content, room.inodes)
        self._sizes[path] = room
        return path

    def _unmount(self, layer: str) -> None:
        self._sizes.pop(layer, None)
        syscalls.unmount(layer)
        os.rmdir(layer)


def _size(layer: str) -> Size:
    """Return what a layer takes."""
    used = os.statvfs(layer)
    return Size((used.f_blocks - used.f_bfree) * used.f_frsize, used.f_files - used.f_ffree)


def _stack(root: Root, top: str) -> None:
    """Mount a root's state with a layer on top."""
    folders = ":".join(reversed(uppers(root.state)))
    options = f"userxattr,lowerdir={folders},upperdir={top}/u,workdir={top}/w"
    syscalls.mount("sandbox", root.path, fstype="overlay", flags=Mount.NOSUID | Mount.NODEV, options=options)
    try:
        furnish(root.path, root.proc)
    except OSError:
        syscalls.unmount(root.path)
        raise


def _attributes(folder: str) -> tuple[int, ...]:
    found = os.stat(folder)
    return found.st_mode, found.st_uid, found.st_gid
