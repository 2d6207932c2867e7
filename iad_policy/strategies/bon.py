"""Best-of-N: independent proposals, of which the verifier's best is committed."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.types import Candidate, State


@declares(needs="verifier")
@per_step
def bon(here: State, *, n: int = 3, temperature: float | None = None) -> Asking[Candidate]:
    """Commit the best-scored of n independent proposals, the first among equals (arXiv 2504.01931, baseline BoN)."""
    candidates = yield from Propose(here, n, temperature=temperature)
    with suppress(BudgetExhausted):
        candidates = yield from Verify(here, candidates)
    return incumbent(candidates)
