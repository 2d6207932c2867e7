"""Runs episodes in processes on a Ray cluster, with at most one process per CPU.

Only the main process writes to the run folder. Workers send every answer there at once. If a worker dies, another one
resumes its episode from the recorded answers.
"""

import json
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import gymnasium as gym

from iad_policy.errors import Interrupted
from iad_policy.ledger.answer_log import blobs_named
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.index import Answers, add_line
from iad_policy.run.engines import EngineError
from iad_policy.run.engines.ray_cluster import connected, load_ray
from iad_policy.run.engines.remote_worker import EpisodeRequest, FileContent, LogLines, Message, RemoteWorker
from iad_policy.run.journal import RunJournal, RunStopped
from iad_policy.run.worker import EpisodeJob, WorkerSpec, identified
from iad_policy.types.hashing import dumps

N_LIVES = 3
"""Worker deaths after which an episode is given up, and failed starts in a row after which the run is given up."""


class Ray:
    """Runs episodes on the Ray cluster of `RAY_ADDRESS` or this machine, or else on one that is started for the run.

    Episodes of one task and seed run one after another in the same process, so that they share cached model answers.

    Args:
        spec: Specification of the workers, which is sent to them.
        journal: The journal that takes their results.
    """

    def __init__(self, spec: WorkerSpec, journal: RunJournal) -> None:
        self._spec = spec
        self._journal = journal

    @staticmethod
    def require() -> None:
        """Raise `MissingExtra` if Ray is not installed."""
        load_ray()

    def work(self, jobs: Sequence[EpisodeJob]) -> Iterator[EpisodeRecord]:
        """Run every job and yield its record.

        Raises:
            RunStopped: The journal stopped the run, before an episode or after its record.
            EngineError: There is no cluster, or workers don't start or have other code or data.
        """
        groups = [list(group) for _, group in groupby(jobs, lambda job: (job.task, job.seed))]
        with connected() as n_cpus:
            n_processes = min(self._spec.config.workers, n_cpus, len(groups))
            yield from _Dispatch(self._spec, self._journal, groups, n_processes).records()


class _WorkerHandle:
    """A worker process in the cluster.

    Attributes:
        n_free: Number of groups of episodes that it can take; 0 before it has answered the handshake.
    """

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.handshake = actor.handshake.remote()
        self.n_free = 0


class _Dispatch:
    """Sends groups of episodes to workers, and passes their messages to the journal."""

    def __init__(
        self, spec: WorkerSpec, journal: RunJournal, groups: Sequence[list[EpisodeJob]], n_processes: int
    ) -> None:
        self._ray = load_ray()
        self._spec = spec
        self._journal = journal
        self._waiting = deque(groups)
        self._n_workers = -(-spec.config.workers // n_processes)
        self._known: dict[str, Answers] = {}
        self._written: dict[str, list[bytes]] = {}
        self._deaths: Counter[str] = Counter()
        self._n_failed_starts = 0
        self._error: BaseException | None = None
        self._is_stopping = False
        self._actors = self._ray.remote(num_cpus=1, max_concurrency=self._n_workers + 2)(RemoteWorker)
        self._spec_ref = self._shipped(spec)
        self._env_spec = gym.registry.get(spec.config.env.rpartition(":")[2])
        self._handles = [self._start_worker() for _ in range(n_processes)]
        self._handshakes = {worker.handshake: worker for worker in self._handles}
        self._streams: dict[Any, tuple[_WorkerHandle, deque[EpisodeJob]]] = {}

    def records(self) -> Iterator[EpisodeRecord]:
        """Yield records as they arrive, until all have arrived or the run is stopped."""
        is_interrupted = False
        try:
            while self._streams or (self._waiting and not self._is_stopping):
                self._assign()
                if self._journal.meter.stopped.is_set() and not self._is_stopping:
                    self._stop_workers()
                for message_ref in self._ready():
                    if message_ref in self._handshakes:
                        self._shook_hands(message_ref)
                    elif message_ref in self._streams:  # else its worker died earlier in this round
                        yield from self._taken(message_ref)
        except KeyboardInterrupt:
            is_interrupted = True
            raise
        finally:
            patience_s = 0.0 if is_interrupted else 15.0  # in which workers close their environments
            closing = []
            for worker in self._handles:
                if patience_s and worker.handshake not in self._handshakes:
                    worker.actor.stop.remote()
                    closing.append(worker.actor.close.remote())
            if closing:
                self._ray.wait(closing, num_returns=len(closing), timeout=patience_s)
            for worker in self._handles:
                self._ray.kill(worker.actor)
        if self._error is not None:
            raise self._error

    def _shipped(self, spec: WorkerSpec) -> Any:
        try:
            return self._ray.put(spec)
        except Exception as error:  # pickling a user's agent or environment may raise anything
            raise EngineError(
                f"expected agents, verifiers and environments that can be pickled, got: {error}; name them "
                "(module:object), or create the parts that can't be pickled on first use"
            ) from error

    def _start_worker(self) -> _WorkerHandle:
        return _WorkerHandle(self._actors.remote(self._spec_ref, self._n_workers, self._env_spec))

    def _ready(self) -> Iterable[Any]:
        refs = [*self._handshakes, *self._streams]
        if not refs:
            return ()
        # Whether the run is to stop is looked up every half a second while there are no messages.
        ready, _ = self._ray.wait(refs, num_returns=1, timeout=0.5)
        return self._ray.wait(refs, num_returns=len(refs), timeout=0)[0] if ready else ()

    def _assign(self) -> None:
        while self._waiting and not self._is_stopping:
            worker = max(self._handles, key=lambda one: one.n_free)
            if not worker.n_free:
                return
            try:
                self._journal.refuse_if_over()
            except (RunStopped, Interrupted) as over:
                self._end(None if isinstance(over, Interrupted) else over)
                return
            jobs = self._waiting.popleft()
            worker.n_free -= 1
            stream = worker.actor.run.options(num_returns="streaming").remote(tuple(map(self._request, jobs)))
            self._streams[stream] = worker, deque(jobs)

    def _request(self, job: EpisodeJob) -> EpisodeRequest:
        if job.key not in self._known:
            self._known[job.key] = dict(self._journal.log(job).answers)
        answers, log, blobs = self._known[job.key], self._journal.folder.log, {}
        for lines in self._written.pop(job.key, ()):
            for line in lines.splitlines():
                add_line(answers, json.loads(line))
        for place in blobs_named(answers):
            with suppress(OSError):  # the worker handles a missing blob, as it does in a local run
                blobs[place] = log.kept(place)
        return EpisodeRequest(job, answers, blobs)

    def _shook_hands(self, handshake: Any) -> None:
        worker = self._handshakes.pop(handshake)
        try:
            facts = self._ray.get(handshake)
        except self._ray.exceptions.RayTaskError as error:
            self._end(error.cause)
        except self._ray.exceptions.RayError as error:
            self._handles.remove(worker)
            self._n_failed_starts += 1
            if self._n_failed_starts == N_LIVES:
                self._end(
                    EngineError(
                        f"expected workers that start, got {N_LIVES} that did not: {error}; every machine needs the "
                        "same iad, its extras and the named modules"
                    )
                )
            else:
                self._replace()
        else:
            self._n_failed_starts = 0
            worker.n_free = self._n_workers
            self._refuse_another(json.loads(dumps(facts)))

    def _refuse_another(self, facts: Mapping[str, Any]) -> None:
        """End the run if a machine has other code or other data."""
        recorded = self._journal.folder.config
        for part in ("iad_version", "data", "identity"):
            if not _is_same(recorded[part], facts[part]):
                self._end(
                    EngineError(
                        f"expected the same {part} on every machine, got {json.dumps(facts[part])} on {facts['host']} "
                        f"and {json.dumps(recorded[part])} here; install the same there"
                    )
                )

    def _taken(self, stream: Any) -> Iterator[EpisodeRecord]:
        worker, jobs = self._streams[stream]
        try:
            batch = self._ray.get(next(stream))
        except StopIteration:
            del self._streams[stream]
            worker.n_free += 1
        except self._ray.exceptions.RayTaskError as error:
            del self._streams[stream]
            self._end(error.cause)
        except self._ray.exceptions.RayError:
            yield from self._lost(worker)
        else:
            yield from self._kept(batch, jobs)

    def _kept(self, batch: Sequence[Message], jobs: deque[EpisodeJob]) -> Iterator[EpisodeRecord]:
        """Store a batch. Files come before the lines that refer to them, and an episode's lines before its record."""
        log = self._journal.folder.log
        for message in batch:
            if isinstance(message, FileContent):
                log.keep(message.place, lambda message=message: message.content)  # type: ignore[misc]
        lines = [message for message in batch if isinstance(message, LogLines)]
        if lines:
            log.write(b"".join(message.lines for message in lines))
            for message in lines:
                self._written.setdefault(message.key, []).append(message.lines)
        records = [message for message in batch if isinstance(message, EpisodeRecord)]
        if records:
            self._journal.keep(*records)
        for record in records:
            jobs.popleft()
            yield from self._ended(record)

    def _ended(self, record: EpisodeRecord) -> Iterator[EpisodeRecord]:
        self._known.pop(record.key, None)
        self._written.pop(record.key, None)
        self._journal.meter.charge_all(record.spent_by_role)
        yield record
        try:
            self._journal.refuse_if_fatal(record)
        except RunStopped as stopped:
            self._end(stopped)

    def _lost(self, worker: _WorkerHandle) -> Iterator[EpisodeRecord]:
        """Give the episodes of a dead worker to others. Give up an episode that lost too many workers."""
        self._ray.kill(worker.actor)
        self._handles.remove(worker)
        orphaned = [(stream, jobs) for stream, (its, jobs) in self._streams.items() if its is worker]
        for stream, jobs in orphaned:
            del self._streams[stream]
            self._deaths[jobs[0].key] += 1
            if self._deaths[jobs[0].key] == N_LIVES:
                message = f"expected a worker that lives, got {N_LIVES} whose process died in this episode"
                known = identified(jobs.popleft(), str(self._journal.folder.config["env"]))
                record = EpisodeRecord(**known, stop_reason="error", error_kind="worker", error=message)
                self._journal.keep(record)
                yield from self._ended(record)
            if jobs:
                self._waiting.appendleft(list(jobs))
        self._replace()

    def _replace(self) -> None:
        if not self._is_stopping:
            worker = self._start_worker()
            self._handles.append(worker)
            self._handshakes[worker.handshake] = worker

    def _end(self, error: BaseException | None) -> None:
        """Stop the run. Running episodes end when their pending answers have arrived."""
        if self._error is None:
            self._error = error
        self._journal.meter.stopped.set()
        self._stop_workers()

    def _stop_workers(self) -> None:
        self._is_stopping = True
        for worker in self._handles:
            worker.actor.stop.remote()


def _is_same(here: Any, there: Any) -> bool:
    """Say whether identities agree. One without a source digest agrees with any digest: its source can't be read."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        return here.keys() == there.keys() and all(_is_same(here[name], there[name]) for name in here)
    if isinstance(here, str) and isinstance(there, str):
        return here == there or here.startswith(f"{there} ")
    return bool(here == there)
