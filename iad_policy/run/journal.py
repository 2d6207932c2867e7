"""Gives workers recorded answers, stores their results in the run folder, and decides when a run must stop."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from itertools import takewhile
from threading import Lock

from iad_policy.budget import Meter
from iad_policy.errors import BudgetExhausted, IADError
from iad_policy.ledger.answer_log import EpisodeLog
from iad_policy.ledger.episode_record import NOT_RECORDED, EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.run.worker import EpisodeJob

N_TASKS = 3
"""Number of tasks in a row with equal crashes after which a run stops. One task may crash with every strategy, and one
strategy on every task."""
N_FAILURES = 10
"""Number of failed episodes in a row, of as many tasks, or of first verdicts, all missing, after which it does."""


class RunStopped(IADError):
    """The run can't continue. Finished work is kept, and the same command resumes the run later.

    Attributes:
        is_failure: Whether a failure stopped the run; False if its budget is spent.
    """

    def __init__(self, message: str, *, is_failure: bool) -> None:
        super().__init__(message)
        self.is_failure = is_failure


class RunJournal:
    """Gives an engine the logs of episodes, and stores their records.

    Args:
        folder: The run folder.
        meter: Meter of the run.
        place: Makes the context in which an episode runs, which may wait for the workers of other runs.
        keeps_going: Whether the run goes on where every episode fails alike.
    """

    def __init__(
        self,
        folder: RunFolder,
        meter: Meter,
        place: Callable[[], AbstractContextManager[None]] = nullcontext,
        *,
        keeps_going: bool = False,
    ) -> None:
        self.folder = folder
        self.meter = meter
        self.place = place
        self._keeps_going = keeps_going
        self._lock = Lock()
        self._failed: list[EpisodeRecord] = []  # of each arm, the episodes since the last one that did not fail
        self._n_verdicts = 0
        self._n_failed_verdicts = 0

    def log(self, job: EpisodeJob) -> EpisodeLog:
        """Return the log of an episode that starts now, with its recorded answers."""
        kept, log = self.folder.episodes.get(job.key), self.folder.log.episode(job.key)
        # The log of an episode that the run's budget ended has the cuts. With more budget it is decided again.
        if kept is not None and not kept.error_kind:
            log.drop()
        return log

    def refuse_if_over(self) -> None:
        """Check before an episode that the run may continue.

        Raises:
            Interrupted: The run was asked to stop.
            RunStopped: The run's budget is spent.
        """
        self.meter.refuse_if_stopped()
        try:
            self.meter.refuse_if_spent("agent")
        except BudgetExhausted as spent:
            raise _spent(spent.axis) from None

    def keep(self, *records: EpisodeRecord) -> None:
        """Record finished episodes. They are on disk when this returns."""
        self.folder.add(*records)

    def refuse_if_fatal(self, record: EpisodeRecord) -> None:
        """Stop the run after an episode that shows that no other episode can run.

        Raises:
            RunStopped: The run's budget ended the episode, its error is fatal, or all episodes so far fail alike.
        """
        if record.cut.startswith("run."):
            raise _spent(record.cut)
        is_first = not self.meter.total.completion_tokens and record.n_steps == 0
        # Every later episode would have errors of these kinds, too; and those of others if the very first call fails,
        # for example because there is no server.
        fatal = ("auth", "not_found", "contract", *(("other", "malformed", "connection") if is_first else ()))
        if record.error_kind in fatal:
            raise RunStopped(" ".join(record.error.split()), is_failure=True)
        with self._lock:
            reason = self._why_all_fail(record)
        if reason and not self._keeps_going:
            raise RunStopped(f"{reason}; mend it, or run the others all the same (--keep-going)", is_failure=True)

    def _why_all_fail(self, record: EpisodeRecord) -> str:
        """Count an episode. Return why the others will fail, too, if the newest ones did; else ""."""
        if record.error_kind in ("", NOT_RECORDED):
            self._failed = [one for one in self._failed if one.arm != record.arm]
            return self._why_no_verdicts(record)
        self._failed = [*self._failed[-99:], record]
        last = " ".join(record.error.split())
        alike = list(takewhile(lambda one: one.error == record.error, reversed(self._failed)))
        if record.error_kind == "crash" and len({one.task_id for one in alike}) >= N_TASKS:
            return f"the last {len(alike)} episodes crashed alike: {last}"
        if len(self._failed) >= N_FAILURES and len({one.task_id for one in self._failed}) >= N_TASKS:
            return f"the last {len(self._failed)} episodes failed, the last one with {last}"
        return self._why_no_verdicts(record)

    def _why_no_verdicts(self, record: EpisodeRecord) -> str:
        """Count an episode's verdicts. Return what the first ones lack if all are missing; else ""."""
        self._n_verdicts += round(sum(one.get("verifications", 0) for one in record.usage.values()))
        self._n_failed_verdicts += record.n_failed_verdicts
        if self._n_verdicts >= N_FAILURES and self._n_failed_verdicts >= self._n_verdicts:
            return (
                f"all of the first {self._n_verdicts} verdicts are missing: {' '.join(record.failed_verdict.split())}"
            )
        return ""


def _spent(limit: str) -> RunStopped:
    return RunStopped(f"the budget {limit} is spent; raise it and repeat the command to continue", is_failure=False)
