"""Pages in numbers, for models that see no picture: what the agent draws, and how it agrees with its other drawings."""

from collections import Counter
from collections.abc import Mapping

from iad_envs.sketch2code.policy.agent import Sketch2CodeAgent
from iad_envs.sketch2code.policy.html import TAGS, blocks_of, near
from iad_envs.sketch2code.policy.reading import SketchReading
from iad_policy.trained.proposed import ProposedActions
from iad_policy.types import State


class PageFeatures(ProposedActions):
    """Features of pages.

    - `blocks`, `height`, and the number of blocks of each kind.
    - `agreed`, `missing`: shares of the page's blocks that the agent's other drawings have, and of theirs that it
      lacks.
    """

    def __init__(self) -> None:
        own = ["blocks", "height", "agreed", "missing", *(f"kind: {kind}" for kind in TAGS)]
        super().__init__(Sketch2CodeAgent(), own, "page")

    def described(self, state: State, action: str) -> Mapping[str, float]:
        """Return the features of a page."""
        page = blocks_of(action)
        if page is None:
            return {}
        others = [one for other in self.actions(state) if other != action and (one := blocks_of(other)) is not None]
        kinds = Counter(block.kind for block in page.blocks)
        return {
            "blocks": len(page.blocks) / 20,
            "height": page.height,
            "agreed": _mean([_share(page, other) for other in others]),
            "missing": 1 - _mean([_share(other, page) for other in others]),
            **{f"kind: {kind}": kinds[kind] / 10 for kind in TAGS if kinds[kind]},
        }


def _share(page: SketchReading, other: SketchReading) -> float:
    """Return the share of a page's blocks that another page has nearly at the same place."""
    found = [any(near(block, one) for one in other.blocks) for block in page.blocks]
    return sum(found) / len(found) if found else 0.0


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
