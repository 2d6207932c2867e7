"""One proposal, committed as it is: the baseline of every comparison."""

from iad_policy.requests import Asking, Propose
from iad_policy.strategies import declares, per_step
from iad_policy.types import Candidate, State


@per_step
@declares(needs="nothing")
def single(here: State, *, temperature: float | None = None) -> Asking[Candidate]:
    """Commit the agent's first answer."""
    (candidate,) = yield from Propose(here, 1, temperature=temperature)
    return candidate
