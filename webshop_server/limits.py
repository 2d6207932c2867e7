"""Random price limits of goals."""

import random

LIMIT_SEED = 233
NO_LIMIT = 1_000_000.0
LIMIT_GRID = tuple(10.0 * step for step in range(1, 100))


def price_limit(key: str, price: float) -> float:
    """Draw a price limit in dollars: the larger of two of the first four multiples of 10 above the price.

    Only multiples up to 990 count. If fewer than two are left, the result is `NO_LIMIT`.
    """
    above = [limit for limit in LIMIT_GRID if limit > price][:4]
    return max(random.Random(f"{LIMIT_SEED}:limit:{key}").sample(above, 2)) if len(above) >= 2 else NO_LIMIT


def limit_text(limit: float) -> str:
    """The end of an instruction with this price limit."""
    return "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"
