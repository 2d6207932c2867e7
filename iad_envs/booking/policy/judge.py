"""The text judge: whether a reservation is what the instruction asks for, from the pages that were seen. No gold.

It stands in for the model that judges the last page in Agent Q. It knows which other times were free only from the
pages that the agent was shown.
"""

from iad_envs.booking.policy.fit import contradictions
from iad_envs.booking.policy.reading import instruction_of, page_of
from iad_policy.types import State

CONFIRMATION = "confirmation"


def passes(state: State) -> bool:
    """Return whether the reservation that a final state confirms is right. Without a confirmation it is not."""
    return not faults(state)


def faults(state: State) -> list[str]:
    """Return what is wrong with a final state, in words."""
    page = page_of(state)
    if page.get("kind") != CONFIRMATION or not page["reservations"]:
        return ["nothing was completed"]
    wrong = [f"{fact} differs" for fact in contradictions(state, page["reservations"][-1])]
    left = [one for one in page["reservations"][:-1] if not one["is_cancelled"]]
    return [*wrong, *(["the old reservation is still there"] if left and instruction_of(state).moves else [])]
