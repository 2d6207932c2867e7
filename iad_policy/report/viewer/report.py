"""`report.html`: runs and trainings as one page that needs nothing else, to be opened, sent and kept."""

import base64
import json
import zlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from iad_policy.ledger.episode import Episode
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import REPORT
from iad_policy.report.viewer.shown import ShownTable, episode_json, episodes_json, run_json
from iad_policy.report.viewer.trainings import opened
from iad_policy.types.atomic import write_text
from iad_policy.types.secrets import masked
from iad_policy.types.texts import well_formed


def write_any_report(folder: Path | str) -> Path:
    """Write the `report.html` of a run folder, a model folder or a folder of model folders, and return its path.

    Raises:
        RunFolderError: It is none of them.
        ModelFolderError: A file of a model folder can't be read.
        StorageError: The page can't be written.
    """
    runs, trainings = opened([folder])
    if runs:
        return write_report(runs[0])
    (only,) = trainings
    return _write(only.folder, {"trainings": packed([only.as_json()])})


def write_report(run: Run | Path | str, *, max_episodes: int = 2000) -> Path:
    """Write a run folder's `report.html` and return its path.

    Args:
        run: The run, or its folder. `Run.damaged` then says which of the episodes are not shown in full.
        max_episodes: The steps of so many episodes are put in, task by task; the others are listed without them.

    Raises:
        RunFolderError: It holds no run.
        StorageError: The page can't be written.
    """
    run = run if isinstance(run, Run) else Run(run)
    listed = episodes_json(run)
    keys = [one["key"] for one in listed["lines"][:max_episodes]]
    # Episodes of neighbouring tasks and all strategies see the same pages, so together they are small.
    parts = [keys[start : start + 24] for start in range(0, len(keys), 24)]
    chunks = []
    for part in parts:
        table = ShownTable()
        episodes = {key: episode_json(run, key, table) for key in part}
        try:
            chunks.append(packed({"episodes": episodes, "texts": table.texts}))
        except (TypeError, ValueError, RecursionError):  # a damaged value is none that JSON has
            whole = dict(run.readable(part, partial(_packed_alone, episodes)))
            shown = {key: episodes[key] if key in whole else {"damaged": run.damaged[key]} for key in part}
            chunks.append(packed({"episodes": shown, "texts": table.texts}))
    places = {key: place for place, part in enumerate(parts) for key in part}
    data = {"run": packed(run_json(run)), "episodes": packed(listed), "chunks": chunks, "places": packed(places)}
    return _write(run.folder, data)


def page(kind: str, data: dict[str, Any]) -> str:
    """Return the page, with its style, its script and the data in it."""
    here = Path(__file__).parent
    html = (here / "page.html").read_text(encoding="utf-8")
    for name in ("style", "charts", "trees", "trainings", "script"):
        file = {"style": "viewer.css", "script": "viewer.js"}.get(name, f"{name}.js")
        html = html.replace(f"{{{{{name}}}}}", (here / file).read_text(encoding="utf-8"))
    return html.replace("{{kind}}", kind).replace("{{data}}", json.dumps(data).replace("<", "\\u003c"))


def packed(value: Any) -> str:
    """Return JSON without secrets, deflated, in base 64: what a browser unpacks by itself."""
    text = masked(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    return base64.b64encode(zlib.compress(well_formed(text).encode(), 9)).decode()


def _packed_alone(episodes: Mapping[str, Any], episode: Episode) -> str:
    return packed(episodes[episode.record.key])


def _write(folder: Path, data: dict[str, Any]) -> Path:
    html, path = page("report", data), folder / REPORT
    write_text(path, html)
    return path
