"""Reads the tasks of a data folder in the official layout: `{page}.html`, `{page}_{k}.png`, `rick.jpg`.

All files are in one folder, or pages are in `webpages/` and sketches in `sketches/`. For a page without sketches, the
sketcher draws two. `tasks.jsonl` may specify a task's split and difficulty. The official data do not have this file.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from iad_envs.errors import DataNotFound
from iad_envs.sketch2code.answers import title_of

QUESTION = "ask[...]"
ASK = {
    "direct": "Answer with the HTML.",
    "feedback": "Answer with the HTML; a user then says what to change, and you answer with the whole page again.",
    "question": f"Answer with the HTML, or ask the user about the page with {QUESTION}.",
}


class SketchTask(NamedTuple):
    """One sketch of one page.

    Attributes:
        task_id: Id of the task, `{page}_{k}`.
        page: File of the reference page.
        sketch: File of the sketch, or None if the sketch must be drawn.
        number: Number of the sketch among those of the page.
        split: Split of the task, `test` unless `tasks.jsonl` specifies another.
        difficulty: `easy`, `hard`, or "" if the data does not specify it.
        setting: How the agent answers: a key of `ASK`.
    """

    task_id: str
    page: Path
    sketch: Path | None
    number: int
    split: str
    difficulty: str
    setting: str = "direct"

    @property
    def html(self) -> str:
        """HTML of the reference page."""
        return self.page.read_bytes().decode("utf-8", "replace")

    @property
    def instruction(self) -> str:
        """Instruction for the agent."""
        title = title_of(self.html)
        task = (
            "Write one HTML page, with its CSS in it, that looks like the page in the sketch: a box with a cross is an "
            "image (use rick.jpg for every image), wavy lines are text, other boxes are parts such as navigation bars, "
            "forms, tables and buttons. Place and size everything as in the sketch."
        )
        return f"{task} {ASK[self.setting]}" + (f"\nThe page's title: {title}" if title else "")


@lru_cache(maxsize=8)
def load_tasks(folder: Path) -> Mapping[str, SketchTask]:
    """Return a folder's tasks by id, in order of page and sketch.

    Raises:
        DataNotFound: The folder has no pages.
    """
    pages, pictures = (
        [path for place in (folder, folder / inner) if place.is_dir() for path in sorted(place.glob(pattern))]
        for inner, pattern in (("webpages", "*.html"), ("sketches", "*.png"))
    )
    if not pages:
        raise DataNotFound(
            f"expected pages ({{page}}.html, in the folder or in webpages/) in {folder}, found none; check the path"
        )
    sketches: dict[str, dict[int, Path]] = {}
    for path in pictures:
        if named := re.fullmatch(r"(.+)_(\d+)\.png", path.name):
            sketches.setdefault(named[1], {})[int(named[2])] = path
    listed: dict[str, dict[str, str]] = {}
    if (folder / "tasks.jsonl").is_file():
        lines = (folder / "tasks.jsonl").read_text(encoding="utf-8").splitlines()
        listed = {line["task_id"]: line for line in map(json.loads, lines)}
    tasks: dict[str, SketchTask] = {}
    by_name = {path.stem: path for path in pages}
    # Pages with numbers come first, in order of these.
    for page in sorted(by_name, key=lambda name: (int(name), "") if name.isdecimal() else (1 << 62, name)):
        drawn: Mapping[int, Path | None] = sketches.get(page) or dict.fromkeys(range(2))
        for number, sketch in sorted(drawn.items()):
            task_id = f"{page}_{number}"
            more = listed.get(task_id, listed.get(page, {}))
            tasks[task_id] = SketchTask(
                task_id, by_name[page], sketch, number, more.get("split", "test"), more.get("difficulty", "")
            )
    return tasks


def load_assets(folder: Path) -> dict[str, bytes]:
    """Return the files available to every page, by name. Without its image a page would have another layout."""
    paths = (folder / "rick.jpg", folder / "webpages" / "rick.jpg")
    return next(({path.name: path.read_bytes()} for path in paths if path.is_file()), {})
