"""Iterative Agent Decoding: propose, verify, refine with feedback, keep the best."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm, findings, instructed
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.stop import StopRule, never
from iad_policy.types import DIFFER, Candidate, State


def chain(
    here: State,
    *,
    n: int = 3,
    delta: float = 0.0,
    feedback: FeedbackForm = findings,
    instruct: str = DIFFER,
    stop: StopRule = never,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the best of a chain of n proposals, each made with feedback on the earlier ones.

    This is Algorithm 1 of version 1 (arXiv 2504.01931). A new candidate replaces the incumbent if its score is higher
    by more than `delta`. The verifier sees all candidates of the chain each time, and one that compares may revise
    earlier verdicts. So without feedback, `delta` and stop rule the chain commits what best-of-n would.

    The paper's own feedback is the best and the worst candidate, and it asks to do better than the one without the
    mistakes of the other (version 2, eqs 3-5): `feedback="best-worst", instruct="improve"`.
    """
    tried = yield from Propose(here, 1, temperature=temperature)
    best = tried[0]
    with suppress(BudgetExhausted):
        tried = yield from Verify(here, tried)
        for _ in range(n - 1):
            best = incumbent(tried, delta)
            if stop(best, tried):
                break
            hint = instructed((yield from feedback(here, tried, delta)), instruct)
            (new,) = yield from Propose(here, 1, feedback=hint, temperature=temperature)
            tried = yield from Verify(here, [*tried, new])
        best = incumbent(tried, delta)
    return best


iad = declares(needs="verifier")(per_step(chain))
