"""Best-of-N with self-consistency: independent proposals, of which the most frequent action is committed."""

from collections import Counter
from typing import Literal

from iad_policy.requests import Asking, Propose
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.voting import voted
from iad_policy.types import Candidate, State


@per_step
@declares(needs="nothing")
def bon_sc(
    here: State, *, n: int = 3, by: Literal["action", "result"] | None = None, temperature: float | None = None
) -> Asking[Candidate]:
    """Commit the action that most of n proposals agree on (arXiv 2504.01931, baseline BoN-SC).

    Votes are counted by the action's canonical key or, with `by="result"`, by its simulated result. The default is the
    result if the environment names results in its facts (SQL: the result set). Unparsable answers don't vote, and ties
    go to the first.
    """
    candidates = yield from Propose(here, n, temperature=temperature)
    if by == "result" or (by is None and "result" in here.info.get("facts", ())):
        return (yield from voted(here, candidates))
    votes = Counter(candidate.key for candidate in candidates if not candidate.error)
    return max(candidates, key=lambda candidate: -1 if candidate.error else votes[candidate.key])
