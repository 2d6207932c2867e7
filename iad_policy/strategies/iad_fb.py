"""IAD-fb: Iterative Agent Decoding with a judge's text in addition to best and worst."""

from collections.abc import Sequence

from iad_policy.requests import Asking
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm, best_and_worst, best_worst_and_judge_text
from iad_policy.strategies.building_blocks.stop import StopRule, never
from iad_policy.strategies.iad import chain
from iad_policy.types import DIFFER, Candidate, Feedback, State


@declares(needs="verifier")
@per_step
def iad_fb(
    here: State,
    *,
    n: int = 3,
    k: int | None = None,
    delta: float = 0.0,
    feedback: FeedbackForm = best_worst_and_judge_text,
    instruct: str = DIFFER,
    stop: StopRule = never,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the best of a chain of n proposals with at most k judge texts (arXiv 2504.01931, IAD-fb: N and K).

    The first k refinements use the judge's text, and the others only best and worst. Without k, all refinements use it.
    When the budget ends, the incumbent is committed, as by `iad`.
    """
    if k is not None and k < 0:
        raise ValueError(f"expected k, the number of judge texts, to be 0 or more, got {k}; None sets no limit")
    n_judged = 0

    def judged(at: State, tried: Sequence[Candidate], delta: float) -> Asking[Feedback | None]:
        nonlocal n_judged
        n_judged += 1
        form = feedback if k is None or n_judged <= k else best_and_worst
        return (yield from form(at, tried, delta))

    return (
        yield from chain(here, n=n, delta=delta, feedback=judged, instruct=instruct, stop=stop, temperature=temperature)
    )
