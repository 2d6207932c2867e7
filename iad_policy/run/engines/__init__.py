"""Provides the engines, which run the episodes of a run in parallel.

To add an engine, add its file and a line in `ENGINES`. The run folder and the episodes in it are the same with every
engine.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol, TypeAlias

from iad_policy.errors import IADError
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.registry import load_object, load_own
from iad_policy.run.config import THREADS
from iad_policy.run.journal import RunJournal
from iad_policy.run.worker import EpisodeJob, WorkerSpec

ENGINES: Mapping[str, str] = {
    THREADS: "iad_policy.run.engines.threads:Threads",
    "ray": "iad_policy.run.engines.ray:Ray",
}
"""The "module:class" of each engine, by name. The class is called with a `WorkerSpec` and a `RunJournal`."""


class EngineError(IADError):
    """An engine can't run these episodes."""


class Engine(Protocol):
    """Runs episodes in parallel."""

    def work(self, jobs: Sequence[EpisodeJob]) -> Iterator[EpisodeRecord]:
        """Run every job, pass its record to the journal, and yield it.

        It ends early, without an error, if the journal's meter was asked to stop.

        Raises:
            RunStopped: The journal stopped the run, before an episode or after its record.
            EngineError: Workers can't run these episodes.
        """
        ...


MakeEngine: TypeAlias = Callable[[WorkerSpec, RunJournal], Engine]


def load_engine(name: str) -> MakeEngine:
    """Return the class or function that makes an engine.

    Raises:
        UnknownName: There is no such engine.
        MissingExtra: The engine's package is not installed.
    """
    made: MakeEngine = load_object(ENGINES[name]) if name in ENGINES else load_own("engine", name, ENGINES)
    require = getattr(made, "require", None)
    if require is not None:
        require()
    return made
