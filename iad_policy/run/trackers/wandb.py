"""Logs a run to Weights & Biases, offline in the run folder by default."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iad_policy.errors import MissingExtra
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.run.trackers import PROJECT, final_figures, flat, labels_of


class WandbTracker:
    """Writes to `wandb/` in the run folder. Nothing leaves the machine unless `WANDB_MODE=online` is set.

    `wandb sync` uploads it later. The project is `WANDB_PROJECT`, by default `iad`. The labels are in its configuration
    and tags.

    Args:
        folder: The run folder.
        config: Content of its `config.json`.

    Raises:
        MissingExtra: The package wandb is not installed.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        try:
            import wandb
        except ImportError:
            raise MissingExtra("wandb", "wandb") from None
        labels = labels_of(config)
        self._run = wandb.init(
            project=os.environ.get("WANDB_PROJECT") or PROJECT,
            mode=os.environ.get("WANDB_MODE") or "offline",  # type: ignore[arg-type,unused-ignore]
            dir=str(folder),
            name=folder.resolve().name,
            config={**dict(flat(config)), **labels},
            tags=[f"{kind}: {label}" for kind, label in labels.items()],
            settings=wandb.Settings(console="off", silent=True, disable_git=True, disable_code=True),
        )
        self._rows: set[str] = set()

    def on_episode(self, record: EpisodeRecord, means: Mapping[str, float], n_episodes: int) -> None:
        """Log a point of each curve, with the row's number of episodes as the step."""
        row = next(iter(means)).rpartition("/")[0]
        if row not in self._rows:
            self._rows.add(row)
            self._run.define_metric(f"{row}/*", step_metric=f"{row}/n_episodes")
        self._run.log({**means, f"{row}/n_episodes": n_episodes})

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        """Put every figure of the table into the run's summary."""
        self._run.summary.update(dict(final_figures(summary)))

    def close(self) -> None:
        """Write the remaining data."""
        self._run.finish()
