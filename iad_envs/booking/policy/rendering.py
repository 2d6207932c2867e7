"""Puts the booking site's pages into words. The observation is a text for agents already, with the ids to use."""

from collections.abc import Mapping
from typing import Any, ClassVar

from iad_envs.booking.pages import UNASKED
from iad_envs.booking.policy.instruction import listed, minute_of
from iad_policy.prompts.rendering import Rendering, Seen, complaint_of, facts_of, page_of
from iad_policy.types import State, Turn
from iad_policy.types.texts import clipped


class BookingRendering(Rendering):
    """The words for `IAD/Booking-v0` and its variant in a browser."""

    task_label: ClassVar[str] = "Task"
    last_action: ClassVar[str] = "CLICK [complete]"

    def result(self, before: Seen, action: Any, after: Seen) -> str:
        """Return what an action led to: a complaint, an answer, a notice, a value, or what the page offers."""
        page, earlier = page_of(after), page_of(before)
        complaint = complaint_of(after)
        if complaint or not page:
            return complaint or super().result(before, action, after)
        said = [f"notice: {page['notice']}"] if page["notice"] else []
        if page["answer"] != earlier.get("answer", ""):
            said.append(f'the user answered: "{page["answer"]}"')
        if page["path"] != earlier.get("path") or page["kind"] != earlier.get("kind"):
            said.append(clipped(_offers(page), 240))
        else:
            form, old = page["form"], earlier.get("form", {})
            said += [f'[{name}] = "{value}"' for name, value in form.items() if old.get(name) != value]
        return "; ".join(said) or "nothing changed"

    def actions(self, state: State) -> str:
        """Return "", as the page shows what can be used."""
        return "" if page_of(state) else super().actions(state)

    def facts(self, seen: Seen) -> str:
        """Return what the page doesn't say: that the choice of seating is the user's."""
        findings = facts_of(seen).get("findings", ())
        return "\n".join(one["message"] for one in findings if one["code"] == UNASKED)

    def beginning(self, first: Turn) -> list[str]:
        """Return nothing: every episode begins on the search page."""
        return [] if page_of(first) else super().beginning(first)


def _offers(page: Mapping[str, Any]) -> str:
    """Return a page in one line."""
    if page["kind"] == "results":
        return f"results: {', '.join([*listed(page).values()][:8]) or 'none'}"
    if page["kind"] == "restaurant":
        times = ", ".join(f"{minute_of(slot) // 60}:{minute_of(slot) % 60:02d}" for slot in page["slots"])
        return f"{page['title']}; times: {times or 'none'}"
    if page["kind"] == "seating":
        return f"seating: {', '.join(page['seatings'])}"
    return str(page["title"])
