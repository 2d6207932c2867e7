"""Several IAD chains, and a vote by result among their best candidates."""

from iad_policy.requests import All, Asking, Propose
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm, findings
from iad_policy.strategies.building_blocks.stop import StopRule, never
from iad_policy.strategies.building_blocks.voting import voted
from iad_policy.strategies.iad import chain
from iad_policy.types import DIFFER, Candidate, State


@declares(needs="verifier")
@per_step
def chains(
    here: State,
    *,
    n: int = 3,
    k: int = 3,
    delta: float = 0.0,
    feedback: FeedbackForm = findings,
    instruct: str = DIFFER,
    stop: StopRule = never,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the majority's choice among the best candidates of k IAD chains (arXiv 2504.01931, text-to-SQL).

    `n` counts all proposals of a decision, as in every method. Each chain gets n // k of them, and the first n % k
    chains get one more. If n is smaller than k, there are n chains with one proposal each.
    """
    if k < 1:
        raise ValueError(f"expected k, the number of chains, to be 1 or more, got {k}; the default is 3")
    sizes = [n // k + (place < n % k) for place in range(min(k, n))]
    one = [
        chain(here, n=size, delta=delta, feedback=feedback, instruct=instruct, stop=stop, temperature=temperature)
        for size in sizes
    ]
    best = [candidate for candidate in (yield from All(one)) if candidate is not None]
    if not best:
        return (yield from Propose(here, 1, temperature=temperature))[0]
    return (yield from voted(here, best))
