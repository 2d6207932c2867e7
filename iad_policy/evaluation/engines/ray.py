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
from iad_policy.evaluation.engines.remote_worker import EpisodeRequest, FileContent, LogLines, Message, RemoteWorker
from iad_policy.evaluation.journal import RunJournal, RunStopped
from iad_policy.evaluation.worker import EpisodeJob, WorkerSpec, identified
from iad_policy.hashing import dumps
from iad_policy.recording.answer_log import blobs_named
from iad_policy.recording.episode_record import EpisodeRecord
from iad_policy.recording.index import Answers, add_line

N_LIVES = 3
"""Workers that an episode may lose before it is given up, and workers that may fail to start one after another."""
LOOK_UP_S = 0.5
"""How often it is looked whether the run was told to stop while nothing is message_ref."""
SHUTDOWN_S = 15.0
"""How long workers may take to close their environments."""
COMPARED = ("iad_version", "data", "identity")


class Ray:
    """Runs episodes on the Ray cluster that `RAY_ADDRESS` or this machine has, else on one started here for the run.

    Episodes of one task and seed run one after another in the same process, so that they share cached model answers.

    Args:
        spec: What the workers do; it is sent to them.
        journal: Where their work is handed in.
    """

    def __init__(self, spec: WorkerSpec, journal: RunJournal) -> None:
        self._spec = spec
        self._journal = journal

    @staticmethod
    def require() -> None:
        """Raise `MissingExtra` where Ray is not installed."""
        load_ray()

    def work(self, jobs: Sequence[EpisodeJob]) -> Iterator[EpisodeRecord]:
        """Run every job, and yield its record.

        Raises:
            RunStopped: What the journal says of a record, or before an episode.
            EngineError: No cluster; or workers that don't start, or have other code or data.
        """
        groups = [list(group) for _, group in groupby(jobs, lambda job: (job.task, job.seed))]
        with connected() as n_cpus:
            n_processes = min(self._spec.config.workers, n_cpus, len(groups))
            yield from _Dispatch(self._spec, self._journal, groups, n_processes).records()


class _WorkerHandle:
    """A worker somewhere in the cluster.

    Attributes:
        n_free: How many groups of episodes it can take on; none before it answered the handshake.
    """

    def __init__(self, actor: Any) -> None:
        self.actor = actor
        self.handshake = actor.handshake.remote()
        self.n_free = 0


class _Dispatch:
    """Hands groups of episodes to workers, and what they write to the journal."""

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
        """Yield records as they come, until all have or the run is over."""
        is_hurried = False
        try:
            while self._streams or (self._waiting and not self._is_stopping):
                self._assign()
                if self._journal.meter.stopped.is_set() and not self._is_stopping:
                    self._tell_to_stop()
                for message_ref in self._ready():
                    if message_ref in self._handshakes:
                        self._shook_hands(message_ref)
                    elif message_ref in self._streams:  # an earlier one of this round may have shown its worker dead
                        yield from self._taken(message_ref)
        except KeyboardInterrupt:
            is_hurried = True
            raise
        finally:
            self._shut_down(0.0 if is_hurried else SHUTDOWN_S)
        if self._error is not None:
            raise self._error

    def _shipped(self, spec: WorkerSpec) -> Any:
        try:
            return self._ray.put(spec)
        except Exception as error:  # whatever somebody's own agent or environment raises when it is packed
            raise EngineError(
                f"expected agents, verifiers and environments that can be sent to other processes, got: {error}; name "
                "them (module:object), or make what can't be sent when it is first used"
            ) from error

    def _start_worker(self) -> _WorkerHandle:
        return _WorkerHandle(self._actors.remote(self._spec_ref, self._n_workers, self._env_spec))

    def _ready(self) -> Iterable[Any]:
        refs = [*self._handshakes, *self._streams]
        if not refs:
            return ()
        ready, _ = self._ray.wait(refs, num_returns=1, timeout=LOOK_UP_S)
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
            with suppress(OSError):  # the worker meets that it is gone, as it does with a folder of its own
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
                        "same iad, its extras and the modules that are named"
                    )
                )
            else:
                self._replace()
        else:
            self._n_failed_starts = 0
            worker.n_free = self._n_workers
            self._refuse_another(json.loads(dumps(facts)))

    def _refuse_another(self, facts: Mapping[str, Any]) -> None:
        """End the run where a machine has other code or other data."""
        recorded = self._journal.folder.config
        for part in COMPARED:
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
        """Keep a batch: files before the lines that name them, an episode's lines before its record."""
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
        for role, usage in record.spent_by_role.items():
            self._journal.meter.charge(role, usage)
        yield record
        try:
            self._journal.refuse_if_hopeless(record)
        except RunStopped as stopped:
            self._end(stopped)

    def _lost(self, worker: _WorkerHandle) -> Iterator[EpisodeRecord]:
        """Give the episodes of a dead worker to others, and up where they have cost too many."""
        self._ray.kill(worker.actor)
        self._handles.remove(worker)
        orphaned = [(stream, jobs) for stream, (its, jobs) in self._streams.items() if its is worker]
        for stream, jobs in orphaned:
            del self._streams[stream]
            self._deaths[jobs[0].key] += 1
            if self._deaths[jobs[0].key] == N_LIVES:
                record = self._given_up(jobs.popleft())
                self._journal.keep(record)
                yield from self._ended(record)
            if jobs:
                self._waiting.appendleft(list(jobs))
        self._replace()

    def _given_up(self, job: EpisodeJob) -> EpisodeRecord:
        said = f"expected a worker that lives, got {N_LIVES} whose process died in this episode"
        known = identified(job, self._spec.config, str(self._journal.folder.config["env"]))
        return EpisodeRecord(**known, stop_reason="error", error_kind="worker", error=said)

    def _replace(self) -> None:
        if not self._is_stopping:
            worker = self._start_worker()
            self._handles.append(worker)
            self._handshakes[worker.handshake] = worker

    def _end(self, error: BaseException | None) -> None:
        """Let the run come to an end: episodes under way stop when the answers under way have come."""
        if self._error is None:
            self._error = error
        self._journal.meter.stopped.set()
        self._tell_to_stop()

    def _tell_to_stop(self) -> None:
        self._is_stopping = True
        for worker in self._handles:
            worker.actor.stop.remote()

    def _shut_down(self, patience_s: float) -> None:
        closing = []
        for worker in self._handles:
            if patience_s and worker.handshake not in self._handshakes:
                worker.actor.stop.remote()
                closing.append(worker.actor.close.remote())
        if closing:
            self._ray.wait(closing, num_returns=len(closing), timeout=patience_s)
        for worker in self._handles:
            self._ray.kill(worker.actor)


def _is_same(here: Any, there: Any) -> bool:
    """Say whether names agree; one without a digest of its source, which is not there to be read, agrees with any."""
    if isinstance(here, Mapping) and isinstance(there, Mapping):
        return here.keys() == there.keys() and all(_is_same(here[name], there[name]) for name in here)
    if isinstance(here, str) and isinstance(there, str):
        return here == there or here.startswith(f"{there} ")
    return bool(here == there)
