"""The simulated user of the settings with feedback and questions: any function from a `UserTurn` to a sentence.

A user gets the reference only if its attribute `sees_reference` is true. The facts of every step then say so, too.
Users are called in `step` only, so their replies can't be obtained by simulation.
"""

from collections.abc import Callable
from typing import NamedTuple

from iad_envs.browser.images import Image
from iad_envs.sketch2code.layout import KINDS
from iad_envs.sketch2code.page import RenderedPage, score_pages

COMPLETE = "Generation Complete"
"""Reply of a user who wants no more changes."""
NAMES = {
    "video": "videos",
    "image": "images",
    "text_block": "texts",
    "form_table": "forms and tables",
    "button": "buttons",
    "nav_bar": "navigation bars",
    "divider": "dividing lines",
}


class UserTurn(NamedTuple):
    """The input of a simulated user.

    Attributes:
        question: The agent's question. Empty if the user should comment on the page.
        sketch: The sketch as shown to the agent.
        html: HTML of the current page, empty before the first page.
        page: The current page, rendered. None before the first page.
        screenshot: Function that renders any HTML to a PNG.
        reference_html: HTML of the reference, empty for a user without access to it.
        reference: The reference, rendered.
    """

    question: str
    sketch: Image
    html: str
    page: RenderedPage | None
    screenshot: Callable[[str], bytes | None]
    reference_html: str
    reference: RenderedPage | None


User = Callable[[UserTurn], str]


def sees_reference(user: User | None) -> bool:
    """Whether a user gets the reference."""
    return bool(getattr(user, "sees_reference", False))


class PointingUser:
    """A rule-based user: names the component type that differs most from the reference, and its number."""

    sees_reference = True

    def __call__(self, turn: UserTurn) -> str:
        """Comment on the page, or answer a question from the reference."""
        reference = turn.reference
        if reference is None:
            raise ValueError("expected a turn with the reference, got none; this user needs it")
        counts = {kind: len(reference.boxes.get(kind, ())) for kind in KINDS}
        if turn.question or turn.page is None or turn.page.failure:
            there = [f"{n} {NAMES[kind]}" for kind, n in counts.items() if n]
            return f"There should be {', '.join(there)}."
        score = score_pages(reference, turn.page)
        if score.layout >= 0.95:
            return COMPLETE
        worst = max(KINDS, key=lambda kind: score.kinds[kind].weight * (1.0 - score.kinds[kind].iou))
        here = len(turn.page.boxes.get(worst, ()))
        return f"The {NAMES[worst]} are not where they should be: I expect {counts[worst]}, and see {here}."
