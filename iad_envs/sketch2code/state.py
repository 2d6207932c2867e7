"""Where an episode of Sketch2Code is, and what of it is shown."""

from typing import Any, NamedTuple

from iad_envs.browser.images import Image
from iad_envs.sketch2code.page import RenderedPage
from iad_envs.sketch2code.tasks import SketchTask


class Sketch(NamedTuple):
    """A sketch in its frame, and the height and width that it takes there, from the top left."""

    frame: Image
    size: tuple[int, int]


class SketchState(NamedTuple):
    """Where an episode is: the current page, and what was said.

    Attributes:
        task: The sketch.
        html: The current page; empty before there is one.
        page: The same, rendered; None before there is one.
        said: Questions, answers and comments, oldest first.
        done: Whether the page was handed in.
    """

    task: SketchTask
    html: str = ""
    page: RenderedPage | None = None
    said: tuple[str, ...] = ()
    done: bool = False


def page_data(state: SketchState) -> dict[str, Any]:
    """Return the current page as the public info has it: plain lists and texts."""
    page = state.page or RenderedPage({}, 0, 0, "", "")
    return {
        "html": state.html,
        "boxes": {kind: [list(box) for box in boxes] for kind, boxes in page.boxes.items()},
        "width": page.width,
        "height": page.height,
        "title": page.title,
        "engine": page.engine,
        "failure": page.failure,
    }
