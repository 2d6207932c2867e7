"""Gold: a page's score against the reference. The formulas, which know no gold, are in `page.py` and `visual.py`."""

from collections.abc import Mapping, Sequence

from iad_envs.sketch2code.blocks import TextBlock
from iad_envs.sketch2code.page import RenderedPage, score_pages
from iad_envs.sketch2code.renderer import Renderer
from iad_envs.sketch2code.tasks import SketchTask
from iad_envs.sketch2code.visual import VISUAL_PARTS, reference_blocks, score_blocks

LAYOUT_PARTS = ("layout", "text_iou", "text_weight", "image_iou", "image_weight")


def no_parts(*, visual: bool) -> dict[str, float]:
    """Return the parts of the score of no page."""
    return dict.fromkeys((*LAYOUT_PARTS, *(VISUAL_PARTS if visual else ())), 0.0)


def layout_parts(renderer: Renderer, task: SketchTask, page: RenderedPage) -> Mapping[str, float]:
    """Return the parts of a page's layout score, 0-1."""
    with renderer.patiently():
        reference = renderer.page(task.html)
    score = score_pages(reference, page)
    text, image = score.kinds["text_block"], score.kinds["image"]
    return dict(zip(LAYOUT_PARTS, (score.layout, text.iou, text.weight, image.iou, image.weight), strict=True))


def visual_parts(
    renderer: Renderer, task: SketchTask, blocks: Sequence[TextBlock], *, published: bool
) -> Mapping[str, float]:
    """Return the visual metrics of a page, 0-1, by its text blocks."""
    theirs, _ = reference_blocks(renderer, task.html, published=published)
    return score_blocks(theirs, blocks).parts()
