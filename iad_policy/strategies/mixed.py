"""Mixed: some proposals are independent, the others refine the best of them."""

from collections.abc import Sequence
from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm, findings, instructed
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.sampling import sample
from iad_policy.types import DIFFER, Candidate, State


@declares(needs="verifier")
@per_step
def mixed(
    here: State,
    *,
    n: int = 4,
    fresh: float = 0.5,
    feedback: FeedbackForm = findings,
    instruct: str = DIFFER,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the best-scored of n proposals, of which a share is independent and the rest a chain that goes on.

    After the balance of parallel and sequential proposals in arXiv 2408.03314, with a verifier that selects.
    `fresh` is the share of independent ones, rounded up, at least one.
    """
    if not 0 <= fresh <= 1:
        raise ValueError(f"expected fresh, a share of the proposals, from 0 to 1, got {fresh}; the default is 0.5")
    n_fresh = max(1, round(n * fresh + 1e-9))
    tried: Sequence[Candidate] = yield from sample(here, n_fresh, temperature=temperature)
    with suppress(BudgetExhausted):
        while len(tried) < n:
            hint = instructed((yield from feedback(here, tried, 0.0)), instruct)
            (new,) = yield from Propose(here, 1, feedback=hint, temperature=temperature)
            tried = yield from Verify(here, [*tried, new])
    return incumbent(tried)
