"""The page over HTTP, for several runs and trainings at once and while they go on: what `iad view` serves.

It only reads the folders. Whoever reaches it sees all that is in them, so it belongs on loopback.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from flask import Flask, Response, abort, jsonify
from flask.json.provider import DefaultJSONProvider

from iad_policy.ledger.run import Run
from iad_policy.report.viewer.report import page
from iad_policy.report.viewer.shown import ShownTable, episode_json, episode_line, episodes_json, run_json
from iad_policy.report.viewer.trainings import opened
from iad_policy.types.hashing import digest

EVERY_S = 2.0
"""How often a page asks whether a run went on."""
N_LISTED_FIRST = 1000
"""Episodes of the list that the page asks for first. It shows fewer tasks at once."""
N_LISTED = 10_000
"""Episodes that it asks for at a time while a person looks at the first ones."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class _OrderedRuns(DefaultJSONProvider):
    """Leaves rows in the order of the command, as the report has them."""

    sort_keys = False


def create_app(
    folders: Sequence[Path | str],
    *,
    every_s: float = EVERY_S,
    n_listed_first: int = N_LISTED_FIRST,
    n_listed: int = N_LISTED,
) -> Flask:
    """Return the application.

    Args:
        folders: Run folders, model folders and folders of model folders, in the order in which they are shown.
        every_s: How often a page asks whether a run or a training went on.
        n_listed_first: Number of episodes of a run's list in the first answer.
        n_listed: Number of them in each later one.

    Raises:
        RunFolderError: One of them holds no run and no model.
        ModelFolderError: A file of a model folder can't be read.
    """
    app = Flask(__name__, static_folder=None)
    app.json = _OrderedRuns(app)
    found, trained = opened(folders)
    shelf = _RunList(found)

    @app.get("/")
    def start() -> Response:
        return Response(page("server", {"every_s": every_s}), mimetype="text/html")

    @app.get("/api/runs")
    def runs() -> Response:
        return jsonify(shelf.heads())

    @app.get("/api/trainings")
    def trainings() -> Response:
        return jsonify([one.as_json() for one in trained])

    @app.get("/api/episodes/<int:run>/<int:start>")
    def episodes(run: int, start: int) -> Response:
        listed = shelf.episodes(run, start, n_listed if start else n_listed_first)
        if listed is None:
            abort(404, f"expected one of the runs shown, got run {run}")
        return jsonify(listed)

    @app.get("/api/episode/<int:run>/<key>")
    def episode(run: int, key: str) -> Response:
        shown = shelf.episode(run, key)
        if shown is None:
            abort(404, f"expected an episode of the runs shown, got run {run}, {key}")
        return jsonify(shown)

    @app.get("/api/version")
    def version() -> Response:
        return jsonify({"version": digest(shelf.version(), [one.version for one in trained])})

    @app.after_request
    def close_up(response: Response) -> Response:
        response.headers.update(HEADERS)
        return response

    return app


class _RunList:
    """The runs that are shown, and their heads as long as nothing was added."""

    def __init__(self, runs: list[Run]) -> None:
        self._runs = runs
        self._heads: list[dict[str, Any] | None] = [None for _ in runs]
        self._lock = Lock()

    def version(self) -> str:
        """Return a name of all that is on disk now."""
        with self._lock:
            self._refresh()
            return digest([run.size for run in self._runs])

    def heads(self) -> list[dict[str, Any]]:
        with self._lock:
            self._refresh()
            made = [known or run_json(run) for known, run in zip(self._heads, self._runs, strict=True)]
            self._heads = list(made)
            return made

    def episodes(self, run: int, start: int, n: int) -> dict[str, Any] | None:
        if not 0 <= run < len(self._runs):
            return None
        with self._lock:
            return episodes_json(self._runs[run], start, n)

    def episode(self, run: int, key: str) -> dict[str, Any] | None:
        if not 0 <= run < len(self._runs):
            return None
        table = ShownTable()
        with self._lock:
            line = episode_line(self._runs[run], key)
            if line is None:
                return None
            shown = episode_json(self._runs[run], key, table)
        return {**shown, "line": line, "texts": table.texts}

    def _refresh(self) -> None:
        for place, run in enumerate(self._runs):
            if run.refresh():
                self._heads[place] = None
