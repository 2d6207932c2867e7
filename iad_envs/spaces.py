"""A text space with any Unicode characters, a maximum length, and a clear error for vectors with shared memory."""

from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray


class UnicodeText(gym.Space[str]):
    """Strings of up to `max_length` arbitrary Unicode characters.

    `gymnasium.spaces.Text` rejects spaces, newlines and brackets unless its alphabet is listed, and in an
    `AsyncVectorEnv` with shared memory it silently returns one frozen string. With this space, such a vector raises an
    error. Pass `vector_kwargs={"shared_memory": False}`.

    Args:
        max_length: Maximum length in characters.
        seed: Seed of the samples.
    """

    def __init__(self, max_length: int, *, seed: int | np.random.Generator | None = None) -> None:
        if max_length < 1:
            raise ValueError(f"expected a max_length of 1 or more, got {max_length}")
        self.max_length = max_length
        super().__init__(dtype=str, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False, because a text has no fixed size."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a random short text. Masks are not supported."""
        if mask is not None or probability is not None:
            raise ValueError("expected no mask for a text, got one; sample() takes none here")
        length = int(self.np_random.integers(1, min(self.max_length, 32) + 1))
        codes: NDArray[np.int64] = self.np_random.integers(0x20, 0x2FFF, size=length)
        return "".join(map(chr, codes.tolist()))

    def contains(self, x: Any) -> bool:
        """Whether `x` is a text of at most `max_length` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_length == self.max_length

    def __hash__(self) -> int:
        return hash((UnicodeText, self.max_length))

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"
