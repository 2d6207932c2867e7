"""Best-of-N with self-consistency: independent proposals, the majority's action."""

from collections import Counter

from iad_policy.requests import Asking, Propose
from iad_policy.strategies import per_step
from iad_policy.types import Candidate, State


@per_step
def bon_sc(here: State, *, n: int = 3, temperature: float | None = None) -> Asking[Candidate]:
    """Commit the action most of n proposals agree on (arXiv 2504.01931, baseline BoN-SC).

    Votes are counted by the action's canonical key; unparsable answers don't vote; of equals the first seen wins.
    """
    candidates = yield from Propose(here, n, temperature=temperature)
    votes = Counter(candidate.key for candidate in candidates if not candidate.error)
    return max(candidates, key=lambda candidate: -1 if candidate.error else votes[candidate.key])
