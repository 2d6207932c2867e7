"""A finished run whose states are kept in blobs, and all that readers say of such a folder."""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from iad_envs.core import View
from iad_policy.evaluation import Finished, execute
from iad_policy.ledger.run import Run
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.exports import export_runs
from iad_policy.report.viewer.shown import ShownTable, episode_json
from iad_policy.run.runner import Runner
from tests.iad_policy.evaluation_toy import DialsEnv, cast, config

Episodes = dict[str, Any]


class Hall(DialsEnv):
    """Dials in a hall that takes long to describe, so that its states are kept in blobs."""

    def _view(self, state: str, complaint: str) -> View:
        view = super()._view(state, complaint)
        return view._replace(observation=f"{view.observation} {'The hall is long. ' * 80}")


def command(folder: Path) -> Finished:
    """Run what `iad compare` runs."""
    here = cast()
    return execute(Runner(config(strategies=("single", "iad"), n=2, tasks=3), Hall, lambda *_: here), folder)


@contextmanager
def warned() -> Iterator[list[str]]:
    """Collect warnings. They are what a user sees beside the result."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
        said += [str(one.message) for one in caught]


def timeless(value: Any) -> Any:
    """Return what was read without what was measured."""
    if isinstance(value, dict):
        return {name: timeless(part) for name, part in value.items() if name not in ("seconds", "wall_s")}
    return [timeless(part) for part in value] if isinstance(value, list) else value


def shown(folder: Path) -> Episodes:
    """The steps of the episodes as report and viewer show them, without those that are said to be damaged."""
    run, episodes = Run(folder), Episodes()
    for key in run.records:
        table = ShownTable()
        steps = episode_json(run, key, table)
        if "damaged" not in steps:
            episodes[key] = timeless([steps, table.texts])
    return episodes


def exported(folder: Path, out: Path) -> Episodes:
    """The rows of the episodes in an export of decisions, and those in one of episodes."""
    export_runs([Run(folder)], "jsonl", out / "rows.jsonl")
    episodes: Episodes = {}
    for name in ("rows.jsonl", "rows.episodes.jsonl"):
        for line in (out / name).read_text().splitlines():
            row = timeless(json.loads(line))
            episodes.setdefault(row["episode"], []).append({**row, "run": ""})
    return episodes


def boarded(folder: Path, out: Path) -> int:
    """The number of episodes in AgentBoard's files."""
    paths = write_agentboard([Run(folder)], out / "board")
    return sum(len(path.read_text().splitlines()) for path in paths if path.suffix == ".jsonl")
