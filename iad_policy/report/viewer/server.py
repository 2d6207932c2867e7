"""The page over HTTP, for several runs and trainings at once and while they go on: what `iad view` serves.

It only reads the folders. Whoever reaches it sees all that is in them, so it belongs on loopback.
"""

from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from flask import Flask, Response, abort, jsonify
from flask.json.provider import DefaultJSONProvider

from iad_policy.report.viewer.report import page
from iad_policy.report.viewer.shown import ShownTable, episode_json, episode_line, episodes_json, run_json
from iad_policy.report.viewer.trainings import opened
from iad_policy.types.hashing import digest


class _OrderedRuns(DefaultJSONProvider):
    """Leaves rows in the order of the command, as the report has them."""

    sort_keys = False


def create_app(
    folders: Sequence[Path | str],
    *,
    every_s: float = 2.0,
    n_listed_first: int = 1000,
    n_listed: int = 10_000,
) -> Flask:
    """Return the application.

    Args:
        folders: Run folders, model folders and folders of model folders, in the order in which they are shown.
        every_s: How often a page asks whether a run or a training went on.
        n_listed_first: Number of episodes of a run's list in the first answer. The page shows fewer tasks at once.
        n_listed: Number of them in each later one, which come while a person looks at the first ones.

    Raises:
        RunFolderError: One of them holds no run and no model.
        ModelFolderError: A file of a model folder can't be read.
    """
    app = Flask(__name__, static_folder=None)
    app.json = _OrderedRuns(app)
    shown, trained = opened(folders)
    heads: list[dict[str, Any] | None] = [None for _ in shown]  # as long as nothing was added to the run
    lock = Lock()

    def refresh() -> None:
        for place, run in enumerate(shown):
            if run.refresh():
                heads[place] = None

    @app.get("/")
    def start() -> Response:
        return Response(page("server", {"every_s": every_s}), mimetype="text/html")

    @app.get("/api/runs")
    def runs() -> Response:
        with lock:
            refresh()
            heads[:] = [known or run_json(run) for known, run in zip(heads, shown, strict=True)]
            return jsonify(heads)

    @app.get("/api/trainings")
    def trainings() -> Response:
        return jsonify([one.as_json() for one in trained])

    @app.get("/api/episodes/<int:run>/<int:start>")
    def episodes(run: int, start: int) -> Response:
        if run >= len(shown):
            abort(404, f"expected one of the runs shown, got run {run}")
        with lock:
            return jsonify(episodes_json(shown[run], start, n_listed if start else n_listed_first))

    @app.get("/api/episode/<int:run>/<key>")
    def episode(run: int, key: str) -> Response:
        with lock:
            line = episode_line(shown[run], key) if run < len(shown) else None
            if line is None:
                abort(404, f"expected an episode of the runs shown, got run {run}, {key}")
            table = ShownTable()
            return jsonify({**episode_json(shown[run], key, table), "line": line, "texts": table.texts})

    @app.get("/api/version")
    def version() -> Response:
        with lock:
            refresh()
            sizes = digest([run.size for run in shown])
        return jsonify({"version": digest(sizes, [one.version for one in trained])})

    @app.after_request
    def close_up(response: Response) -> Response:
        response.headers.update(
            {
                "X-Content-Type-Options": "nosniff",
                "X-Frame-Options": "DENY",
                "Referrer-Policy": "no-referrer",
                "Cache-Control": "no-store",
            }
        )
        return response

    return app
