"""Self-debug: the agent is given the error of executing its answer, until there is none."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Simulate
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import about_last, instructed
from iad_policy.types import DIFFER, Candidate, Said, State


@per_step
@declares(needs="nothing")
def self_debug(
    here: State, *, n: int = 3, instruct: str = DIFFER, temperature: float | None = None
) -> Asking[Candidate]:
    """Commit the first of at most n answers that executes without an error, else the last (arXiv 2304.05128).

    An answer is executed in a simulation, and the error there is the feedback. No verifier is asked. When the budget
    ends, the last usable answer is committed, executed or not.
    """
    (last,) = yield from Propose(here, 1, temperature=temperature)
    with suppress(BudgetExhausted):
        for _ in range(n - 1):
            error = last.error or (yield from Simulate(here, last)).failure
            if not error:
                break
            hint = about_last(last, Said("error", error))
            (new,) = yield from Propose(here, 1, feedback=instructed(hint, instruct), temperature=temperature)
            if last.error or not new.error:
                last = new
    return last
