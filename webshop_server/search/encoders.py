"""Text encoders for dense search: hashed character n-grams, or an installed sentence encoder."""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Protocol
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from webshop_server.extras import extra_command
from webshop_server.search.analyzer import STOP_WORDS, tokenize

Vectors = NDArray[np.float32]


class VectorEncoder(Protocol):
    """Turns texts into vectors whose inner product measures the similarity of two texts."""

    @property
    def size(self) -> int:
        """The length of a vector."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array (texts, size) of unit vectors. A text without content words gives zeros."""


class HashedEncoder:
    """Encodes a text as a bag of character n-grams. It needs no model and tolerates misspellings and endings.

    The vector of a word is the mean of the fixed random vectors of its n-grams (Bojanowski et al., 2017, untrained).
    The vector of a text is the sum over its words. A repeated word is weighted by the square root of its count, and
    function words are skipped.
    """

    version: ClassVar[str] = "1"
    size: ClassVar[int] = 384

    def __init__(self) -> None:
        self._buckets: Vectors = np.random.default_rng(0).standard_normal((1 << 15, self.size), np.float32)
        self._word = lru_cache(maxsize=1 << 15)(self._word_uncached)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array (texts, size) of unit vectors. A text with only function words gives zeros."""
        vectors = np.zeros((len(texts), self.size), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            counts = Counter(word for word in tokenize(text.lower()) if word not in STOP_WORDS)
            if counts:
                weights = np.sqrt(np.fromiter(counts.values(), np.float32, len(counts)))
                np.matmul(weights, np.stack([self._word(word) for word in counts]), out=vector)
        return _of_length_one(vectors)

    def _word_uncached(self, word: str) -> Vectors:
        marked = f"<{word}>"
        parts = [marked]
        for length in (3, 4, 5):
            parts += [marked[start : start + length] for start in range(len(marked) - length + 1)]
        places = [crc32(part.encode("utf-8", "surrogatepass")) % len(self._buckets) for part in parts]
        (vector,) = _of_length_one(self._buckets[places].sum(axis=0, keepdims=True))
        return np.asarray(vector, np.float32)


class SentenceEncoder:
    """A model of the sentence-transformers package.

    Args:
        model: Name or folder of the model.

    Raises:
        ImportError: The package is not installed.
    """

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise ImportError(
                f"the encoder {model!r} expects sentence-transformers, which is not installed; "
                f"{extra_command('sentence')}"
            ) from None
        self._model: Any = SentenceTransformer(model, device="cpu")
        self.size = int(self._model.get_sentence_embedding_dimension())

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return an array (texts, size) of unit vectors."""
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        return np.asarray(
            self._model.encode(clean, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True),
            np.float32,
        ).reshape(len(texts), self.size)


def load_encoder(name: str = "") -> VectorEncoder:
    """Return the sentence encoder with this name, or the hashed encoder for an empty name."""
    return SentenceEncoder(name) if name else HashedEncoder()


def _of_length_one(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), np.float32)
