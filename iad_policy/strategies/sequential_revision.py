"""Sequential Revision: a sequence of answers, in which the scores of equal ones are added up."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import about_last, instructed
from iad_policy.strategies.building_blocks.voting import heaviest
from iad_policy.types import DIFFER, Candidate, Feedback, Said, ShownAttempt, State


@declares(needs="verifier")
@per_step
def sequential_revision(
    here: State,
    *,
    n: int = 3,
    shown: Literal["all", "last"] = "all",
    instruct: str = DIFFER,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the action with the highest total score among n answers in sequence (a baseline of ARTIS).

    Each answer is given all answers before it, as published, or with `shown="last"` the one before. It is given the
    critic's text about that one, but no score. Equal actions have equal keys. When the budget ends, the answers with a
    verdict count. If there is none, the first answer is committed.
    """
    if shown not in ("all", "last"):
        raise ValueError(f"expected shown, the answers that a revision is given, to be 'all' or 'last', got {shown!r}")
    revised = yield from Propose(here, 1, temperature=temperature)
    with suppress(BudgetExhausted):
        revised = yield from Verify(here, revised)
        for _ in range(n - 1):
            review = Said("review", (yield from Ask("critic", here, revised[-1])))
            hint = _about_all(revised, review) if shown == "all" else about_last(revised[-1], review)
            (new,) = yield from Propose(here, 1, feedback=instructed(hint, instruct), temperature=temperature)
            revised = yield from Verify(here, [*revised, new])
    return heaviest(revised)


def _about_all(revised: Sequence[Candidate], review: Said) -> Feedback:
    """Show all answers, and the text about the last one, which is the one to revise."""
    *earlier, last = (one.shown() for one in revised)
    attempts = [ShownAttempt(one) for one in earlier]
    return Feedback(attempts=(*attempts, ShownAttempt(last, findings=review.text, said=(review,))), best=last)
