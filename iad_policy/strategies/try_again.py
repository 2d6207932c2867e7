"""Try Again, of InterCode: the agent is given the true reward of each attempt."""

from contextlib import suppress

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Propose, Verify
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import about_last, instructed
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.types import DIFFER, Candidate, Said, State


@per_step
@declares(needs="oracle")
def try_again(
    here: State, *, n: int = 3, instruct: str = DIFFER, temperature: float | None = None
) -> Asking[Candidate]:
    """Commit the best of at most n attempts, each made with the output and reward of the one before.

    InterCode (arXiv 2306.14898) ends at reward 1 and counts the best attempt. The reward is the true one, so verifiers
    with another label than `oracle` are refused. When the budget ends, the best attempt with a known reward is
    committed, or the first one if there is none.
    """
    (last,) = yield from Propose(here, 1, temperature=temperature)
    tried = [last]
    with suppress(BudgetExhausted):
        tried = yield from Verify(here, tried)
        for _ in range(n - 1):
            last = tried[-1]
            if incumbent(tried).score >= 1.0:
                break
            output = "" if last.preview is None else last.preview.observation
            reward = Said("reward", f"{max(0.0, last.score):.4g}")
            hint = about_last(last, Said("output", output if isinstance(output, str) else ""), reward)
            (new,) = yield from Propose(here, 1, feedback=instructed(hint, instruct), temperature=temperature)
            tried = yield from Verify(here, [*tried, new])
    return incumbent(tried)
