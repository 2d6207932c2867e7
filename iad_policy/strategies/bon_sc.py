"""Best-of-N with self-consistency: independent proposals, of which the most frequent action is committed."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from iad_policy.requests import Asking
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.sampling import sample
from iad_policy.strategies.building_blocks.stop import StopRule, never
from iad_policy.strategies.building_blocks.voting import majority, previewed
from iad_policy.types import Candidate, State


@per_step
@declares(needs="nothing")
def bon_sc(
    here: State,
    *,
    n: int = 3,
    by: Literal["action", "result"] | None = None,
    stop: StopRule = never,
    temperature: float | None = None,
) -> Asking[Candidate]:
    """Commit the action that most of n proposals agree on (arXiv 2504.01931, baseline BoN-SC).

    Votes are counted by the action's canonical key or, with `by="result"`, by its simulated result. The default is the
    result if the environment names results in its facts (SQL: the result set). Unparsable answers don't vote, and ties
    go to the first.
    """
    if by == "result" or (by is None and "result" in here.info.get("facts", ())):
        return majority((yield from sample(here, n, look=previewed, stop=stop, temperature=temperature)))
    candidates = yield from sample(here, n, look=unseen, stop=stop, temperature=temperature)
    votes = Counter(candidate.key for candidate in candidates if not candidate.error)
    return max(candidates, key=lambda candidate: -1 if candidate.error else votes[candidate.key])


def unseen(here: State, candidates: Sequence[Candidate]) -> Asking[list[Candidate]]:
    """Leave candidates as they are."""
    yield from ()
    return list(candidates)
