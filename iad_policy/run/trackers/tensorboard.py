"""Writes TensorBoard curves to the run folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iad_policy.errors import MissingExtra
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.run.trackers import final_figures, labels_of


class TensorBoardTracker:
    """Writes to `tensorboard/<number>-<label>/` in the run folder. Each call of the command gets a new number.

    Args:
        folder: The run folder.
        config: Content of its `config.json`.

    Raises:
        MissingExtra: The package tensorboard is not installed.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        try:
            from tensorboard.summary import Writer
        except ImportError:
            raise MissingExtra("tensorboard", "tensorboard") from None
        whole = folder / "tensorboard"
        number = len(list(whole.iterdir())) if whole.is_dir() else 0
        self._writer = Writer(str(whole / "-".join([str(number), *known_by(config)])))

    def on_episode(self, record: EpisodeRecord, means: Mapping[str, float], n_episodes: int) -> None:
        """Write a point of each curve."""
        for name, mean in means.items():
            self._writer.add_scalar(name, mean, n_episodes)

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        """Write every figure of the table as a curve of one point."""
        for name, value in final_figures(summary):
            self._writer.add_scalar(name, value, 0)

    def close(self) -> None:
        """Write the remaining data."""
        self._writer.close()


def known_by(config: Mapping[str, Any]) -> list[str]:
    """Return the labels for the folder's name, because TensorBoard shows only that name of a run.

    They include `agent-oracle` if an agent reads gold, and `role-oracle` if a role does.
    """
    labels = labels_of(config)
    others = [f"{who}-{label}" for who in ("agent", "role") if (label := labels[f"{who}_information"]) != "none"]
    return [labels["information"], *others]
