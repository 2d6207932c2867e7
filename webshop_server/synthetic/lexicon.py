"""Invents words with the frequencies of shop texts, and topics with preferred words."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


class Lexicon:
    """A vocabulary ordered by frequency, and numbered topics.

    Args:
        n_products: Number of products. More products need more words and topics.
        seed: Random seed.
    """

    def __init__(self, n_products: int, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        # The number of distinct words grows with the 0.634th power of the number of words, 108 a product. Half of the
        # vocabulary is so rare that it is not drawn.
        n_words = int(2 * 7.8 * (108 * max(n_products, 1000)) ** 0.634)
        self._words = np.array(_words(n_words, rng), object)
        # Occurrences per 1,000 words by rank of the word, in 1,000 products of the original, and a tail that grows.
        ranks = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, n_words)
        per_1000 = (26.7, 22.2, 12.4, 7.25, 3.85, 1.85, 1.07, 0.67, 0.32, 0.17, 0.08, 0.021)
        last = per_1000[-1] * (n_words / 5000) ** (-1 / 0.634)
        numbers = np.log(np.arange(1.0, n_words + 1))
        self._ranks = _Random(np.exp(np.interp(numbers, np.log(ranks), np.log([*per_1000, last]))))
        n_topics = int(8 * n_products**0.5)  # 1,000 products of the original have 246
        self._topics = _Random((np.arange(n_topics) + 10.0) ** -0.6)
        n_topic_words = 200
        low, high = np.log((60, 30_000))
        topical = np.exp(rng.uniform(low, high, (n_topics, n_topic_words))).astype(np.int64)
        self._topical = np.minimum(topical, n_words - 1)
        self._places = _Random(1.0 / (np.arange(n_topic_words) + 3.0))

    def topics(self, rng: np.random.Generator, n: int) -> Ints:
        """Draw topics."""
        return self._topics.throw(rng, n)

    def words(self, rng: np.random.Generator, topics: Ints) -> list[str]:
        """Draw a word for each topic: any word, a word of the topic, or a recently drawn word."""
        n = len(topics)
        ranks = self._ranks.throw(rng, n)
        topical = np.flatnonzero(rng.random(n) < 0.3)
        ranks[topical] = self._topical[topics[topical], self._places.throw(rng, len(topical))]
        repeated = np.flatnonzero(rng.random(n) < 0.32)
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
        first = 5 + number * 2 % (self._topical.shape[1] // 2)
        return " ".join(self._words[self._topical[topic, first : first + 2]])


class _Random:
    """Draws indices by weight in constant time, with a piecewise linear inverse of the distribution."""

    def __init__(self, weights: NDArray[np.floating[Any]]) -> None:
        cumulated = np.cumsum(weights)
        self._n = len(weights)
        edges = np.concatenate([[0.0], cumulated / cumulated[-1]])
        self._knots = np.interp(np.linspace(0.0, 1.0, (1 << 16) + 1), edges, np.arange(self._n + 1.0))

    def throw(self, rng: np.random.Generator, n: int) -> Ints:
        at = rng.random(n) * (1 << 16)
        knot = at.astype(np.int64)
        low = self._knots[knot]
        drawn = low + (at - knot) * (self._knots[knot + 1] - low)
        places: Ints = np.minimum(drawn.astype(np.int64), self._n - 1)
        return places


def _words(n_words: int, rng: np.random.Generator) -> list[str]:
    """Return function words, then invented words, and a number every 12 words. Rarer words are longer."""
    syllables = [consonant + vowel for consonant in "bcdfghklmnprstvz" for vowel in "aeiou"]
    base = len(syllables)
    orders = [[syllables[place] for place in rng.permutation(base)] for _ in range(5)]
    words = [
        "and", "the", "for", "with", "to", "of", "a", "is", "in", "your", "you", "it", "or", "this", "that", "on",
        "from", "can", "are", "be", "as", "our", "by", "not", "have", "will", "all", "more", "up", "we", "any", "has",
        "at", "if", "an", "no", "so", "they", "also", "when", "which", "other", "out", "after", "into", "over",
        "only", "just", "its", "than", "each", "do", "without", "use", "one", "two", "time", "about", "these", "was",
        "their", "there", "them", "then", "but", "some", "such",
    ]  # fmt: skip
    for number in range(n_words - len(words)):
        if number % 12 == 0:
            words.append(str(number))
            continue
        # The syllables of a number: two for the most frequent words, then three, four and so on.
        n_syllables, left = (2, number) if number < 400 else (3, number - 400)
        while left >= base**n_syllables:
            left, n_syllables = left - base**n_syllables, n_syllables + 1
        word = ""
        for order in orders[:n_syllables]:
            left, place = divmod(left, base)
            word = order[place] + word
        words.append(word)
    return words[:n_words]
