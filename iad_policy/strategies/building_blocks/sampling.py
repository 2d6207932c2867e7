"""Independent proposals, of which a stop rule may save some."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.stop import StopRule, never
from iad_policy.types import Candidate, State

Look = Callable[[State, Sequence[Candidate]], Asking[list[Candidate]]]
"""What is done with candidates before the stop rule sees them."""


def verified(here: State, candidates: Sequence[Candidate]) -> Asking[list[Candidate]]:
    """Ask the verifier about all of them."""
    return (yield from Verify(here, candidates))


def sample(
    here: State, n: int, *, look: Look = verified, stop: StopRule = never, temperature: float | None = None
) -> Asking[list[Candidate]]:
    """Return up to n independent proposals, oldest first.

    With a stop rule they are proposed and looked at one by one until it says so, without one all at once. They are the
    same proposals either way. When the budget ends, those so far are returned as far as they were looked at.
    """
    at_once = n if stop is never else 1
    tried: list[Candidate] = []
    with suppress(BudgetExhausted):
        while len(tried) < n:
            tried += yield from Propose(here, min(at_once, n), temperature=temperature)
            tried = yield from look(here, tried)
            if stop is never or stop(incumbent(tried), tried):
                break
    return tried
