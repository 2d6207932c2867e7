"""Weighted best-of-N: independent proposals, in which the scores of equal ones are added up."""

from iad_policy.requests import Asking
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.sampling import sample
from iad_policy.strategies.building_blocks.stop import StopRule, never
from iad_policy.strategies.building_blocks.voting import heaviest
from iad_policy.types import Candidate, State


@declares(needs="verifier")
@per_step
def weighted_bon(
    here: State, *, n: int = 3, stop: StopRule = never, temperature: float | None = None
) -> Asking[Candidate]:
    """Commit the action with the highest total score among n proposals (Weighted BoN, a baseline of ARTIS).

    Equal actions have equal keys. When the budget ends before the verdicts, the first usable proposal is committed.
    """
    return heaviest((yield from sample(here, n, stop=stop, temperature=temperature)))
