"""The right action in a state, from the oracle's reference."""

from collections.abc import Sequence

from iad_policy.types import State


def reservation(state: State, reference: Sequence[str]) -> str:
    """Take the next action of the reference. Where a page doesn't have it, begin again on the search page."""
    home, n_done = "GOTO [home]", 0
    for turn in state.history:
        if [turn.action] == reference[n_done : n_done + 1]:
            n_done += 1
        elif turn.action == home:
            n_done = 0
    following = reference[n_done] if n_done < len(reference) else home
    possible = state.info["available_actions"]
    verb, _, rest = following.partition(" ")
    field = rest.partition(" ")[0]
    is_here = following in possible or f"TYPE {field} [...]" in possible or f"CLICK {field}" in possible
    return following if is_here or verb == "ASK" else home
