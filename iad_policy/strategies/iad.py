"""Iterative Agent Decoding: propose, verify, refine with feedback, keep the best."""

from collections.abc import Callable
from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import per_step
from iad_policy.strategies.building_blocks.feedback import FeedbackForm, best_and_worst
from iad_policy.strategies.building_blocks.stop import never
from iad_policy.types import Candidate, State, score


def chain(
    here: State,
    *,
    n: int = 3,
    delta: float = 0.0,
    feedback: FeedbackForm = best_and_worst,
    stop: Callable[[Candidate], bool] = never,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the best of a chain of n proposals, each made with feedback on the earlier ones.

    This is Algorithm 1 of version 1, with best and worst by eqs 3-5 of version 2 (arXiv 2504.01931). A new candidate
    replaces the incumbent if its score is higher by more than `delta`.
    """
    (best,) = yield from Propose(here, 1, temperature=temperature)
    worst: Candidate | None = None
    with suppress(BudgetExhausted):
        (best,) = yield from Verify(here, [best])
        for _ in range(n - 1):
            if stop(best):
                break
            hint = yield from feedback(here, best, worst)
            (new,) = yield from Propose(here, 1, feedback=hint, temperature=temperature)
            (new,) = yield from Verify(here, [new], among=[best])
            worst = min(best, new, key=score)
            if new.score - best.score > delta or (best.error and not new.error):
                best = new
    return best


iad = per_step(chain)
