"""What the property tests draw: seeds, and agents from one that always answers to one that mostly does not."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.contract.components import Calls, Wanderer
from tests.effort import times

SEEDS = st.integers(0, 2**16)
N_TOKENS = 10
"""The tokens of a proposal, and its seconds; a verdict has as many tokens."""
THREADS = st.sampled_from([1, 4])
drawn = settings(max_examples=times(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def agent(seed: int, calls: Calls | None = None) -> Wanderer:
    """An agent of which up to four in five answers are no action."""
    return Wanderer(calls, n_tokens=N_TOKENS, errors=seed % 5 / 5)
