"""Sketch2Code's feedback loop: each answer revises the last one after a judge's text, whatever its score."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import about_last, instructed
from iad_policy.types import DIFFER, Candidate, Said, State


@declares(needs="verifier")
@per_step
def sk2code_feedback(
    here: State, *, n: int = 3, instruct: str = DIFFER, temperature: float | None = None
) -> Asking[Candidate]:
    """Commit the last of n answers, each a revision of the one before (arXiv 2504.01931, baseline Sk2code feedback).

    The critic sees the verifier's verdict on the last answer. The agent sees the critic's text but no score, and no
    best answer is kept. An unusable answer is not revised. When the budget ends, the latest answer is committed.
    """
    (last,) = yield from Propose(here, 1, temperature=temperature)
    with suppress(BudgetExhausted):
        for _ in range(n - 1):
            (last,) = yield from Verify(here, [last])
            critique = yield from Ask("critic", here, last)
            hint = about_last(last, Said("review", critique))
            (new,) = yield from Propose(here, 1, feedback=instructed(hint, instruct), temperature=temperature)
            if last.error or not new.error:
                last = new
    return last
