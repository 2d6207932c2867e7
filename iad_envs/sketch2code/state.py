"""The state of an episode of Sketch2Code, and its public part."""

from typing import Any, NamedTuple

from iad_envs.browser.images import Image
from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.page import RenderedPage
from iad_envs.sketch2code.tasks import SketchTask


class Sketch(NamedTuple):
    """A sketch in the top left of its frame, and its height and width there."""

    frame: Image
    size: tuple[int, int]


class SketchState(NamedTuple):
    """The state of an episode: the current page and the conversation.

    Attributes:
        task: The task with its sketch.
        html: HTML of the current page, empty before the first page.
        page: The current page, rendered. None before the first page.
        blocks: Text blocks of the current page, where the visual metrics are computed.
        conversation: Questions, answers and comments, oldest first.
        done: Whether the episode has ended with a page.
    """

    task: SketchTask
    html: str = ""
    page: RenderedPage | None = None
    blocks: tuple[TextBlock, ...] = ()
    conversation: tuple[str, ...] = ()
    done: bool = False


def page_data(state: SketchState) -> dict[str, Any]:
    """Return the current page for the public info, as plain lists and texts."""
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
