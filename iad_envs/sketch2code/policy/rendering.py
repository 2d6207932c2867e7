"""Puts a sketch's task and the pages for it into words. The sketch itself is a picture in the message."""

from collections.abc import Mapping
from typing import Any, ClassVar

from iad_envs.sketch2code.policy.pictures import PAGE_WIDTH_PX, page_scale, sent_size
from iad_policy.prompts.rendering import Rendering, Seen, complaint_of, facts_of, page_of
from iad_policy.types import State, Turn
from iad_policy.types.texts import shown

HTML_CHARS = 12_000
KINDS = {
    "nav_bar": "navigation bars",
    "form_table": "forms and tables",
    "image": "images",
    "video": "videos",
    "divider": "dividers",
    "button": "buttons",
    "text_block": "text blocks",
}
"""Types of boxes in words."""


class SketchRendering(Rendering):
    """The words for `IAD/Sketch2Code-v0`."""

    task_label: ClassVar[str] = "Task"

    def task(self, state: State) -> str:
        """Return the task, and how large the picture of the sketch is beside the page."""
        size = facts_of(state).get("sketch_size")
        return "\n".join(part for part in (super().task(state), "" if size is None else scale_of(*size)) if part)

    def page(self, seen: Seen) -> str:
        """Return the conversation so far and the current page."""
        observation = seen.observation
        if not isinstance(observation, Mapping) or "text" not in observation:
            return super().page(seen)
        said = str(observation["text"]).removeprefix(str(seen.info.get("instruction", ""))).strip()
        return said or "No page was written yet."

    def written(self, action: Any, heading: str) -> str:
        """Return a page in a fence, and a question as it is."""
        text = str(action)
        return text if "```" in text or text.startswith("ask[") else f"```html\n{text}\n```"

    def outcome(self, preview: State) -> str:
        """Return what a page is rendered to. Its HTML is the action."""
        page = page_of(preview)
        failure = complaint_of(preview) or page.get("failure", "")
        if failure or not page:
            return str(failure) or super().outcome(preview)
        counts = [f"{KINDS.get(kind, kind)}: {len(boxes)}" for kind, boxes in page["boxes"].items() if boxes]
        parts = ", ".join(counts) or "it is empty"
        return f"It is rendered to {page['width']} x {page['height']} pixels; {parts}."

    def actions(self, state: State) -> str:
        """Return nothing: the only available action is an example of a page."""
        return ""

    def facts(self, seen: Seen) -> str:
        """Return nothing: what the environment has to say stands in the observation."""
        return ""

    def steps_left(self, state: State) -> str:
        """Return how many actions are left, where the first page does not end the task."""
        return "" if facts_of(state).get("setting") == "direct" else super().steps_left(state)

    def turns(self, state: State, *, since: int | None = None) -> list[str]:
        """Return nothing: the observation has the conversation and the current page."""
        return []

    def changes(self, before: Turn | None, after: State) -> list[str]:
        """Return the size of the rendered page, and what is on it."""
        page = page_of(after)
        boxes = page.get("boxes")
        if not isinstance(boxes, Mapping):
            return []
        counts = [
            f"{len(found)} {kind.replace('_', ' ')}{'s' * (len(found) > 1)}" for kind, found in boxes.items() if found
        ]
        there = ", ".join(counts) or "nothing on it"
        return [f"A page of {page.get('width')} x {page.get('height')} pixels with {there}."]

    def beginning(self, first: Turn) -> list[str]:
        """Return nothing: the first observation is the task."""
        return []

    def shown_candidate(self, action: Any) -> str:
        """Return a page, cut between two tags if it is long."""
        html = shown(action, len(str(action)))
        if len(html) <= HTML_CHARS:
            return html
        end = html.rfind(">", 0, HTML_CHARS) + 1 or HTML_CHARS
        return f"{html[:end]}... ({len(html) - end} more characters)"


def scale_of(height: int, width: int) -> str:
    """Return the size of a sketch's picture and its scale, for a sketch of the given size in pixels."""
    sent_height, sent_width = sent_size(height, width)
    return (
        f"The sketch is {sent_width} pixels wide and {sent_height} high. The page is {PAGE_WIDTH_PX} pixels wide, and "
        f"should be about {page_height(height, width)} high: 1 pixel of the sketch is "
        f"{1 / page_scale(height, width):.2f} pixels of the page."
    )


def page_height(height: int, width: int) -> int:
    """Return the height in pixels of the page that a sketch of the given size shows."""
    return round(PAGE_WIDTH_PX * height / width)
