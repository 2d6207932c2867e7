"""Logs a run to MLflow, in the store that MLflow is configured to use."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from time import time
from typing import Any

from iad_policy.errors import MissingExtra
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.run.trackers import PROJECT, final_figures, flat, labels_of

MOST = 500
"""Metrics per batch, and characters of a parameter, that every MLflow server accepts."""


class MLflowTracker:
    """Writes to the store at `MLFLOW_TRACKING_URI`, by default MLflow's own store in the working folder.

    The experiment is `MLFLOW_EXPERIMENT_NAME`, by default `iad`. The labels are tags.

    Args:
        folder: The run folder.
        config: Content of its `config.json`.

    Raises:
        MissingExtra: The package mlflow is not installed.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        try:
            from mlflow import MlflowClient
            from mlflow.entities import Metric, Param
        except ImportError:
            raise MissingExtra("mlflow", "mlflow") from None
        self._client, self._metric = MlflowClient(), Metric
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        known = self._client.get_experiment_by_name(name)
        experiment = self._client.create_experiment(name) if known is None else known.experiment_id
        tags = {**labels_of(config), "run_folder": str(folder.resolve())}
        run = self._client.create_run(experiment, run_name=folder.resolve().name, tags=tags)
        self._id, self._status = run.info.run_id, "KILLED"
        params = [Param(_name(key), value[:MOST]) for key, value in flat(config)]
        for start in range(0, len(params), 100):
            self._client.log_batch(self._id, params=params[start : start + 100])

    def on_episode(self, record: EpisodeRecord, means: Mapping[str, float], n_episodes: int) -> None:
        """Log a point of each curve."""
        self._log(means, n_episodes)

    def on_summary(self, summary: Mapping[str, Any]) -> None:
        """Log every figure of the table as a metric."""
        self._log(dict(final_figures(summary)), 0)
        self._status = "FINISHED" if summary.get("is_complete") else "KILLED"

    def close(self) -> None:
        """End the run. An incomplete run is marked as killed."""
        self._client.set_terminated(self._id, self._status)

    def _log(self, figures: Mapping[str, float], step: int) -> None:
        now = int(1000 * time())
        metrics = [self._metric(_name(name), value, now, step) for name, value in figures.items()]
        for start in range(0, len(metrics), MOST):
            self._client.log_batch(self._id, metrics=metrics[start : start + MOST])


def _name(name: str) -> str:
    """Return a name with only the characters that MLflow allows."""
    return re.sub(r"[^\w\-. /]", "_", name)
