"""Best-of-N: independent proposals, the verifier's favourite."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import per_step
from iad_policy.types import Candidate, State, score


@per_step
def bon(here: State, *, n: int = 3, temperature: float | None = None) -> Asking[Candidate]:
    """Commit the best-scored of n independent proposals (arXiv 2504.01931, baseline BoN); the first of equals."""
    candidates = yield from Propose(here, n, temperature=temperature)
    with suppress(BudgetExhausted):
        candidates = yield from Verify(here, candidates)
    return max(candidates, key=score)
