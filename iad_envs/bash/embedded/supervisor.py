"""Process 1 of a sandbox: it stacks layers into roots, and starts a cell for each.

It has the power to mount, but nothing of the host to mount, and it never runs a command itself.
"""

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from iad_envs.bash.embedded import rootfs, syscalls, wire
from iad_envs.bash.embedded.cell import KEPT_CAPABILITIES, Cell
from iad_envs.bash.embedded.differ import Stack, diff, tree
from iad_envs.bash.embedded.layers import OWN, Layers, Root, State, uppers
from iad_envs.bash.embedded.syscalls import CLONE_NEWPID, MS_NODEV, MS_NOEXEC, MS_NOSUID


class Process(NamedTuple):
    """A cell: its process, the way to it, and where its processes are mounted."""

    pid: int
    control: socket.socket
    proc: str


class Inhabited(NamedTuple):
    """A root and the cell in it."""

    root: Root
    cell: Process


class Supervisor:
    """The loop of process 1.

    Args:
        user: To the one who owns the sandbox.
        start: Its first state.
        limits: What commands may use, by name.
        maps: User and group maps of a cell, as the kernel takes them.
    """

    def __init__(self, user: socket.socket, start: State, *, limits: dict[str, Any], maps: str) -> None:
        self._user = user
        self._limits = limits | {"capabilities": KEPT_CAPABILITIES}
        self._maps = maps
        self._layers = Layers(start, disk_bytes=limits["disk_mb"] << 20, inodes=limits["inodes"])
        self._states: dict[int, State] = {0: start}
        self._roots: dict[int, Inhabited] = {}
        self._spare: Process | None = None
        self._numbers = 0
        self._layers.hold(start)

    def main(self, descriptor: int, template: str) -> NoReturn:
        """Settle in, open the first root, and serve until the user goes.

        Args:
            descriptor: The way from the first cell to the user.
            template: A layer that is to take the first root's changes and stay; empty for one of its own.
        """
        syscalls.mount("own", OWN, fstype="tmpfs", flags=MS_NOSUID | MS_NODEV, options="mode=700,size=1m")
        syscalls.mount("proc", "/proc", fstype="proc", flags=MS_NOSUID | MS_NODEV | MS_NOEXEC)
        syscalls.unmount("/host-proc")
        self._namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._hidden = rootfs.unchanging()
        first = self._open(self._states[0], descriptor, top=template)
        wire.send(self._user, wire.Message({"root": first}))
        poll = select.poll()
        poll.register(self._user, select.POLLIN)
        while True:
            poll.poll()
            message = wire.receive(self._user)
            if message is None:
                os._exit(0)
            self._answer(message)
            if message.header["do"] == "fork" and not self._spare:
                with contextlib.suppress(OSError):  # in time that nobody waits for; forks come in rows
                    self._spare = self._new_cell()

    def _answer(self, message: wire.Message) -> None:
        request = dict(message.header)
        work: dict[str, Callable[..., dict[str, Any]]] = {
            "fork": self._fork, "freeze": self._freeze, "restore": self._restore, "diff": self._diff,
            "tree": self._tree, "drop": self._drop,
        }  # fmt: skip
        try:
            self._drop(request.pop("drop_states"), request.pop("drop_roots"))
            answer = work[request.pop("do")](*message.descriptors, **request)
        except OSError as error:
            answer = {"error": str(error)}
        wire.send(self._user, wire.Message(answer))

    def _number(self) -> int:
        self._numbers += 1
        return self._numbers

    def _fork(self, descriptor: int, state: int) -> dict[str, Any]:
        return {"root": self._open(self._states[state], descriptor)}

    def _freeze(self, root: int) -> dict[str, Any]:
        inhabited = self._roots[root]
        ended = self._end_processes(inhabited)
        before = inhabited.root.state
        state = self._layers.freeze(inhabited.root)
        self._layers.hold(state)
        self._layers.let_go(before)
        number = self._number()
        self._states[number] = state
        self._layers.hold(state)
        return {"state": number, "ended": ended}

    def _restore(self, root: int, state: int) -> dict[str, Any]:
        inhabited = self._roots[root]
        ended = self._end_processes(inhabited)
        before, after = inhabited.root.state, self._states[state]
        self._layers.unmount(inhabited.root)
        inhabited.root.state = after
        self._layers.hold(after)
        self._layers.let_go(before)
        self._layers.mount(inhabited.root)
        return {"ended": ended}

    def _diff(self, root: int, since: int) -> dict[str, Any]:
        old = Stack(uppers(self._states[since]), self._hidden)
        return {"rows": diff(old, self._stack(root))}

    def _tree(self, root: int, path: str) -> dict[str, Any]:
        return {"rows": tree(self._stack(root), path)}

    def _stack(self, root: int) -> Stack:
        here = self._roots[root].root
        return Stack((*uppers(here.state), f"{here.top}/u"), self._hidden)

    def _drop(self, states: list[int], roots: list[int]) -> dict[str, Any]:
        for number in roots:
            if inhabited := self._roots.pop(number, None):
                self._end(inhabited)
        for number in states:
            if (state := self._states.pop(number, None)) is not None:
                self._layers.let_go(state)
        return {}

    def _open(self, state: State, descriptor: int, *, top: str = "") -> int:
        """Mount a state, and give its cell the way to its user."""
        cell = self._spare or self._new_cell()
        self._spare = None
        number = self._number()
        root = Root(path=f"{OWN}/root{number}", proc=cell.proc, state=state)
        os.mkdir(root.path)
        self._layers.hold(state)
        self._layers.mount(root, top=top)
        wire.send(cell.control, wire.Message({"root": root.path}, descriptors=(descriptor,)))
        os.close(descriptor)
        self._roots[number] = Inhabited(root, cell)
        return number

    def _new_cell(self) -> Process:
        proc = f"{OWN}/proc{self._number()}"
        mine, theirs = socket.socketpair()
        syscalls.unshare(CLONE_NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                self._be_cell(theirs, proc)
        finally:
            theirs.close()
            syscalls.setns(self._namespace, CLONE_NEWPID)
        try:
            self._expect(mine)
            for name in ("uid_map", "gid_map"):
                with open(f"/proc/{pid}/{name}", "w", encoding="ascii") as file:
                    file.write(self._maps)
            wire.send(mine, wire.Message({}))
            self._expect(mine)
        except OSError:
            mine.close()
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        return Process(pid, mine, proc)

    def _be_cell(self, control: socket.socket, proc: str) -> NoReturn:
        try:
            os.close(self._namespace)
            self._user.close()
            for inhabited in self._roots.values():
                inhabited.cell.control.close()
            Cell(control, proc, self._limits).main()
        except BaseException as error:
            wire.send(control, wire.Message({"error": f"{type(error).__name__}: {error}"}))
        finally:
            os._exit(1)

    def _expect(self, control: socket.socket) -> None:
        answer = wire.receive(control)
        if answer is None or "error" in answer.header:
            raise OSError(f"a cell could not be made: {answer.header['error'] if answer else 'it ended'}")

    def _end_processes(self, inhabited: Inhabited) -> int:
        wire.send(inhabited.cell.control, wire.Message({}))
        answer = wire.receive(inhabited.cell.control)
        if answer is None:
            raise OSError("the cell has ended")
        return int(answer.header["ended"])

    def _end(self, inhabited: Inhabited) -> None:
        """End a cell with everything in it, and unmount its root."""
        os.kill(inhabited.cell.pid, signal.SIGKILL)
        inhabited.cell.control.close()
        os.waitpid(inhabited.cell.pid, 0)
        self._layers.unmount(inhabited.root)
        self._layers.let_go(inhabited.root.state)
        os.rmdir(inhabited.root.path)
        syscalls.unmount(inhabited.root.proc)
        os.rmdir(inhabited.root.proc)
