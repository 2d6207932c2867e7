"""Provides experiment trackers, which get every episode of a run. To add one, add its file and a line in `TRACKERS`."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from iad_policy.errors import IADError, MissingExtra, UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.registry import load_object
from iad_policy.run.config import RunConfig

TRACKERS: Mapping[str, str] = {
    "mlflow": "iad_policy.run.trackers.mlflow:MLflowTracker",
    "tensorboard": "iad_policy.run.trackers.tensorboard:TensorBoardTracker",
    "wandb": "iad_policy.run.trackers.wandb:WandbTracker",
}
"""The "module:factory" of each tracker, by name. The factory is called with the run folder and its `config.json`."""
PROJECT = "iad"
"""Default name of the project or experiment in the tracker."""


class TrackerError(IADError):
    """A tracker can't start, so the run would not be tracked."""


class Tracker(Protocol):
    """Gets each finished episode of a run, including recorded ones, and the summary.

    Each call of the command is a separate run in the tracker, with all its episodes.
    """

    def on_episode(self, record: EpisodeRecord, means: Mapping[str, float], n_episodes: int) -> None:
        """Log an episode.

        Args:
            record: The record of the episode.
            means: Means over the scored episodes of its row so far, by `<row>/<metric>`.
            n_episodes: Number of episodes of the row so far, which is the step of a curve.
        """
        ...

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        """Log the content of `summary.json`. Only `close` follows."""
        ...

    def close(self) -> None:
        """Send the remaining data and end the run."""
        ...


MakeTracker = Callable[[Path, Mapping[str, Any]], Tracker]


def load_tracker(tracker: str | MakeTracker) -> MakeTracker:
    """Return the factory of a tracker.

    Args:
        tracker: Name of a tracker, or a factory.

    Raises:
        UnknownName: There is no tracker of this name.
    """
    if callable(tracker):
        return tracker
    if tracker not in TRACKERS:
        raise UnknownName("tracker", tracker, TRACKERS)
    made: MakeTracker = load_object(TRACKERS[tracker])
    return made


def tracker_names(listed: str) -> tuple[str, ...]:
    """Return the names in a comma-separated list.

    Raises:
        UnknownName: There is no tracker of one of the names.
    """
    names = tuple(name.strip() for name in listed.split(",") if name.strip())
    for name in names:
        load_tracker(name)
    return names


class Tracking:
    """Passes the episodes of a run to trackers. A tracker that fails is dropped, so that it can't end the run.

    Args:
        trackers: Names or factories of trackers.
        folder: The run folder.
        config: Configuration of the run.
        recorded: Content of `config.json`.
        warn: Function that is called with a sentence about a tracker that failed.

    Raises:
        UnknownName: There is no such tracker.
        MissingExtra: The package of a tracker is not installed.
        TrackerError: A tracker can't start, for example because its server does not answer.
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
                f"expected the trackers {', '.join(map(str, trackers))} to start, got {type(error).__name__}: "
                f"{error!s:.300}; set them up, or leave them out"
            ) from error

    def on_episode(self, record: EpisodeRecord) -> None:
        """Pass a finished episode to all trackers."""
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
        self._call_all(lambda tracker: tracker.on_episode(record, means, counts[""]))

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        """Pass the summary to all trackers."""
        self._call_all(lambda tracker: tracker.on_summary(summary))

    def close(self) -> None:
        """Close all trackers. Closing twice is harmless."""
        self._call_all(lambda tracker: tracker.close())
        self._trackers.clear()

    def _call_all(self, call: Callable[[Tracker], None]) -> None:
        for tracker in list(self._trackers):
            try:
                call(tracker)
            except Exception as error:  # a tracker may raise anything, such as a lost connection
                self._trackers.remove(tracker)
                self._warn(
                    f"{type(tracker).__name__} failed and is not used any more; the run goes on: "
                    f"{type(error).__name__}: {error!s:.200}"
                )


def figures_of(record: EpisodeRecord) -> Iterator[tuple[str, float]]:
    """Yield the figures of an episode that are averaged. For a failed episode these are only its costs."""
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
    """Yield every part of a configuration as a dotted name and a text."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        elif value is not None and value != "":
            yield f"{prefix}{name}", ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def labels_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels that every tracked run must show: the information of its verifier, its agents and its roles."""
    identity = [one for one in config.get("identity", {}).values() if isinstance(one, Mapping)]
    agents = {one["agent_information"] for one in identity if one.get("agent_information")}
    verifiers = {one.get("information", "") for one in identity}
    return {
        "information": ",".join(sorted(verifiers)) or "none",
        "agent_information": ",".join(agents) or "none",
        "role_information": "oracle" if any(one.get("oracle_roles") for one in identity) else "none",
    }
