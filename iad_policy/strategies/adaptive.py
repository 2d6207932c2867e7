"""Adaptive: after each verdict it samples, refines or stops, by a plan from a pilot."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm, findings, instructed
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.stop import passed, repeated, vote_settled
from iad_policy.types import DIFFER, Candidate, State
from iad_policy.types.plan import REFINE, SAMPLE, STOP, AdaptivePlan

AHEAD = vote_settled(0.95)


@declares(needs="verifier")
@per_step
def adaptive(
    here: State,
    *,
    n: int = 3,
    plan: AdaptivePlan | None = None,
    feedback: FeedbackForm = findings,
    instruct: str = DIFFER,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the best-scored of up to n proposals; after each verdict, decide whether to sample, refine or stop.

    A plan says what pays (`iad advise RUN --policy FILE`, docs/adaptive.md), and has an n of its own. Without one it
    never refines, and samples until the verifier passes the incumbent or the votes are settled (as CATTS stops per
    step, arXiv 2602.12276). With a plan, a decision that others follow also ends when the verifier passes the incumbent
    or the newest candidate repeats an earlier one. Where `feedback` has nothing to go on, a refinement is a fresh
    sample.

    It goes by the verdicts on all candidates so far, and commits by them.
    """
    tried = yield from Propose(here, 1, temperature=temperature)
    with suppress(BudgetExhausted):
        tried = yield from Verify(here, tried)
        n_refined = 0
        next_move = partial(_planned, plan, here) if plan else partial(_unplanned, n)
        while (move := next_move(tried, n_refined)) != STOP:
            hint = None
            if move == REFINE:
                hint = instructed((yield from feedback(here, tried, 0.0)), instruct)
            (new,) = yield from Propose(here, 1, feedback=hint, temperature=temperature)
            tried = yield from Verify(here, [*tried, new])
            n_refined += hint is not None
    return incumbent(tried)


def _planned(plan: AdaptivePlan, here: State, tried: Sequence[Candidate], n_refined: int) -> str:
    best = incumbent(tried)
    if here.steps_left > 1 and (passed(best, tried) or repeated(tried[-1], tried)):
        return STOP  # later decisions can mend this one
    return plan.move(plan.table_for(here.id), best.score, len(tried) - n_refined, n_refined)


def _unplanned(n: int, tried: Sequence[Candidate], n_refined: int) -> str:
    best = incumbent(tried)
    return STOP if len(tried) >= n or passed(best, tried) or AHEAD(best, tried) else SAMPLE
