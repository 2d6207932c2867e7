"""What runs the episodes of a run side by side. To add an engine: its file, and a line in `ENGINES`.

Whatever the engine, the run's folder is the same and so are the episodes in it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from iad_policy.errors import IADError
from iad_policy.evaluation.config import THREADS
from iad_policy.evaluation.journal import RunJournal
from iad_policy.evaluation.worker import EpisodeJob, WorkerSpec
from iad_policy.recording.episode_record import EpisodeRecord
from iad_policy.registry import load_object, load_own

ENGINES: Mapping[str, str] = {
    THREADS: "iad_policy.evaluation.engines.threads:Threads",
    "ray": "iad_policy.evaluation.engines.ray:Ray",
}
"""Name -> "module:class"; a class is called with the post that workers fill and the journal that they work for."""


class EngineError(IADError):
    """An engine can't run episodes, or not these."""


class Engine(Protocol):
    """Runs episodes side by side."""

    def work(self, jobs: Sequence[EpisodeJob]) -> Iterator[EpisodeRecord]:
        """Run every job, hand its record in at the journal, and yield it.

        It ends early, without an error, where the journal's meter was told to stop.

        Raises:
            RunStopped: What the journal says of a record, or before an episode.
            EngineError: Workers can't do these episodes.
        """
        ...


MakeEngine: TypeAlias = Callable[[WorkerSpec, RunJournal], Engine]


def load_engine(name: str) -> MakeEngine:
    """Return what makes an engine.

    Raises:
        UnknownName: No such engine.
        MissingExtra: Its package is not installed.
    """
    made: MakeEngine = load_object(ENGINES[name]) if name in ENGINES else load_own("engine", name, ENGINES)
    require = getattr(made, "require", None)
    if require is not None:
        require()
    return made
