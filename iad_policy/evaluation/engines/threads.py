"""Threads of this process: what waits for a language model, waits side by side."""

from collections.abc import Iterator, Sequence

from iad_policy.errors import Interrupted
from iad_policy.evaluation.engines.thread_pool import Crew
from iad_policy.evaluation.journal import Desk
from iad_policy.evaluation.worker import Job, Post, Worker
from iad_policy.recording.episode_record import EpisodeRecord


class Threads:
    """Runs episodes in threads of this process.

    Args:
        post: What the workers do; each has an environment of its own.
        desk: Where they hand it in.
    """

    def __init__(self, post: Post, desk: Desk) -> None:
        self._post = post
        self._desk = desk

    def work(self, jobs: Sequence[Job]) -> Iterator[EpisodeRecord]:
        """Run every job, and yield its record."""
        yield from Crew(self._post.config.workers, self._serve, self._desk.meter.stopped).work(jobs)

    def _serve(self, jobs: Iterator[Job]) -> Iterator[EpisodeRecord]:
        desk = self._desk
        worker = Worker(self._post, desk.meter)
        try:
            for job in jobs:
                desk.refuse_if_over()
                record = worker.run(job, desk.log(job))
                desk.keep(record)
                yield record
                desk.refuse_if_hopeless(record)
        except Interrupted:
            pass
        finally:
            worker.close()
