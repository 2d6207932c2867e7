"""Processes on a Ray cluster: one process for each of its CPUs, as far as workers are asked for.

The run's folder stays with the process that was started: workers send every answer there as it comes. An episode whose
worker dies goes on in another one with what was recorded of it.
"""

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import gymnasium as gym

from iad_policy.errors import Interrupted
from iad_policy.evaluation.engines import EngineError
from iad_policy.evaluation.engines.ray_cluster import connected, load_ray
from iad_policy.evaluation.engines.remote_worker import Content, Lines, Order, Piece, Station
from iad_policy.evaluation.journal import Desk, RunStopped
from iad_policy.evaluation.worker import Job, Post, identified
from iad_policy.hashing import dumps
from iad_policy.recording.answer_log import blobs_named
from iad_policy.recording.episode_record import EpisodeRecord
from iad_policy.recording.index import Answers, take_in

N_LIVES = 3
"""Workers that an episode may lose before it is given up, and workers that may fail to start one after another."""
LOOK_UP_S = 0.5
"""How often it is looked whether the run was told to stop while nothing is heard."""
FAREWELL_S = 15.0
"""How long workers may take to close their environments."""
COMPARED = ("iad_version", "data", "identity")


class Ray:
    """Runs episodes on the Ray cluster that `RAY_ADDRESS` or this machine has, else on one started here for the run.

    Episodes of one task and seed run one after another in the same process, so that they share cached model answers.

    Args:
        post: What the workers do; it is sent to them.
        desk: Where their work is handed in.
    """

    def __init__(self, post: Post, desk: Desk) -> None:
        self._post = post
        self._desk = desk

    @staticmethod
    def require() -> None:
        """Raise `MissingExtra` where Ray is not installed."""
        load_ray()

    def work(self, jobs: Sequence[Job]) -> Iterator[EpisodeRecord]:
        """Run every job, and yield its record.

        Raises:
            RunStopped: What the desk says of a record, or before an episode.
            EngineError: No cluster; or workers that don't start, or have other code or data.
        """
        groups = [list(group) for _, group in groupby(jobs, lambda job: (job.task, job.seed))]
        with connected() as n_cpus:
            n_processes = min(self._post.config.workers, n_cpus, len(groups))
            yield from _Dispatch(self._post, self._desk, groups, n_processes).records()


class _Hired:
    """A station somewhere in the cluster.

    Attributes:
        n_free: How many groups of episodes it can take on; none before it has greeted.
    """

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.greeting = actor.greet.remote()
        self.n_free = 0


class _Dispatch:
    """Hands groups of episodes to stations, and what they write to the desk."""

    def __init__(self, post: Post, desk: Desk, groups: Sequence[list[Job]], n_processes: int) -> None:
        self._ray = load_ray()
        self._post = post
        self._desk = desk
        self._waiting = deque(groups)
        self._n_workers = -(-post.config.workers // n_processes)
        self._known: dict[str, Answers] = {}
        self._heard: dict[str, list[bytes]] = {}
        self._deaths: Counter[str] = Counter()
        self._n_failed_starts = 0
        self._error: BaseException | None = None
        self._is_told = False
        self._actors = self._ray.remote(num_cpus=1, max_concurrency=self._n_workers + 2)(Station)
        self._sent = self._shipped(post)
        self._spec = gym.registry.get(post.config.env.rpartition(":")[2])
        self._stations = [self._hire() for _ in range(n_processes)]
        self._greetings = {station.greeting: station for station in self._stations}
        self._streams: dict[Any, tuple[_Hired, deque[Job]]] = {}

    def records(self) -> Iterator[EpisodeRecord]:
        """Yield records as they come, until all have or the run is over."""
        is_hurried = False
        try:
            while self._streams or (self._waiting and not self._is_told):
                self._assign()
                if self._desk.meter.stopped.is_set() and not self._is_told:
                    self._tell_to_stop()
                for heard in self._ready():
                    if heard in self._greetings:
                        self._greeted(heard)
                    elif heard in self._streams:  # another one of this round may have shown that its worker is dead
                        yield from self._taken(heard)
        except KeyboardInterrupt:
            is_hurried = True
            raise
        finally:
            self._dismiss(0.0 if is_hurried else FAREWELL_S)
        if self._error is not None:
            raise self._error

    def _shipped(self, post: Post) -> Any:
        try:
            return self._ray.put(post)
        except Exception as error:  # whatever somebody's own agent or environment raises when it is packed
            raise EngineError(
                f"expected agents, verifiers and environments that can be sent to other processes, got: {error}; name "
                "them (module:object), or make what can't be sent when it is first used"
            ) from error

    def _hire(self) -> _Hired:
        return _Hired(self._actors.remote(self._sent, self._n_workers, self._spec))

    def _ready(self) -> Iterable[Any]:
        refs = [*self._greetings, *self._streams]
        if not refs:
            return ()
        ready, _ = self._ray.wait(refs, num_returns=1, timeout=LOOK_UP_S)
        return self._ray.wait(refs, num_returns=len(refs), timeout=0)[0] if ready else ()

    def _assign(self) -> None:
        while self._waiting and not self._is_told:
            station = max(self._stations, key=lambda one: one.n_free)
            if not station.n_free:
                return
            try:
                self._desk.refuse_if_over()
            except (RunStopped, Interrupted) as over:
                self._end(None if isinstance(over, Interrupted) else over)
                return
            jobs = self._waiting.popleft()
            station.n_free -= 1
            stream = station.actor.run.options(num_returns="streaming").remote(tuple(map(self._order, jobs)))
            self._streams[stream] = station, deque(jobs)

    def _order(self, job: Job) -> Order:
        if job.key not in self._known:
            self._known[job.key] = dict(self._desk.log(job).answers)
        answers, log, blobs = self._known[job.key], self._desk.folder.log, {}
        for lines in self._heard.pop(job.key, ()):
            for line in lines.splitlines():
                take_in(answers, json.loads(line))
        for place in blobs_named(answers):
            with suppress(OSError):  # the worker meets that it is gone, as it does with a folder of its own
                blobs[place] = log.kept(place)
        return Order(job, answers, blobs)

    def _greeted(self, greeting: Any) -> None:
        station = self._greetings.pop(greeting)
        try:
            facts = self._ray.get(greeting)
        except self._ray.exceptions.RayTaskError as error:
            self._end(error.cause)
        except self._ray.exceptions.RayError as error:
            self._stations.remove(station)
            self._n_failed_starts += 1
            if self._n_failed_starts == N_LIVES:
                self._end(
                    EngineError(
                        f"expected workers that start, got {N_LIVES} that did not: {error}; every machine needs the "
                        "same iad, its extras and the modules that are named"
                    )
                )
            else:
                self._replace()
        else:
            self._n_failed_starts = 0
            station.n_free = self._n_workers
            self._refuse_another(json.loads(dumps(facts)))

    def _refuse_another(self, facts: Mapping[str, Any]) -> None:
        """End the run where a machine has other code or other data."""
        recorded = self._desk.folder.config
        for part in COMPARED:
            if not _is_same(recorded[part], facts[part]):
                self._end(
                    EngineError(
                        f"expected the same {part} on every machine, got {json.dumps(facts[part])} on {facts['host']} "
                        f"and {json.dumps(recorded[part])} here; install the same there"
                    )
                )

    def _taken(self, stream: Any) -> Iterator[EpisodeRecord]:
        station, jobs = self._streams[stream]
        try:
            parcel = self._ray.get(next(stream))
        except StopIteration:
            del self._streams[stream]
            station.n_free += 1
        except self._ray.exceptions.RayTaskError as error:
            del self._streams[stream]
            self._end(error.cause)
        except self._ray.exceptions.RayError:
            yield from self._lost(station)
        else:
            yield from self._kept(parcel, jobs)

    def _kept(self, parcel: Sequence[Piece], jobs: deque[Job]) -> Iterator[EpisodeRecord]:
        """Keep a parcel: files before the lines that name them, an episode's lines before its record."""
        log = self._desk.folder.log
        for piece in parcel:
            if isinstance(piece, Content):
                log.keep(piece.place, lambda piece=piece: piece.content)  # type: ignore[misc]
        lines = [piece for piece in parcel if isinstance(piece, Lines)]
        if lines:
            log.write(b"".join(piece.lines for piece in lines))
            for piece in lines:
                self._heard.setdefault(piece.key, []).append(piece.lines)
        records = [piece for piece in parcel if isinstance(piece, EpisodeRecord)]
        if records:
            self._desk.keep(*records)
        for record in records:
            jobs.popleft()
            yield from self._ended(record)

    def _ended(self, record: EpisodeRecord) -> Iterator[EpisodeRecord]:
        self._known.pop(record.key, None)
        self._heard.pop(record.key, None)
        for role, usage in record.spent_by_role.items():
            self._desk.meter.charge(role, usage)
        yield record
        try:
            self._desk.refuse_if_hopeless(record)
        except RunStopped as stopped:
            self._end(stopped)

    def _lost(self, station: _Hired) -> Iterator[EpisodeRecord]:
        """Give the episodes of a dead worker to others, and up where they have cost too many."""
        self._ray.kill(station.actor)
        self._stations.remove(station)
        orphaned = [(stream, jobs) for stream, (its, jobs) in self._streams.items() if its is station]
        for stream, jobs in orphaned:
            del self._streams[stream]
            self._deaths[jobs[0].key] += 1
            if self._deaths[jobs[0].key] == N_LIVES:
                record = self._given_up(jobs.popleft())
                self._desk.keep(record)
                yield from self._ended(record)
            if jobs:
                self._waiting.appendleft(list(jobs))
        self._replace()

    def _given_up(self, job: Job) -> EpisodeRecord:
        said = f"expected a worker that lives, got {N_LIVES} whose process died in this episode"
        known = identified(job, self._post.config, str(self._desk.folder.config["env"]))
        return EpisodeRecord(**known, stop_reason="error", error_kind="worker", error=said)

    def _replace(self) -> None:
        if not self._is_told:
            station = self._hire()
            self._stations.append(station)
            self._greetings[station.greeting] = station

    def _end(self, error: BaseException | None) -> None:
        """Let the run come to an end: episodes under way stop when the answers under way have come."""
        if self._error is None:
            self._error = error
        self._desk.meter.stopped.set()
        self._tell_to_stop()

    def _tell_to_stop(self) -> None:
        self._is_told = True
        for station in self._stations:
            station.actor.stop.remote()

    def _dismiss(self, patience_s: float) -> None:
        farewells = []
        for station in self._stations:
            if patience_s and station.greeting not in self._greetings:
                station.actor.stop.remote()
                farewells.append(station.actor.close.remote())
        if farewells:
            self._ray.wait(farewells, num_returns=len(farewells), timeout=patience_s)
        for station in self._stations:
            self._ray.kill(station.actor)


def _is_same(here: Any, there: Any) -> bool:
    """Say whether names agree; one without a digest of its source, which is not there to be read, agrees with any."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        return here.keys() == there.keys() and all(_is_same(here[name], there[name]) for name in here)
    if isinstance(here, str) and isinstance(there, str):
        return here == there or here.startswith(f"{there} ")
    return bool(here == there)
