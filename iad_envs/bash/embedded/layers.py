"""States as stacks of layers: nothing is copied to freeze one, to go back to it, or to fork it.

A layer is a tmpfs of its own with an upper folder `u` and overlayfs's work folder `w`: dropping it is one unmount,
whatever was written, and a full one can't block the next. A state is the tuple of its layers, lowest first; a root is a
mounted state with a fresh layer on top that takes the changes.
"""

import errno
import os
from dataclasses import dataclass, field

from iad_envs.bash.embedded import syscalls
from iad_envs.bash.embedded.flatten import flatten
from iad_envs.bash.embedded.rootfs import furnish
from iad_envs.bash.embedded.syscalls import MS_NOATIME, MS_NODEV, MS_NOSUID

BASE = "/base"
OWN = "/own"
FLATTEN_AT = 24
SMALLEST_LAYER = 256 << 10
KEPT_STATES_FACTOR = 8

State = tuple[str, ...]
"""Folders of layers, lowest first, without the base."""


def uppers(state: State) -> tuple[str, ...]:
    """The folders with a state's files, lowest first, base included."""
    return (BASE, *(f"{layer}/u" for layer in state))


def new_layer(path: str, size: int, inodes: int) -> None:
    """Mount an empty layer of at most `size` bytes at a folder that does not exist yet."""
    os.mkdir(path)
    options = f"mode=755,size={size},nr_inodes={inodes}"
    syscalls.mount("layer", path, fstype="tmpfs", flags=MS_NOSUID | MS_NODEV | MS_NOATIME, options=options)
    os.mkdir(f"{path}/u")
    os.mkdir(f"{path}/w")


@dataclass(slots=True)
class Root:
    """A mounted state.

    Attributes:
        path: Where it is mounted.
        proc: The process file system of its processes.
        state: What is under its top layer.
        top: The layer that takes the changes.
        clean: Mode, owner and times of the top layer's folder when it was new.
    """

    path: str
    proc: str
    state: State
    top: str = ""
    clean: tuple[int, ...] = ()


@dataclass(slots=True)
class Layers:
    """Every layer of one sandbox.

    Attributes:
        start: The state it begins with; shared with other sandboxes, so never unmounted.
        disk_bytes: Of a root's changes to the start state.
        inodes: Of one layer.
    """

    start: State
    disk_bytes: int
    inodes: int
    _count: int = 0
    _holders: dict[str, int] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def mount(self, root: Root, *, top: str = "") -> None:
        """Mount a root's state with a fresh layer on top, or with one that is given."""
        used = sum(self._sizes.get(layer, 0) for layer in root.state)
        top = top or self._new(max(self.disk_bytes - used, SMALLEST_LAYER))
        folders = uppers(root.state)
        look = os.stat(folders[-1])
        upper = f"{top}/u"
        os.chown(upper, look.st_uid, look.st_gid)
        os.chmod(upper, look.st_mode & 0o7777)
        os.utime(upper, ns=(look.st_atime_ns, look.st_mtime_ns))
        options = f"userxattr,lowerdir={':'.join(reversed(folders))},upperdir={upper},workdir={top}/w"
        try:
            syscalls.mount("sandbox", root.path, fstype="overlay", flags=MS_NOSUID | MS_NODEV, options=options)
            furnish(root.path, root.proc)
        except OSError:
            self._unmount(top)
            raise
        root.top, root.clean = top, _look(upper)

    def unmount(self, root: Root) -> None:
        """Take a root out of the tree, and its changes with it if they weren't frozen."""
        syscalls.unmount(root.path)
        self._unmount(root.top)
        root.top = ""

    def freeze(self, root: Root) -> State:
        """Keep a root's changes as a state, and go on from there.

        Raises:
            OSError: The kept states together are too large; the root is as it was.
        """
        if not os.listdir(f"{root.top}/u") and _look(f"{root.top}/u") == root.clean:
            return root.state
        used = os.statvfs(root.top)
        size = (used.f_blocks - used.f_bfree) * used.f_frsize
        if sum(self._sizes.values()) + size > self.disk_bytes * KEPT_STATES_FACTOR:
            raise OSError(errno.ENOSPC, "the states kept are too large together")
        syscalls.unmount(root.path)
        self._sizes[root.top] = size
        state = (*root.state, root.top)
        root.state, root.top = self._flat(state), ""
        self.mount(root)
        return root.state

    def hold(self, state: State) -> None:
        """Keep a state's layers until they are let go."""
        for layer in state:
            self._holders[layer] = self._holders.get(layer, 0) + 1

    def let_go(self, state: State) -> None:
        """Unmount the layers of a state that nobody else holds."""
        for layer in state:
            self._holders[layer] -= 1
            if not self._holders[layer]:
                del self._holders[layer]
                if layer not in self.start:
                    self._unmount(layer)

    def _flat(self, state: State) -> State:
        """The same state in few layers, so that a long history costs no more than a short one."""
        if len(state) - len(self.start) < FLATTEN_AT:
            return state
        changes = state[len(self.start) :]
        top = self._new(self.disk_bytes * 2, self.inodes * FLATTEN_AT)
        try:
            flatten([f"{layer}/u" for layer in changes], f"{top}/u")
        except (OSError, RecursionError):  # folders in folders beyond what paths can name: they stay in layers
            self._unmount(top)
            return state
        used = os.statvfs(top)
        self._sizes[top] = (used.f_blocks - used.f_bfree) * used.f_frsize
        for layer in changes:
            if layer not in self._holders:
                self._unmount(layer)
        return (*self.start, top)

    def _new(self, size: int, inodes: int = 0) -> str:
        self._count += 1
        path = f"{OWN}/{self._count}"
        new_layer(path, size, inodes or self.inodes)
        return path

    def _unmount(self, layer: str) -> None:
        self._sizes.pop(layer, None)
        syscalls.unmount(layer)
        os.rmdir(layer)


def _look(folder: str) -> tuple[int, ...]:
    found = os.stat(folder)
    return found.st_mode, found.st_uid, found.st_gid
