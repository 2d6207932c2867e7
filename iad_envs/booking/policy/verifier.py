"""The proxy verifier of `IAD/Booking-v0`: it compares the instruction with the page that an action leads to. No gold.

A completed reservation scores the probability that it is right: 1 if all facts agree with the instruction, the answers
of the user and the times that were shown, and near 0 if one differs. Any other action scores how far the facts are
settled after it. These scores only rank. Each candidate is judged by itself.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium as gym

from iad_envs.booking.pages import UNASKED
from iad_envs.booking.policy.fit import facts_of, faults, is_unasked
from iad_policy.prompts.rendering import page_of
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information


class BookingVerifier:
    """Scores a completed reservation by its probability of success, and other actions by what they settle: 0 to 1."""

    information: Information = "proxy"
    needs_preview = True
    reads_info = True

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview."""
        return [verdict(state, candidate) for candidate in candidates]


def verdict(state: State, candidate: Candidate) -> Verdict:
    """Return the verdict on a candidate, which needs a preview.

    Raises:
        ValueError: It has no preview.
    """
    preview = candidate.preview
    if preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
    if preview.info["invalid_action"]:
        return Verdict(0.0, str(preview.info["facts"]["complaint"]))
    if preview.is_awaiting:
        if any(finding["code"] == UNASKED for finding in state.info["facts"]["findings"]):
            return Verdict(0.9, "The seating is open, and only the user can say which is wanted.")
        return Verdict(0.1, "The instruction already says what can be asked here.")
    if page_of(preview).get("kind") != "confirmation":
        return _on_the_way(state, preview)
    if wrong := faults(preview):
        return Verdict(0.05, f"This reservation is wrong: {', '.join(wrong)}.", passed=False)
    if is_unasked(preview):  # right about as often as this
        return Verdict(0.7, "There was a choice of seating, and the user was not asked.", passed=None)
    return Verdict(1.0, "Everything that is asked for is in the reservation.", passed=True)


def _on_the_way(state: State, preview: State) -> Verdict:
    before, after = page_of(state), page_of(preview)
    facts, had = facts_of(preview), facts_of(state)
    share = sum(facts.values()) / len(facts)
    score = 0.2 + 0.6 * share
    said = [str(after["notice"])] if after["notice"] else []
    order = ("home", "results", "restaurant", "seating", "details", "confirmation")
    was, now = (order.index(kind) if (kind := page.get("kind", "")) in order else -1 for page in (before, after))
    if sum(facts.values()) >= sum(had.values()) and now > was:
        score += 0.1  # a later kind of page
    if any(finding["severity"] == "error" for finding in preview.info["facts"]["findings"]):
        score -= 0.2  # refused
    if after["hold"] and not facts["held"]:
        score -= 0.3
        said.append("The held table is not the one that is asked for, or a nearer time is offered.")
    if had["held"] and not facts["held"]:
        score -= 0.4
        said.append("The right table is no longer held.")
    had_cancelled, has_cancelled = (
        sum(one["is_cancelled"] for one in page.get("reservations", ())) for page in (before, after)
    )
    if has_cancelled > had_cancelled and not facts["held"]:
        score -= 0.6
        said.append("The old reservation is gone, and no new table is held.")
    labels = {
        "first-name": "the first name",
        "last-name": "the last name",
        "cancelled": "the old reservation, which has to be cancelled while the new table is held",
        "held": "a table, which has to be held",
    }
    left = [labels.get(name, f"the {name}") for name, degree in facts.items() if degree < 1.0]
    said.append(f"Still to settle: {', '.join(left)}." if left else "All is settled: complete the reservation.")
    return Verdict(min(1.0, max(0.0, score)), " ".join(said), details=facts)
