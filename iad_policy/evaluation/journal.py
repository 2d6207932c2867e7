"""Where workers get what was recorded, and hand in what they did: the run's folder, and when the run is over."""

from iad_policy.budget import Meter
from iad_policy.errors import BudgetExhausted, IADError
from iad_policy.evaluation.worker import EpisodeJob
from iad_policy.recording.answer_log import EpisodeLog
from iad_policy.recording.episode_record import EpisodeRecord
from iad_policy.recording.run_folder import RunFolder

HOPELESS = ("auth", "not_found", "contract")
"""Kinds of errors that every further episode would meet."""
HOPELESS_AT_FIRST = (*HOPELESS, "other", "malformed", "connection")
"""Kinds that every further call will meet where not even the first one was answered: no such model, no server."""


class RunStopped(IADError):
    """The run can't go on, but what was done is kept and the same command goes on later.

    Attributes:
        is_failure: False when it was the run's budget.
    """

    def __init__(self, message: str, *, is_failure: bool) -> None:
        super().__init__(message)
        self.is_failure = is_failure


class RunJournal:
    """Gives logs out and takes records in, for an engine.

    Args:
        folder: The run's folder.
        meter: Of the run.
    """

    def __init__(self, folder: RunFolder, meter: Meter) -> None:
        self.folder = folder
        self.meter = meter

    def log(self, job: EpisodeJob) -> EpisodeLog:
        """Return the log of an episode that is begun now, with what was recorded of it."""
        kept, log = self.folder.episodes.get(job.key), self.folder.log.episode(job.key)
        # What the run's budget cut has the cuts in its log: with more budget it is decided anew.
        if kept is not None and not kept.error_kind:
            log.drop()
        return log

    def refuse_if_over(self) -> None:
        """Refuse to begin an episode where the run was told to stop or has nothing left to spend.

        Raises:
            Interrupted: It was told to stop.
            RunStopped: Its budget is spent.
        """
        self.meter.refuse_if_stopped()
        try:
            self.meter.refuse_if_spent("agent")
        except BudgetExhausted as spent:
            raise _spent(spent.axis) from None

    def keep(self, *records: EpisodeRecord) -> None:
        """Keep episodes; they are on disk when this returns."""
        self.folder.add(*records)

    def refuse_if_hopeless(self, record: EpisodeRecord) -> None:
        """Stop the run after an episode that tells that no other can be run.

        Raises:
            RunStopped: The run's budget ended it, or the model can't be asked at all.
        """
        if record.cut.startswith("run."):
            raise _spent(record.cut)
        is_first = not self.meter.total.completion_tokens and record.n_steps == 0
        if record.error_kind in (HOPELESS_AT_FIRST if is_first else HOPELESS):
            raise RunStopped(" ".join(record.error.split()), is_failure=True)


def _spent(limit: str) -> RunStopped:
    return RunStopped(f"the budget {limit} is spent; raise it and give the same command to go on", is_failure=False)
