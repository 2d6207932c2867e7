"""What a rendered page is: plain data, with the reason where it could not be rendered."""

from collections.abc import Mapping
from typing import NamedTuple

from iad_envs.sketch2code.layout import Box, LayoutScore, score_layout


class RenderLimits(NamedTuple):
    """What a page may cost; beyond it scores 0, with the reason.

    Attributes:
        html_bytes: Of its source, in UTF-8.
        load_s: Until it is loaded.
        collect_s: Until its boxes are known.
        n_boxes: Visible components.
        screenshot_px: Height of a screenshot; what is below is cut off.
        screenshot_s: Until it is taken.
        pages_per_browser: Until the browser is replaced, as its memory grows.
    """

    html_bytes: int = 2_000_000
    load_s: float = 5.0
    collect_s: float = 5.0
    n_boxes: int = 20_000
    screenshot_px: int = 16_000
    screenshot_s: float = 10.0
    pages_per_browser: int = 2_000


class RenderedPage(NamedTuple):
    """A rendered page.

    Attributes:
        boxes: By type of component, text merged, as shares of the page's width and height.
        width: Of the document, in pixels.
        height: Of the document, in pixels.
        title: Its title.
        engine: The browser's name and version: boxes of different engines can't be compared.
        failure: Why it could not be rendered; empty otherwise.
    """

    boxes: Mapping[str, tuple[Box, ...]]
    width: int
    height: int
    title: str
    engine: str
    failure: str = ""


def score_pages(reference: RenderedPage, candidate: RenderedPage) -> LayoutScore:
    """Return the layout score of a candidate; 0 for one that could not be rendered.

    Raises:
        ValueError: They were rendered by different engines, or the reference could not be.
    """
    if reference.failure:
        raise ValueError(
            f"expected a reference that can be rendered, got one that failed: {reference.failure}; check the page"
        )
    if candidate.engine != reference.engine:
        raise ValueError(
            f"expected both pages to be rendered by one engine, got {reference.engine} and {candidate.engine}; "
            "render both again"
        )
    return score_layout(reference.boxes, candidate.boxes)
