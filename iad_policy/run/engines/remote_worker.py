"""Runs workers in a separate process, possibly on another machine, without access to the run folder or its meter.

Their answers are sent in batches at once, so that paid answers are kept if the process dies. The recorded answers of an
episode are part of its request. The engine decides which framework starts the processes.
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
from iad_policy.ledger.answer_log import EpisodeLog, Log
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.run.engines.thread_pool import WorkEnd
from iad_policy.run.worker import EpisodeJob, Worker, WorkerSpec
from iad_policy.runtime.event_loop import EventLoop


class LogLines(NamedTuple):
    """Log lines of one episode."""

    key: str
    lines: bytes


class FileContent(NamedTuple):
    """Content of a file of the run folder."""

    place: str
    content: bytes


Message: TypeAlias = LogLines | FileContent | EpisodeRecord
MessageBatches: TypeAlias = Iterator[list[Message]]


class EpisodeRequest(NamedTuple):
    """An episode to run, with its recorded answers.

    Attributes:
        job: The episode.
        answers: Recorded answers of the episode, by item.
        blobs: Content of the blobs that the answers refer to, by path in the folder.
    """

    job: EpisodeJob
    answers: Mapping[str, dict[str, Any]]
    blobs: Mapping[str, bytes]


class RemoteWorker:
    """The workers of a process, each in its own thread. Methods may be called from several threads.

    Args:
        spec: Specification of the workers.
        n_workers: Number of workers. Each makes its environment when it is first needed.
        env_spec: Gymnasium spec of the environment, if it is registered. This process may lack the import that
            registers it.
    """

    def __init__(self, spec: WorkerSpec, n_workers: int, env_spec: EnvSpec | None = None) -> None:
        if env_spec is not None:
            gym.registry.setdefault(env_spec.id, env_spec)
        self._spec = spec
        self._meter = Meter()  # the journal checks the run's limits; this meter only tells when to stop
        self._event_loop = EventLoop()
        self._waiting: SimpleQueue[_WorkerCall | None] = SimpleQueue()
        self._threads = [Thread(target=self._attend, daemon=True) for _ in range(n_workers)]
        for thread in self._threads:
            thread.start()

    def handshake(self) -> dict[str, Any]:
        """Return the host, the process id, the code version, the data and the identities of the components.

        Raises:
            Exception: The environment or a component can't be made here.
        """

        def look(worker: Worker) -> None:
            found.append(worker.context.facts())

        found: list[dict[str, Any]] = []
        for _ in self._done(look):
            pass
        return {**found[0], "host": platform.node(), "pid": getpid()}

    def run(self, requests: tuple[EpisodeRequest, ...]) -> MessageBatches:
        """Run episodes one after another, and yield their messages in batches.

        Raises:
            Exception: A worker raised an error outside of an episode.
        """

        def serve(worker: Worker) -> None:
            with suppress(Interrupted):
                for request in requests:
                    self._meter.refuse_if_stopped()
                    log = EpisodeLog(RelayedLog(request, messages.put), request.job.key, dict(request.answers))
                    messages.put(worker.run(request.job, log))

        messages: SimpleQueue[Message | WorkEnd] = SimpleQueue()
        yield from self._done(serve, messages)

    def stop(self) -> None:
        """Make no more requests. Episodes end when their pending answers have arrived."""
        self._meter.stopped.set()

    def close(self) -> None:
        """End the workers and close their environments."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()
        self._event_loop.close()

    def _done(
        self, do: Callable[[Worker], None], messages: SimpleQueue[Message | WorkEnd] | None = None
    ) -> MessageBatches:
        messages = SimpleQueue() if messages is None else messages
        self._waiting.put(_WorkerCall(do, messages.put))
        return _message_batches(messages)

    def _attend(self) -> None:
        """Run calls in the thread of one worker. Its environment is made, used and closed in this thread."""
        worker: Worker | None = None
        while (task := self._waiting.get()) is not None:
            try:
                if worker is None:
                    worker = Worker(self._spec, self._meter, self._event_loop)
                task.do(worker)
                task.end(WorkEnd())
            except BaseException as error:  # any error is passed to the process that asked for the work
                task.end(WorkEnd(error))
        if worker is not None:
            worker.close()


class RelayedLog(Log):
    """The log of one episode, whose run folder belongs to another process.

    Args:
        request: The episode, with its recorded answers.
        hand_over: Function that sends a message to that process.
    """

    def __init__(self, request: EpisodeRequest, hand_over: Callable[[Message], None]) -> None:
        super().__init__()
        self._request = request
        self._hand_over = hand_over
        self._kept: dict[str, None] = dict.fromkeys(request.blobs)

    def write(self, lines: bytes) -> None:
        """Send lines."""
        self._hand_over(LogLines(self._request.job.key, lines))

    def keep(self, place: str, content: Callable[[], bytes]) -> None:
        """Send content, once per path."""
        if place not in self._kept:
            self._hand_over(FileContent(place, content()))
            self._kept[place] = None  # only now: two threads may both send it, but none may rely on it too early

    def kept(self, place: str) -> bytes:
        """Return content that came with the request."""
        if place not in self._request.blobs:
            raise FileNotFoundError(f"expected the file {place} of the run folder, which was not sent with the episode")
        return self._request.blobs[place]


class _WorkerCall(NamedTuple):
    """A function for a worker to run, and a function that is called at its end."""

    do: Callable[[Worker], None]
    end: Callable[[WorkEnd], None]


def _message_batches(messages: SimpleQueue[Message | WorkEnd]) -> MessageBatches:
    """Yield messages in batches until the call ends. A batch has all messages within 0.2 s of its first."""
    while True:
        batch: list[Message] = []
        message = messages.get()
        closes = monotonic() + 0.2
        with suppress(Empty):
            while not isinstance(message, WorkEnd):
                batch.append(message)
                message = messages.get(timeout=max(0.0, closes - monotonic()))
        if batch:
            yield batch
        if isinstance(message, WorkEnd):
            if message.error is not None:
                raise _sendable(message.error)
            return


def _sendable(error: BaseException) -> BaseException:
    """Return the error, or a `RuntimeError` with its text if it can't be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # its class may raise anything while it is unpickled
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
