"""Self-Refine: the agent criticises and rewrites its own answer."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Ask, Asking, Propose
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import about_last, instructed
from iad_policy.types import DIFFER, Candidate, Said, State


@per_step
@declares(needs="nothing")
def self_refine(
    here: State, *, n: int = 3, instruct: str = DIFFER, temperature: float | None = None
) -> Asking[Candidate]:
    """Commit the last of n versions, each rewritten after the agent's own critique (arXiv 2303.17651).

    No verifier is asked, so a version may be worse than the one before. An unusable answer is not a version. When the
    budget ends, the latest version is committed.
    """
    (last,) = yield from Propose(here, 1, temperature=temperature)
    with suppress(BudgetExhausted):
        for _ in range(n - 1):
            critique = yield from Ask("critic", here, last)
            hint = about_last(last, Said("review", critique))
            (new,) = yield from Propose(here, 1, feedback=instructed(hint, instruct), temperature=temperature)
            if last.error or not new.error:
                last = new
    return last
