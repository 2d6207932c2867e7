"""`report.html`: a run as one page that needs nothing else, to be opened, sent and kept."""

import base64
import json
import zlib
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from iad_policy.ledger.episode import Episode
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import REPORT
from iad_policy.report.viewer.shown import ShownTable, episode_json, episodes_json, run_json
from iad_policy.types.atomic import write_atomically
from iad_policy.types.texts import well_formed

MAX_EPISODES = 2000
"""Episodes whose steps are in the page; `iad view` shows those of any run."""
EPISODES_PER_CHUNK = 24
"""Episodes of neighbouring tasks and all strategies see the same pages, so together they are small."""
_HERE = Path(__file__).parent


def write_report(run: Run | Path | str, *, max_episodes: int = MAX_EPISODES) -> Path:
    """Write a run folder's `report.html` and return its path.

    Args:
        run: The run, or its folder. `Run.damaged` then says which of the episodes are not shown in full.
        max_episodes: The steps of so many episodes are put in, task by task; the others are listed without them.

    Raises:
        RunFolderError: It holds no run.
        StorageError: The page can't be written.
    """
    run = run if isinstance(run, Run) else Run(run)
    episodes = episodes_json(run)
    keys = [one["key"] for one in episodes["lines"][:max_episodes]]
    chunks = list(_chunks(run, keys))
    places = {key: place // EPISODES_PER_CHUNK for place, key in enumerate(keys)}
    html = page(
        "report",
        {"run": packed(run_json(run)), "episodes": packed(episodes), "chunks": chunks, "places": packed(places)},
    )
    path = run.folder / REPORT
    with write_atomically(path) as part:
        part.write_text(html, encoding="utf-8")
    return path


def page(kind: str, data: dict[str, Any]) -> str:
    """Return the page, with its style, its script and the data in it."""
    html = asset("page.html")
    for name, text in (
        ("{{style}}", asset("viewer.css")),
        ("{{charts}}", asset("charts.js")),
        ("{{trees}}", asset("trees.js")),
        ("{{trainings}}", asset("trainings.js")),
        ("{{script}}", asset("viewer.js")),
        ("{{kind}}", kind),
        ("{{data}}", json.dumps(data).replace("<", "\\u003c")),
    ):
        html = html.replace(name, text)
    return html


def asset(name: str) -> str:
    """Return the text of one of the page's files."""
    return (_HERE / name).read_text(encoding="utf-8")


def _chunks(run: Run, keys: list[str]) -> Iterator[str]:
    left = iter(keys)
    while part := list(islice(left, EPISODES_PER_CHUNK)):
        table = ShownTable()
        episodes = {key: episode_json(run, key, table) for key in part}
        try:
            yield packed({"episodes": episodes, "texts": table.texts})
        except (TypeError, ValueError, RecursionError):  # a damaged value is none that JSON has
            whole = dict(run.readable(part, partial(_packed_alone, episodes)))
            shown = {key: episodes[key] if key in whole else {"damaged": run.damaged[key]} for key in part}
            yield packed({"episodes": shown, "texts": table.texts})


def _packed_alone(episodes: Mapping[str, Any], episode: Episode) -> str:
    return packed(episodes[episode.record.key])


def packed(value: Any) -> str:
    """Return JSON, deflated, in base 64: what a browser unpacks by itself."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(well_formed(text).encode(), 9)).decode()
