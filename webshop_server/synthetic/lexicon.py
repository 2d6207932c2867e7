"""Invents words with the frequencies of shop texts, and topics with preferred words."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lexicon"]

Ints = NDArray[np.int64]

# Occurrences per 1,000 words by rank of the word, in 1,000 products of the original. The tail grows with the
# vocabulary, which grows with the 0.634th power of the number of words.
RANKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
PER_1000 = (26.7, 22.2, 12.4, 7.25, 3.85, 1.85, 1.07, 0.67, 0.32, 0.17, 0.08, 0.021)
GROWTH = 0.634
WORDS_SEEN = 7.8
WORDS_A_PRODUCT = 108
WORDS_UNSEEN = 2
"""Ratio of the size of the vocabulary to the expected number of distinct words drawn."""
TOPICS_BY_ROOT = 8
"""Number of topics per square root of the number of products: 246 topics for 1,000 products."""
TOPIC_WORDS = 200
TOPICAL_RANKS = (60, 30_000)
SHARE_TOPICAL, SHARE_REPEATED = 0.3, 0.32
N_KNOTS = 1 << 16
SHORT_WORDS = 400
NUMBER_EVERY = 12
"""Interval of ranks at which a word is a number."""

FUNCTION_WORDS = (
    "and", "the", "for", "with", "to", "of", "a", "is", "in", "your", "you", "it", "or", "this", "that", "on", "from",
    "can", "are", "be", "as", "our", "by", "not", "have", "will", "all", "more", "up", "we", "any", "has", "at", "if",
    "an", "no", "so", "they", "also", "when", "which", "other", "out", "after", "into", "over", "only", "just", "its",
    "than", "each", "do", "without", "use", "one", "two", "time", "about", "these", "was", "their", "there", "them",
    "then", "but", "some", "such",
)  # fmt: skip
CONSONANTS, VOWELS = "bcdfghklmnprstvz", "aeiou"


class Lexicon:
    """A vocabulary ordered by frequency, and numbered topics.

    Args:
        n_products: Number of products. More products need more words and topics.
        seed: Random seed.
    """

    def __init__(self, n_products: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        n_words = int(WORDS_UNSEEN * WORDS_SEEN * (WORDS_A_PRODUCT * max(n_products, 1000)) ** GROWTH)
        self._words = np.array(_words(n_words, rng), object)
        self._ranks = _Random(_frequencies(n_words))
        n_topics = int(TOPICS_BY_ROOT * n_products**0.5)
        self._topics = _Random((np.arange(n_topics) + 10.0) ** -0.6)
        low, high = np.log(TOPICAL_RANKS)
        ranks = np.exp(rng.uniform(low, high, (n_topics, TOPIC_WORDS))).astype(np.int64)
        self._topical = np.minimum(ranks, n_words - 1)
        self._places = _Random(1.0 / (np.arange(TOPIC_WORDS) + 3.0))

    def topics(self, rng: np.random.Generator, n: int) -> Ints:
        """Draw topics."""
        return self._topics.throw(rng, n)

    def words(self, rng: np.random.Generator, topics: Ints) -> list[str]:
        """Draw a word for each topic: any word, a word of the topic, or a recently drawn word."""
        n = len(topics)
        ranks = self._ranks.throw(rng, n)
        topical = np.flatnonzero(rng.random(n) < SHARE_TOPICAL)
        ranks[topical] = self._topical[topics[topical], self._places.throw(rng, len(topical))]
        repeated = np.flatnonzero(rng.random(n) < SHARE_REPEATED)
        earlier = np.maximum(repeated - rng.integers(1, 30, len(repeated)), 0)
        same = topics[earlier] == topics[repeated]
        ranks[repeated[same]] = ranks[earlier[same]]
        words: list[str] = self._words[ranks].tolist()
        return words

    def name(self, topic: int) -> list[str]:
        """Return the name of a topic: one to three words that few other topics use."""
        return [str(word) for word in self._words[self._topical[topic, : 1 + topic % 3]]]

    def attribute(self, topic: int, number: int) -> str:
        """Return a two-word phrase of a topic."""
        first = 5 + number * 2 % (TOPIC_WORDS // 2)
        return " ".join(self._words[self._topical[topic, first : first + 2]])


class _Random:
    """Draws indices by weight in constant time, with a piecewise linear inverse of the distribution."""

    def __init__(self, weights: NDArray[np.floating[Any]]) -> None:
        cumulated = np.cumsum(weights)
        self._n = len(weights)
        edges = np.concatenate([[0.0], cumulated / cumulated[-1]])
        self._knots = np.interp(np.linspace(0.0, 1.0, N_KNOTS + 1), edges, np.arange(self._n + 1.0))

    def throw(self, rng: np.random.Generator, n: int) -> Ints:
        at = rng.random(n) * N_KNOTS
        knot = at.astype(np.int64)
        low = self._knots[knot]
        drawn = low + (at - knot) * (self._knots[knot + 1] - low)
        places: Ints = np.minimum(drawn.astype(np.int64), self._n - 1)
        return places


def _frequencies(n_words: int) -> NDArray[np.float64]:
    last = PER_1000[-1] * (n_words / RANKS[-1]) ** (-1 / GROWTH)
    ranks = np.log(np.arange(1.0, n_words + 1))
    frequencies: NDArray[np.float64] = np.exp(np.interp(ranks, np.log([*RANKS, n_words]), np.log([*PER_1000, last])))
    return frequencies


def _words(n_words: int, rng: np.random.Generator) -> list[str]:
    """Return function words, then invented words and numbers. Rarer words are longer."""
    syllables = [consonant + vowel for consonant in CONSONANTS for vowel in VOWELS]
    orders = [[syllables[place] for place in rng.permutation(len(syllables))] for _ in range(5)]
    words = list(FUNCTION_WORDS)
    for number in range(n_words - len(words)):
        words.append(str(number) if number % NUMBER_EVERY == 0 else _invented(number, orders))
    return words[:n_words]


def _invented(number: int, orders: Sequence[Sequence[str]]) -> str:
    """Build a word from the syllables of a number: two for the most frequent words, then three, four and so on."""
    base, n_syllables = len(orders[0]), 2
    if number >= SHORT_WORDS:
        number, n_syllables = number - SHORT_WORDS, 3
    while number >= base**n_syllables:
        number, n_syllables = number - base**n_syllables, n_syllables + 1
    parts = []
    for order in orders[:n_syllables]:
        number, place = divmod(number, base)
        parts.append(order[place])
    return "".join(reversed(parts))
