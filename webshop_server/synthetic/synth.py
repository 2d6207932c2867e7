"""Generates synthetic catalogues of any size in the official file format, to test the shop at full scale.

Their statistics (lengths of titles, descriptions and bullets, numbers of options, word frequencies, shares of price
ranges and missing prices) are those of 1,000 products of the original. All words are invented, except for function
words, colours and sizes. A catalogue is written in bounded memory and depends only on seed and size. Its goals are
for measuring search. To measure agents, use the goals that come with the package.
"""

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from webshop_server.goals import FROZEN_FILE, HARD_FROM, SPLITS
from webshop_server.limits import limit_text, price_limit
from webshop_server.storage.atomic import write_atomically
from webshop_server.synthetic.lexicon import Lexicon

__all__ = ["FULL_SIZE", "write_catalog"]

FULL_SIZE = 1_180_000
PRODUCTS_A_BLOCK = 2000
MAX_GOALS = 2000
FILES = ("items_shuffle.json", "items_ins_v2.json", "items_human_ins.json", FROZEN_FILE)

# Quantiles of lengths in words and of counts, at 0, 10, 25, 50, 75, 90, 99 and 100 %.
AT = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
TITLE_WORDS = (3, 7, 11, 17, 24, 28, 34, 40)
DESCRIPTION_WORDS = (0, 0, 0, 47, 126, 214, 302, 900)
BULLET_WORDS = (0, 2, 7, 17, 33, 50, 95, 290)
N_BULLETS = (1, 1, 4, 5, 5, 7, 8, 8)
N_VALUES = (2, 2, 3, 4, 6, 10, 31, 45)
N_ATTRIBUTES = (1, 1, 1, 2, 4, 5, 13, 27)
SHARE_OPTIONS = (0.577, 0.245, 0.165, 0.013)
SHARE_INSTRUCTED, SHARE_PRICELESS, SHARE_RANGED, SHARE_SIGNED = 0.415, 0.09, 0.093, 0.382
MEDIAN_PRICE, PRICE_SPREAD = 27.0, 1.1
N_IMAGES = 6
IMAGE = "https://images.example.org/catalogue/products/{}/{}-1500px.jpg"
SHARE_PICTURED = 0.45

CATEGORIES = ("beauty", "electronics", "garden", "fashion", "grocery")
COLOURS = (
    *("black", "white", "blue", "red", "green", "grey", "pink", "purple", "brown", "navy", "beige", "gold", "silver"),
    *("orange", "yellow", "teal"),
)
SIZES = (
    *("small", "medium", "large", "x-large", "xx-large", "one size", "6", "7", "8", "9", "10", "11", "12"),
    *("6 ounce", "12 ounce", "pack of 2"),
)
SIGNS = ("\u201d ", "\u2019s ", " \u2605 ", "\u00ae ", "\u3011", " \u2013 ")
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SCATTER = 1_103_515_247
"""Multiplier that spreads ids. It is coprime to 36, so that different numbers get different ids."""

Wrote = Callable[[int], None]


class SyntheticCatalog(NamedTuple):
    """A product's record, its entry in the attributes file, and for some products a goal."""

    record: dict[str, Any]
    annotation: dict[str, Any]
    goal: dict[str, Any] | None


def write_catalog(folder: Path, n_products: int, *, seed: int = 0, wrote: Wrote | None = None) -> None:
    """Write `items_shuffle.json`, `items_ins_v2.json`, `items_human_ins.json` and `goals.jsonl`.

    Args:
        folder: The folder to write to, created if missing. Files are renamed when all are complete.
        n_products: Number of products. The original has 1,180,000.
        seed: Random seed.
        wrote: Called with the number of products written so far.

    Raises:
        ValueError: `n_products` is less than 1.
    """
    if n_products < 1:
        raise ValueError(f"expected at least 1 product, got {n_products}; the original has {FULL_SIZE}")
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        parts = [stack.enter_context(write_atomically(folder / name)) for name in FILES]
        # Opened last, so that all are closed before the first gets its name.
        items, annotations, human, frozen = (stack.enter_context(part.open("w", encoding="utf-8")) for part in parts)
        goals = _write_products(generated_products(n_products, seed), items, annotations, wrote)
        human.write(json.dumps({goal["asin"]: [_human(goal)] for goal in goals}))
        frozen.writelines(json.dumps(goal) + "\n" for goal in goals)


def generated_products(n_products: int, seed: int) -> Iterator[SyntheticCatalog]:
    """Generate products block by block. Each block has its own random generators."""
    lexicon = Lexicon(n_products, seed)
    chosen = random.Random(f"{seed}:goals").sample(range(n_products), min(MAX_GOALS, n_products))
    goals = {position: number for number, position in enumerate(chosen)}
    for first in range(0, n_products, PRODUCTS_A_BLOCK):
        rng = np.random.default_rng([seed, 1, first])
        draw = random.Random(f"{seed}:{first}")
        size = min(PRODUCTS_A_BLOCK, n_products - first)
        for position, (topic, texts) in enumerate(_block(lexicon, rng, size), start=first):
            generator = _Generator(lexicon, draw, position, topic=topic, texts=texts)
            yield generator.generate(goals.get(position))


def _write_products(
    products: Iterator[SyntheticCatalog], items: TextIO, annotations: TextIO, wrote: Wrote | None
) -> list[dict[str, Any]]:
    goals: list[dict[str, Any]] = []
    items.write("[")
    annotations.write("{")
    for position, (record, annotation, goal) in enumerate(products):
        between = ",\n" if position else "\n"
        items.write(between + json.dumps(record))
        annotations.write(f"{between}{json.dumps(record['asin'])}: {json.dumps(annotation)}")
        if goal:
            goals.append(goal)
        if wrote and (position + 1) % PRODUCTS_A_BLOCK == 0:
            wrote(position + 1)
    items.write("\n]\n")
    annotations.write("\n}\n")
    return sorted(goals, key=lambda goal: int(goal["goal_id"].partition("-")[2]))


def _block(lexicon: Lexicon, rng: np.random.Generator, size: int) -> Iterator[tuple[int, list[list[str]]]]:
    """Draw topics and texts (title, description, bullets) of a block of products, as lists of words."""
    topics = lexicon.topics(rng, size)
    n_texts = 2 + _bent(rng, N_BULLETS, size)
    starts = np.cumsum(n_texts) - n_texts
    lengths = _bent(rng, BULLET_WORDS, int(n_texts.sum()))
    lengths[starts] = _bent(rng, TITLE_WORDS, size)
    lengths[starts + 1] = _bent(rng, DESCRIPTION_WORDS, size)
    words = lexicon.words(rng, np.repeat(topics, np.add.reduceat(lengths, starts)))
    ends = np.cumsum(lengths).tolist()
    begins = [0, *ends]
    for topic, start, n in zip(topics.tolist(), starts.tolist(), n_texts.tolist(), strict=True):
        yield topic, [words[begins[place] : ends[place]] for place in range(start, start + n)]


class _Generator:
    """Generates one product from its topic and words."""

    def __init__(
        self, lexicon: Lexicon, draw: random.Random, position: int, *, topic: int, texts: Sequence[list[str]]
    ) -> None:
        self._draw = draw
        self._position = position
        title, self._description, *self._bullets = texts
        self._kind = lexicon.name(topic)
        self._title = [*title, *self._kind]
        self._category = CATEGORIES[topic % len(CATEGORIES)]
        n_attributes = int(np.interp(draw.random(), AT, N_ATTRIBUTES) + 0.5)
        numbers = draw.sample(range(3 * max(N_ATTRIBUTES)), n_attributes)
        self._attributes = list(dict.fromkeys(lexicon.attribute(topic, number) for number in numbers))
        self._asin = _asin(position)

    def generate(self, goal_number: int | None) -> SyntheticCatalog:
        draw = self._draw
        options = self._options()
        sign = draw.choice(SIGNS) if draw.random() < SHARE_SIGNED else " "
        pricing, price = self._pricing()
        kind = " ".join(self._kind)
        record = {
            "asin": self._asin,
            "name": " ".join(self._title).title(),
            "category": self._category,
            "query": kind,
            "product_category": " \u203a ".join((self._category.title(), self._kind[0].title(), kind.title())),
            "full_description": _sentences(self._description, sign),
            "small_description": self._features(sign),
            "pricing": pricing,
            "images": [IMAGE.format(self._asin, number) for number in range(N_IMAGES)],
            "customization_options": options or "",
            "average_rating": "",
            "page": self._position % 400,
        }
        attributes = self._attributes[:2]
        instruction = f"i am looking for {kind} that is {' and '.join(attributes)}"
        annotation: dict[str, Any] = {"attributes": self._attributes}
        if draw.random() < SHARE_INSTRUCTED:
            annotation |= {"instruction": instruction, "instruction_attributes": attributes}
        if goal_number is None:
            return SyntheticCatalog(record, annotation, None)
        chosen = [draw.choice(values)["value"] for values in options.values()]
        text = f"{instruction}, {' '.join(draw.sample(self._title, min(3, len(self._title))))}"
        return SyntheticCatalog(
            record, annotation, _goal(goal_number, self._asin, text, attributes=attributes, options=chosen, price=price)
        )

    def _options(self) -> dict[str, list[dict[str, str]]]:
        draw = self._draw
        (n_options,) = draw.choices(range(4), SHARE_OPTIONS)
        options = {}
        for name, values in draw.sample((("color", COLOURS), ("size", SIZES), ("style", self._title)), n_options):
            n_values = min(int(np.interp(draw.random(), AT, N_VALUES) + 0.5), len(values))
            pictured = draw.random() < SHARE_PICTURED
            chosen = dict.fromkeys(draw.sample(values, n_values))
            images = [IMAGE.format(self._asin, value) if pictured else "" for value in chosen]
            options[name] = [{"value": v, "image": image} for v, image in zip(chosen, images, strict=True)]
        return options

    def _pricing(self) -> tuple[str, float]:
        """Return the price text and the highest price of the product."""
        draw = self._draw
        chance = draw.random()
        if chance < SHARE_PRICELESS:
            return "", 100.0
        price = round(MEDIAN_PRICE * math.exp(draw.gauss(0.0, PRICE_SPREAD)) + 0.5, 2)
        if chance < SHARE_PRICELESS + SHARE_RANGED:
            most = round(1.4 * price, 2)
            return f"${price:,.2f} to ${most:,.2f}", most
        return f"${price:,.2f}", price

    def _features(self, sign: str) -> list[str]:
        features = [_sentences(bullet, sign) for bullet in self._bullets]
        for number, attribute in enumerate(self._attributes[: len(features)]):
            features[number] = f"{attribute} {features[number]}".strip()
        return features


def _goal(
    number: int, asin: str, instruction: str, *, attributes: list[str], options: list[str], price: float
) -> dict[str, Any]:
    limit = price_limit(asin, price)
    listed = "".join(f", {value}" for value in options)
    return {
        "goal_id": f"synthetic-{number}",
        "split": next((name for name, end in SPLITS if number < end), "train"),
        "difficulty": "hard" if len(attributes) + len(options) >= HARD_FROM else "easy",
        "asin": asin,
        "instruction": f"{instruction}{listed}{limit_text(limit)}",
        "attributes": attributes,
        "options": options,
        "price_upper": limit,
        "weight": 1.0,
    }


def _human(goal: dict[str, Any]) -> dict[str, Any]:
    return {
        "asin": goal["asin"],
        "instruction": goal["instruction"].partition(", and price")[0],
        "attributes": goal["attributes"],
        "options": goal["options"],
        "instruction_attributes": goal["attributes"],
        "instruction_options": goal["options"],
        "assignment_id": "",
        "worker_id": "",
    }


def _bent(rng: np.random.Generator, quantiles: Sequence[int], n: int) -> NDArray[np.int64]:
    """Draw integers with these quantiles."""
    return (np.interp(rng.random(n), AT, quantiles) + 0.5).astype(np.int64)


def _sentences(words: Sequence[str], sign: str) -> str:
    """Join words to a text, with the sign after the fourth word and a full stop after every twelfth."""
    parts = [" ".join(words[start : start + 12]).capitalize() for start in range(4, len(words), 12)]
    head = " ".join(words[:4]).capitalize()
    return f"{head}{sign}{'. '.join(parts)}".strip()


def _asin(position: int) -> str:
    number = position * SCATTER % 36**8
    digits = []
    for _ in range(8):
        number, digit = divmod(number, 36)
        digits.append(DIGITS[digit])
    return "B0" + "".join(reversed(digits))
