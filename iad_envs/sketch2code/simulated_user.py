"""The simulated user of the settings with feedback and questions: any function from a `UserTurn` to a sentence.

A user is shown the reference only if it says that it `sees_reference`, and then every step's facts say so, too. Users
are asked in `step` only: what they say can't be had by simulating.
"""

from collections.abc import Callable
from typing import NamedTuple

from iad_envs.browser.images import Image
from iad_envs.sketch2code.layout import KINDS
from iad_envs.sketch2code.page import RenderedPage, score_pages

COMPLETE = "Generation Complete"
"""What a user says that wants no more changes."""
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
    """What a user is asked about.

    Attributes:
        question: Of the agent; empty where the user shall comment on the page.
        sketch: As the agent sees it.
        html: The current page; empty before there is one.
        page: The same, rendered; None before there is one.
        screenshot: A function that renders any HTML to a PNG.
        reference_html: The reference; empty for a user that doesn't see it.
        reference: The same, rendered.
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
    """Say whether a user is shown the reference."""
    return bool(getattr(user, "sees_reference", False))


class PointingUser:
    """A user without a model: names the type of component that fits the reference least, and counts it."""

    sees_reference = True

    def __init__(self, enough: float = 0.95) -> None:
        self._enough = enough

    def __call__(self, turn: UserTurn) -> str:
        """Comment on the page, or answer a question by what the reference has."""
        reference = turn.reference
        if reference is None:
            raise ValueError("expected a turn with the reference, got none; this user needs it")
        counts = {kind: len(reference.boxes.get(kind, ())) for kind in KINDS}
        if turn.question or turn.page is None or turn.page.failure:
            there = [f"{n} {NAMES[kind]}" for kind, n in counts.items() if n]
            return f"There should be {', '.join(there)}."
        score = score_pages(reference, turn.page)
        if score.layout >= self._enough:
            return COMPLETE
        worst = max(KINDS, key=lambda kind: score.kinds[kind].weight * (1.0 - score.kinds[kind].iou))
        here = len(turn.page.boxes.get(worst, ()))
        return f"The {NAMES[worst]} are not where they should be: I expect {counts[worst]}, and see {here}."
