"""How hard random tests try."""

from hypothesis import settings


def times(n: int) -> int:
    """Return a number of tries: n in `make test-full`, whose profile has ten times as many examples, else a tenth."""
    return max(1, n * settings.default.max_examples // 100)
