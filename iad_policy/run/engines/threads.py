"""Runs episodes in threads of this process, so that they wait for language models in parallel."""

from collections.abc import Iterator, Sequence

from iad_policy.errors import Interrupted
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.run.engines.thread_pool import ThreadPool
from iad_policy.run.journal import RunJournal
from iad_policy.run.worker import EpisodeJob, Worker, WorkerSpec
from iad_policy.runtime.event_loop import EventLoop


class Threads:
    """Runs episodes in threads of this process.

    Args:
        spec: Specification of the workers. Each has its own environment.
        journal: Journal that takes their results.
    """

    def __init__(self, spec: WorkerSpec, journal: RunJournal) -> None:
        self._spec = spec
        self._journal = journal
        self._event_loop = EventLoop()

    def work(self, jobs: Sequence[EpisodeJob]) -> Iterator[EpisodeRecord]:
        """Run every job and yield its record."""
        try:
            yield from ThreadPool(self._spec.config.workers, self._serve, self._journal.meter.stopped).work(jobs)
        finally:
            self._event_loop.close()

    def _serve(self, jobs: Iterator[EpisodeJob]) -> Iterator[EpisodeRecord]:
        journal = self._journal
        worker: Worker | None = None
        try:
            for job in jobs:
                with journal.place():
                    journal.refuse_if_over()
                    if worker is None:  # not before it has a place, so that waiting takes no environment
                        worker = Worker(self._spec, journal.meter, self._event_loop)
                    record = worker.run(job, journal.log(job))
                    journal.keep(record)
                yield record
                journal.refuse_if_fatal(record)
        except Interrupted:
            pass
        finally:
            if worker is not None:
                worker.close()
