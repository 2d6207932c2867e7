"""Sequential Revision: a sequence of answers, in which the scores of equal ones are added up."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import about_last
from iad_policy.strategies.building_blocks.voting import heaviest
from iad_policy.types import Candidate, Said, State


@declares(needs="verifier")
@per_step
def sequential_revision(here: State, *, n: int = 3, temperature: float | None = None) -> Asking[Candidate]:
    """Commit the action with the highest total score among n answers in sequence (a baseline of ARTIS).

    Each answer revises the one before, given the critic's text but not the score. Equal actions have equal keys. When
    the budget ends, the answers with a verdict count. If there is none, the first answer is committed.
    """
    revised = yield from Propose(here, 1, temperature=temperature)
    with suppress(BudgetExhausted):
        revised = yield from Verify(here, revised)
        for _ in range(n - 1):
            critique = yield from Ask("critic", here, revised[-1])
            hint = about_last(revised[-1], Said("review", critique))
            (new,) = yield from Propose(here, 1, feedback=hint, temperature=temperature)
            revised = yield from Verify(here, [*revised, new])
    return heaviest(revised)
