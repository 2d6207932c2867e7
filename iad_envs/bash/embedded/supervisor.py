"""Process 1 of a sandbox: it stacks layers into roots and starts a runner for each root.

It can mount file systems, but it has no access to the host's. It never runs a command itself.
"""

import contextlib
import os
import select
import signal
import socket
from itertools import count
from typing import Any, NamedTuple, NoReturn

from iad_envs.bash.embedded import rootfs, syscalls, wire
from iad_envs.bash.embedded.differ import Effort, Stack, TooMuch, diff, tree
from iad_envs.bash.embedded.layers import OWN, Layers, Root, State, uppers
from iad_envs.bash.embedded.runner import KEPT_CAPABILITIES, RootRunner, limit_objects
from iad_envs.bash.embedded.syscalls import Clone, Mount

ROOTS_AT_ONCE = 8


class Process(NamedTuple):
    """A runner process: its process id, the socket to it, and the mount point of its process file system."""

    pid: int
    control: socket.socket
    proc: str


class Supervisor:
    """The main loop of process 1.

    Args:
        user: Socket to the owner of the sandbox.
        start: The start state.
        limits: Resource limits of commands, by name.
        maps: User and group maps of a runner, in the kernel's format.
    """

    def __init__(self, user: socket.socket, start: State, *, limits: dict[str, Any], maps: str) -> None:
        self._user = user
        self._limits = limits | {"capabilities": KEPT_CAPABILITIES}
        self._maps = maps
        self._layers = Layers(start, disk_bytes=limits["disk_mb"] << 20, inodes=limits["inodes"])
        self._states: dict[int, State] = {0: start}
        self._roots: dict[int, tuple[Root, Process]] = {}
        self._spare: Process | None = None
        self._numbers = count(1)
        self._layers.hold(start)

    def main(self, descriptor: int, template: str) -> NoReturn:
        """Prepare the mounts, open the first root, and serve until the user disconnects.

        Args:
            descriptor: Socket from the first runner to the user.
            template: Folder of a permanent layer for the first root's changes. Empty for a temporary layer.
        """
        syscalls.mount("own", OWN, fstype="tmpfs", flags=Mount.NOSUID | Mount.NODEV, options="mode=700,size=1m")
        syscalls.mount("proc", "/proc", fstype="proc", flags=Mount.NOSUID | Mount.NODEV | Mount.NOEXEC)
        syscalls.unmount("/host-proc")
        limit_objects(ROOTS_AT_ONCE)
        self._namespace = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._hidden = rootfs.mount_points()
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
                with contextlib.suppress(OSError):  # prepared while idle, because forks often come in series
                    self._spare = self._new_runner()

    def _answer(self, message: wire.Message) -> None:
        request = dict(message.header)
        try:
            self._drop(request.pop("drop_states"), request.pop("drop_roots"))
            answer = self._work(request, message.descriptors)
        except TooMuch as error:
            answer = {"too_much": str(error)}
        except Exception as error:  # whatever a command made of its files, it must not end the sandbox
            answer = {"error": str(error) or type(error).__name__}
        wire.send(self._user, wire.Message(answer))

    def _work(self, request: dict[str, Any], descriptors: tuple[int, ...]) -> dict[str, Any]:
        """Do what a request asks for, and return the answer."""
        what = request["do"]
        if what == "drop":
            self._drop(request["states"], request["roots"])
            return {}
        if what == "fork":
            return {"root": self._open(self._states[request["state"]], *descriptors, is_whole=request["is_whole"])}
        (root, runner), layers = self._roots[request["root"]], self._layers
        if what in ("diff", "tree"):
            here, effort = Stack((*uppers(root.state), f"{root.top}/u"), self._hidden), Effort(request["seconds"])
            if what == "tree":
                return {"rows": tree(here, request["path"], effort)}
            return {"rows": diff(Stack(uppers(self._states[request["since"]]), self._hidden), here, effort)}
        wire.send(runner.control, wire.Message({}))
        ended = wire.receive(runner.control)
        if ended is None:
            raise OSError("the runner has ended")
        before = root.state
        if what == "restore":
            after = self._states[request["state"]]
            layers.unmount(root)
            root.state = after
            layers.hold(after)
            layers.release(before)
            layers.mount(root)
            return {"ended": ended.header["ended"]}
        assert what == "freeze"
        state = layers.freeze(root)
        layers.hold(state)  # by the root
        layers.release(before)
        number = next(self._numbers)
        self._states[number] = state
        layers.hold(state)  # by its token
        return {"state": number, "ended": ended.header["ended"]}

    def _drop(self, states: list[int], roots: list[int]) -> None:
        for number in roots:
            if running := self._roots.pop(number, None):
                # End the runner with all its processes, and unmount its root.
                root, runner = running
                os.kill(runner.pid, signal.SIGKILL)
                runner.control.close()
                os.waitpid(runner.pid, 0)
                self._layers.unmount(root)
                self._layers.release(root.state)
                os.rmdir(root.path)
                syscalls.unmount(root.proc)
                os.rmdir(root.proc)
        for number in states:
            if (state := self._states.pop(number, None)) is not None:
                self._layers.release(state)

    def _open(self, state: State, descriptor: int, *, top: str = "", is_whole: bool = False) -> int:
        """Mount a state, and pass the socket to the user on to its runner."""
        runner = self._spare or self._new_runner()
        self._spare = None
        number = next(self._numbers)
        root = Root(path=f"{OWN}/root{number}", proc=runner.proc, state=state)
        os.mkdir(root.path)
        self._layers.hold(state)
        self._layers.mount(root, top=top, is_whole=is_whole)
        wire.send(runner.control, wire.Message({"root": root.path}, descriptors=(descriptor,)))
        os.close(descriptor)
        self._roots[number] = (root, runner)
        return number

    def _new_runner(self) -> Process:
        proc = f"{OWN}/proc{next(self._numbers)}"
        mine, theirs = socket.socketpair()
        syscalls.unshare(Clone.NEWPID)
        try:
            pid = os.fork()
            if pid == 0:
                try:
                    os.close(self._namespace)
                    self._user.close()
                    for _, runner in self._roots.values():
                        runner.control.close()
                    RootRunner(theirs, proc, self._limits).main()
                except BaseException as error:
                    wire.send(theirs, wire.Message({"error": f"{type(error).__name__}: {error}"}))
                finally:
                    os._exit(1)
        finally:
            theirs.close()
            syscalls.setns(self._namespace, Clone.NEWPID)
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

    def _expect(self, control: socket.socket) -> None:
        answer = wire.receive(control)
        if answer is None or "error" in answer.header:
            raise OSError(f"a runner could not be made: {answer.header['error'] if answer else 'it ended'}")
