"""Trackers of experiments that hear of a run as it goes on. To add one: its file, and a line in `TRACKERS`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from iad_policy.errors import IADError, MissingExtra, UnknownName
from iad_policy.evaluation.config import RunConfig
from iad_policy.recording.episode_record import EpisodeRecord
from iad_policy.registry import load_object

TRACKERS: Mapping[str, str] = {
    "mlflow": "iad_policy.evaluation.trackers.mlflow:MLflowTracker",
    "tensorboard": "iad_policy.evaluation.trackers.tensorboard:TensorBoardTracker",
    "wandb": "iad_policy.evaluation.trackers.wandb:WandbTracker",
}
"""Name -> "module:factory"; a factory is called with the run's folder and with what its `config.json` holds."""
PROJECT = "iad"
"""What runs are filed under where the tracker's own settings don't say."""


class TrackerError(IADError):
    """A tracker can't begin, so that the run would not be tracked."""


class Tracker(Protocol):
    """Hears of a run: each finished episode, those that the folder had already included, and the end.

    Each time the command is given it is a run of its own to the tracker, with all its episodes.
    """

    def on_episode(self, record: EpisodeRecord, means: Mapping[str, float], n_episodes: int) -> None:
        """Take in an episode.

        Args:
            record: It.
            means: `<row>/<metric>` -> mean over the row's scored episodes so far, for the row it belongs to.
            n_episodes: How many the row has so far: the step of a curve.
        """
        ...

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        """Take in what `summary.json` holds; nothing follows but `close`."""
        ...

    def close(self) -> None:
        """Send what was not sent yet, and end."""
        ...


MakeTracker = Callable[[Path, Mapping[str, Any]], Tracker]


def load_tracker(tracker: str | MakeTracker) -> MakeTracker:
    """Return what makes a tracker.

    Args:
        tracker: A name, or such a thing itself.

    Raises:
        UnknownName: No such name.
    """
    if callable(tracker):
        return tracker
    if tracker not in TRACKERS:
        raise UnknownName("tracker", tracker, TRACKERS)
    made: MakeTracker = load_object(TRACKERS[tracker])
    return made


def tracker_names(listed: str) -> tuple[str, ...]:
    """Return the names of a list with commas.

    Raises:
        UnknownName: One that is none.
    """
    names = tuple(name.strip() for name in listed.split(",") if name.strip())
    for name in names:
        load_tracker(name)
    return names


class Tracking:
    """Tells trackers of a run. One that fails is told nothing more: it must not cost the answers that were paid for.

    Args:
        trackers: Names, or what makes them.
        folder: The run's folder.
        config: What is run.
        recorded: What `config.json` holds.
        warn: Told in a sentence of a tracker that failed.

    Raises:
        UnknownName: No such tracker.
        MissingExtra: Its package is not installed.
        TrackerError: It can't begin: no server answers, say.
    """

    def __init__(
        self,
        trackers: Sequence[str | MakeTracker],
        folder: Path,
        config: RunConfig,
        *,
        recorded: Mapping[str, Any],
        warn: Callable[[str], Any],
    ) -> None:
        makers = [load_tracker(one) for one in trackers]
        self._warn = warn
        self._labels = {arm: config.label(arm) for arm in config.arms}
        self._sums: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        self._counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._trackers: list[Tracker] = []
        try:
            for make in makers:
                self._trackers.append(make(folder, recorded))
        except MissingExtra:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise TrackerError(
                f"expected the trackers {', '.join(map(str, trackers))} to begin, got {type(error).__name__}: "
                f"{error!s:.300}; set them up, or leave them out"
            ) from error

    def on_episode(self, record: EpisodeRecord) -> None:
        """Tell of a finished episode."""
        if not self._trackers:
            return
        label = self._labels[record.arm]
        sums, counts = self._sums[label], self._counts[label]
        counts[""] += 1
        sums["n_errored"] += not record.is_scored
        for name, value in figures_of(record):
            sums[name] += value
            counts[name] += 1
        means = {f"{label}/{name}": total / counts.get(name, 1) for name, total in sums.items()}
        self._tell(lambda tracker: tracker.on_episode(record, means, counts[""]))

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        """Tell of the end."""
        self._tell(lambda tracker: tracker.on_summary(summary))

    def close(self) -> None:
        """End all; closing twice is harmless."""
        self._tell(lambda tracker: tracker.close())
        self._trackers.clear()

    def __enter__(self) -> "Tracking":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _tell(self, told: Callable[[Tracker], None]) -> None:
        for tracker in list(self._trackers):
            try:
                told(tracker)
            except Exception as error:  # theirs: a server that is gone, a full disk
                self._trackers.remove(tracker)
                self._warn(
                    f"{type(tracker).__name__} failed and is told nothing more; the run goes on: "
                    f"{type(error).__name__}: {error!s:.200}"
                )


def figures_of(record: EpisodeRecord) -> Iterator[tuple[str, float]]:
    """Yield what is averaged of an episode; of one that failed only what it cost."""
    spent = record.spent
    yield from (("proposals", spent.proposals), ("tokens", spent.tokens), ("usd", spent.usd), ("wall_s", record.wall_s))
    if not record.is_scored:
        return
    yield from (("reward", record.reward), ("n_steps", record.n_steps))
    for name, value in (("success", record.success), ("progress", record.progress)):
        if value is not None:
            yield name, value


def final_figures(summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield every number of a summary's table and of its differences, as `summary/<row>/<figure>`."""
    for part, prefix in (("strategies", "summary"), ("differences", "difference")):
        for label, figures in summary.get(part, {}).items():
            for name, value in figures.items():
                if isinstance(value, int | float):
                    yield f"{prefix}/{label}/{name}", float(value)


def flat(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield every part of a configuration as a name with dots and a text."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif value is not None and value != "":
            yield f"{prefix}{name}", ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def labels_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return what no run may be without: what its verifier and its agents know."""
    identity = [one for one in config.get("identity", {}).values() if isinstance(one, Mapping)]
    agents = {one["agent_information"] for one in identity if one.get("agent_information")}
    verifiers = {one.get("information", "") for one in identity}
    return {"information": ",".join(sorted(verifiers)) or "none", "agent_information": ",".join(agents) or "none"}
