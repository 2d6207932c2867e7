"""Best-of-N: independent proposals, of which the verifier's best is committed."""

from iad_policy.requests import Asking
from iad_policy.strategies import declares, per_step
from iad_policy.strategies.building_blocks.incumbent import incumbent
from iad_policy.strategies.building_blocks.sampling import sample
from iad_policy.strategies.building_blocks.stop import StopRule, never
from iad_policy.types import Candidate, State


@declares(needs="verifier")
@per_step
def bon(here: State, *, n: int = 3, stop: StopRule = never, temperature: float | None = None) -> Asking[Candidate]:
    """Commit the best-scored of n independent proposals, the first among equals (arXiv 2504.01931, baseline BoN)."""
    return incumbent((yield from sample(here, n, stop=stop, temperature=temperature)))
