"""Workers in a process of their own, which may be on another machine: they see neither the run's folder nor its meter.

What they write is handed over in batches as it arises, so that what was paid for is kept when the process dies. What
an episode's earlier course recorded travels with it. Which framework starts the processes is an engine's matter.
"""

import pickle
import platform
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from os import getpid
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from iad_policy.budget import Meter
from iad_policy.errors import Interrupted
from iad_policy.evaluation.worker import EpisodeJob, Worker, WorkerSpec
from iad_policy.recording.answer_log import EpisodeLog, Log
from iad_policy.recording.episode_record import EpisodeRecord

BATCH_S = 0.2
"""How long what was written may wait for more that goes with it."""


class LogLines(NamedTuple):
    """Lines of the log of one episode."""

    key: str
    lines: bytes


class FileContent(NamedTuple):
    """Content of a file of the run's folder."""

    place: str
    content: bytes


Message: TypeAlias = LogLines | FileContent | EpisodeRecord
MessageBatches: TypeAlias = Iterator[list[Message]]


class EpisodeRequest(NamedTuple):
    """An episode to run, and what is known of it.

    Attributes:
        job: The episode.
        answers: What was recorded of it, by item.
        blobs: The files of the folder that these name, by place.
    """

    job: EpisodeJob
    answers: Mapping[str, dict[str, Any]]
    blobs: Mapping[str, bytes]


class RemoteWorker:
    """A process's workers, each in a thread of its own. Methods may be called side by side.

    Args:
        spec: What the workers do.
        n_workers: How many; each makes its environment when it is first needed.
        spec: The environment's, where it is registered: what the asking process imported may not be imported here.
    """

    def __init__(self, spec: WorkerSpec, n_workers: int, env_spec: EnvSpec | None = None) -> None:
        if env_spec is not None:
            gym.registry.setdefault(env_spec.id, env_spec)
        self._spec = spec
        self._meter = Meter()  # the run's limits are the journal's; here it tells when to stop
        self._waiting: SimpleQueue[_WorkerCall | None] = SimpleQueue()
        self._threads = [Thread(target=self._attend, daemon=True) for _ in range(n_workers)]
        for thread in self._threads:
            thread.start()

    def handshake(self) -> dict[str, Any]:
        """Return where this is, and which code, data, agents and verifier there are.

        Raises:
            Exception: Whatever keeps the environment or those who answer from being made here.
        """

        def look(worker: Worker) -> None:
            found.append(worker.context.facts())

        found: list[dict[str, Any]] = []
        for _ in self._done(look):
            pass
        return {**found[0], "host": platform.node(), "pid": getpid()}

    def run(self, requests: tuple[EpisodeRequest, ...]) -> MessageBatches:
        """Run episodes one after another, and yield what comes of them in batches.

        Raises:
            Exception: What a worker raises outside of an episode.
        """

        def serve(worker: Worker) -> None:
            with suppress(Interrupted):
                for request in requests:
                    self._meter.refuse_if_stopped()
                    log = EpisodeLog(RelayedLog(request, messages.put), request.job.key, dict(request.answers))
                    messages.put(worker.run(request.job, log))

        messages: SimpleQueue[Message | _CallEnd] = SimpleQueue()
        yield from self._done(serve, messages)

    def stop(self) -> None:
        """Ask nothing more: episodes end when the answers under way have come."""
        self._meter.stopped.set()

    def close(self) -> None:
        """Let the workers end, and close their environments."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _done(
        self, do: Callable[[Worker], None], messages: "SimpleQueue[Message | _CallEnd] | None" = None
    ) -> MessageBatches:
        messages = SimpleQueue() if messages is None else messages
        self._waiting.put(_WorkerCall(do, messages.put))
        return _message_batches(messages)

    def _attend(self) -> None:
        """Do tasks: what the thread of one worker does. An environment is made, used and closed in one thread."""
        worker: Worker | None = None
        while (task := self._waiting.get()) is not None:
            try:
                if worker is None:
                    worker = Worker(self._spec, self._meter)
                task.do(worker)
                task.end(_CallEnd())
            except BaseException as error:  # whatever it is, the process that asked for the work is told
                task.end(_CallEnd(error))
        if worker is not None:
            worker.close()


class RelayedLog(Log):
    """The log of one episode whose folder is elsewhere.

    Args:
        request: What is known of the episode.
        hand_over: Takes every message on its way to the folder.
    """

    def __init__(self, request: EpisodeRequest, hand_over: Callable[[Message], None]) -> None:
        self._request = request
        self._hand_over = hand_over
        self._kept: dict[str, None] = dict.fromkeys(request.blobs)

    def write(self, lines: bytes) -> None:
        """Hand lines over."""
        self._hand_over(LogLines(self._request.job.key, lines))

    def keep(self, place: str, content: Callable[[], bytes]) -> None:
        """Hand content over, once."""
        if place not in self._kept:
            self._hand_over(FileContent(place, content()))
            self._kept[place] = None  # afterwards: of two threads both hand it over rather than one too late

    def kept(self, place: str) -> bytes:
        """Return content that came with the request."""
        if place not in self._request.blobs:
            raise FileNotFoundError(
                f"expected the file {place} of the run's folder, which did not come with the episode"
            )
        return self._request.blobs[place]


class _CallEnd:
    """No more messages follow, because of an error or without."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _WorkerCall(NamedTuple):
    """What a worker is to do, and what is told when it has done it."""

    do: Callable[[Worker], None]
    end: Callable[[_CallEnd], None]


def _message_batches(messages: "SimpleQueue[Message | _CallEnd]") -> MessageBatches:
    """Yield messages as they come, those together that come within a while of the first, to the end."""
    while True:
        batch: list[Message] = []
        message = messages.get()
        closes = monotonic() + BATCH_S
        with suppress(Empty):
            while not isinstance(message, _CallEnd):
                batch.append(message)
                message = messages.get(timeout=max(0.0, closes - monotonic()))
        if batch:
            yield batch
        if isinstance(message, _CallEnd):
            if message.error is not None:
                raise _sendable(message.error)
            return


def _sendable(error: BaseException) -> BaseException:
    """Return an error itself, or what it says where another process could not read it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does when it is made anew
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
