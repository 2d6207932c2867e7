"""A rendered page as plain data, or the reason why it could not be rendered."""

from collections.abc import Mapping
from typing import NamedTuple

from iad_envs.sketch2code.layout import Box, LayoutScore, score_layout


class RenderLimits(NamedTuple):
    """Resource limits of a page. A page beyond them scores 0, and the reason is reported.

    Attributes:
        html_bytes: Maximum size of the source in UTF-8.
        load_s: Time limit in seconds for loading.
        collect_s: Time limit in seconds for collecting the boxes.
        n_boxes: Maximum number of visible components.
        screenshot_px: Maximum height of a screenshot. The rest of the page is cut off.
        screenshot_s: Time limit in seconds for a screenshot.
        pages_per_browser: Number of pages after which the browser is replaced, because its memory grows.
    """

    html_bytes: int = 2_000_000
    load_s: float = 5.0
    collect_s: float = 5.0
    n_boxes: int = 20_000
    screenshot_px: int = 16_000
    screenshot_s: float = 10.0
    pages_per_browser: int = 2_000

    def times(self, factor: float) -> "RenderLimits":
        """Return limits with a multiple of the time."""
        return self._replace(
            load_s=self.load_s * factor, collect_s=self.collect_s * factor, screenshot_s=self.screenshot_s * factor
        )


class RenderedPage(NamedTuple):
    """A rendered page.

    Attributes:
        boxes: Boxes by type of component, with text merged, as shares of the page's width and height.
        width: Width of the document in pixels.
        height: Height of the document in pixels.
        title: Title of the page.
        engine: Name and version of the browser. Boxes of different engines can't be compared.
        failure: Reason why the page could not be rendered or photographed, else empty.
    """

    boxes: Mapping[str, tuple[Box, ...]]
    width: int
    height: int
    title: str
    engine: str
    failure: str = ""


def score_pages(reference: RenderedPage, candidate: RenderedPage) -> LayoutScore:
    """Return the layout score of a candidate. It is 0 if the candidate could not be rendered.

    Raises:
        ValueError: The pages were rendered by different engines, or the reference could not be rendered.
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
