"""Workers in a process of their own, which may be on another machine: they see neither the run's folder nor its meter.

What they write is handed over in parcels as it arises, so that what was paid for is kept when the process dies. What
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
from iad_policy.evaluation.worker import Job, Post, Worker
from iad_policy.recording.answer_log import EpisodeLog, Log
from iad_policy.recording.episode_record import EpisodeRecord

PARCEL_S = 0.2
"""How long what was written may wait for more that goes with it."""


class Lines(NamedTuple):
    """Lines of the log of one episode."""

    key: str
    lines: bytes


class Content(NamedTuple):
    """Content of a file of the run's folder."""

    place: str
    content: bytes


Piece: TypeAlias = Lines | Content | EpisodeRecord
Parcels: TypeAlias = Iterator[list[Piece]]


class Order(NamedTuple):
    """An episode to run, and what is known of it.

    Attributes:
        job: The episode.
        answers: What was recorded of it, by item.
        blobs: The files of the folder that these name, by place.
    """

    job: Job
    answers: Mapping[str, dict[str, Any]]
    blobs: Mapping[str, bytes]


class Station:
    """A process's workers, each in a thread of its own. Methods may be called side by side.

    Args:
        post: What the workers do.
        n_workers: How many; each makes its environment when it is first needed.
        spec: The environment's, where it is registered: what the asking process imported may not be imported here.
    """

    def __init__(self, post: Post, n_workers: int, spec: EnvSpec | None = None) -> None:
        if spec is not None:
            gym.registry.setdefault(spec.id, spec)
        self._post = post
        self._meter = Meter()  # the run's limits are the desk's; here it tells when to stop
        self._waiting: SimpleQueue[_Task | None] = SimpleQueue()
        self._threads = [Thread(target=self._attend, daemon=True) for _ in range(n_workers)]
        for thread in self._threads:
            thread.start()

    def greet(self) -> dict[str, Any]:
        """Return where this is, and which code, data, agents and verifier there are.

        Raises:
            Exception: Whatever keeps the environment or those who answer from being made here.
        """

        def look(worker: Worker) -> None:
            found.append(worker.seat.facts())

        found: list[dict[str, Any]] = []
        for _ in self._done(look):
            pass
        return {**found[0], "host": platform.node(), "pid": getpid()}

    def run(self, orders: tuple[Order, ...]) -> Parcels:
        """Run episodes one after another, and yield what comes of them in parcels.

        Raises:
            Exception: What a worker raises outside of an episode.
        """

        def serve(worker: Worker) -> None:
            with suppress(Interrupted):
                for order in orders:
                    self._meter.refuse_if_stopped()
                    log = EpisodeLog(RelayedLog(order, pieces.put), order.job.key, dict(order.answers))
                    pieces.put(worker.run(order.job, log))

        pieces: SimpleQueue[Piece | _End] = SimpleQueue()
        yield from self._done(serve, pieces)

    def stop(self) -> None:
        """Ask nothing more: episodes end when the answers under way have come."""
        self._meter.stopped.set()

    def close(self) -> None:
        """Let the workers end, and close their environments."""
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join()

    def _done(self, do: Callable[[Worker], None], pieces: "SimpleQueue[Piece | _End] | None" = None) -> Parcels:
        pieces = SimpleQueue() if pieces is None else pieces
        self._waiting.put(_Task(do, pieces.put))
        return _parcels(pieces)

    def _attend(self) -> None:
        """Do tasks: what the thread of one worker does. An environment is made, used and closed in one thread."""
        worker: Worker | None = None
        while (task := self._waiting.get()) is not None:
            try:
                if worker is None:
                    worker = Worker(self._post, self._meter)
                task.do(worker)
                task.end(_End())
            except BaseException as error:  # whatever it is, the process that asked for the work is told
                task.end(_End(error))
        if worker is not None:
            worker.close()


class RelayedLog(Log):
    """The log of one episode whose folder is elsewhere.

    Args:
        order: What is known of the episode.
        hand_over: Takes every piece on its way to the folder.
    """

    def __init__(self, order: Order, hand_over: Callable[[Piece], None]) -> None:
        self._order = order
        self._hand_over = hand_over
        self._kept: dict[str, None] = dict.fromkeys(order.blobs)

    def write(self, lines: bytes) -> None:
        """Hand lines over."""
        self._hand_over(Lines(self._order.job.key, lines))

    def keep(self, place: str, content: Callable[[], bytes]) -> None:
        """Hand content over, once."""
        if place not in self._kept:
            self._hand_over(Content(place, content()))
            self._kept[place] = None  # afterwards: of two threads both hand it over rather than one too late

    def kept(self, place: str) -> bytes:
        """Return content that came with the order."""
        if place not in self._order.blobs:
            raise FileNotFoundError(
                f"expected the file {place} of the run's folder, which did not come with the episode"
            )
        return self._order.blobs[place]


class _End:
    """No more pieces follow, because of an error or without."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Task(NamedTuple):
    """What a worker is to do, and what is told when it has done it."""

    do: Callable[[Worker], None]
    end: Callable[[_End], None]


def _parcels(pieces: "SimpleQueue[Piece | _End]") -> Parcels:
    """Yield pieces as they come, those together that come within a while of the first, to the end."""
    while True:
        parcel: list[Piece] = []
        piece = pieces.get()
        closes = monotonic() + PARCEL_S
        with suppress(Empty):
            while not isinstance(piece, _End):
                parcel.append(piece)
                piece = pieces.get(timeout=max(0.0, closes - monotonic()))
        if parcel:
            yield parcel
        if isinstance(piece, _End):
            if piece.error is not None:
                raise _sendable(piece.error)
            return


def _sendable(error: BaseException) -> BaseException:
    """Return an error itself, or what it says where another process could not read it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # whatever its class does when it is made anew
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
