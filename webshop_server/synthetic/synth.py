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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from webshop_server.goals import FROZEN_FILE, limit_text, placed, price_limit
from webshop_server.storage.atomic import write_atomically
from webshop_server.synthetic.lexicon import Lexicon

FULL_SIZE = 1_180_000
FILES = ("items_shuffle.json", "items_ins_v2.json", "items_human_ins.json", FROZEN_FILE)
_BLOCK = 2000


class _Generated(NamedTuple):
    """A product's record, its entry in the attributes file, and for some products a goal."""

    record: dict[str, Any]
    annotation: dict[str, Any]
    goal: dict[str, Any] | None


def write_catalog(
    folder: Path, n_products: int, *, seed: int = 0, wrote: Callable[[int], None] = lambda n: None
) -> None:
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
        goals: list[dict[str, Any]] = []
        items.write("[")
        annotations.write("{")
        for position, (record, annotation, goal) in enumerate(_generated(n_products, seed)):
            between = ",\n" if position else "\n"
            items.write(between + json.dumps(record))
            annotations.write(f"{between}{json.dumps(record['asin'])}: {json.dumps(annotation)}")
            if goal:
                goals.append(goal)
            if (position + 1) % _BLOCK == 0:
                wrote(position + 1)
        items.write("\n]\n")
        annotations.write("\n}\n")
        goals.sort(key=lambda goal: int(goal["goal_id"].partition("-")[2]))
        human.write(
            json.dumps(
                {
                    goal["asin"]: [
                        {
                            "asin": goal["asin"],
                            "instruction": goal["instruction"].partition(", and price")[0],
                            "attributes": goal["attributes"],
                            "options": goal["options"],
                            "instruction_attributes": goal["attributes"],
                            "instruction_options": goal["options"],
                            "assignment_id": "",
                            "worker_id": "",
                        }
                    ]
                    for goal in goals
                }
            )
        )
        frozen.writelines(json.dumps(goal) + "\n" for goal in goals)


def _generated(n_products: int, seed: int) -> Iterator[_Generated]:
    """Generate products block by block. Each block has its own random generators."""
    lexicon = Lexicon(n_products, seed)
    chosen = random.Random(f"{seed}:goals").sample(range(n_products), min(2000, n_products))
    goals = {position: number for number, position in enumerate(chosen)}
    for first in range(0, n_products, _BLOCK):
        rng = np.random.default_rng([seed, 1, first])
        draw = random.Random(f"{seed}:{first}")
        size = min(_BLOCK, n_products - first)
        # The texts of a product: title, description and bullets.
        topics = lexicon.topics(rng, size)
        n_texts = 2 + _bent(rng.random(size), (1, 1, 4, 5, 5, 7, 8, 8))
        starts = np.cumsum(n_texts) - n_texts
        lengths = _bent(rng.random(int(n_texts.sum())), (0, 2, 7, 17, 33, 50, 95, 290))
        lengths[starts] = _bent(rng.random(size), (3, 7, 11, 17, 24, 28, 34, 40))
        lengths[starts + 1] = _bent(rng.random(size), (0, 0, 0, 47, 126, 214, 302, 900))
        words = lexicon.words(rng, np.repeat(topics, np.add.reduceat(lengths, starts)))
        ends = np.cumsum(lengths).tolist()
        begins = [0, *ends]
        blocks = zip(topics.tolist(), starts.tolist(), n_texts.tolist(), strict=True)
        for position, (topic, start, n) in enumerate(blocks, start=first):
            texts = [words[begins[place] : ends[place]] for place in range(start, start + n)]
            yield _product(lexicon, draw, position, topic=topic, texts=texts, goal_number=goals.get(position))


def _product(
    lexicon: Lexicon,
    draw: random.Random,
    position: int,
    *,
    topic: int,
    texts: Sequence[list[str]],
    goal_number: int | None,
) -> _Generated:
    """Generate one product from its topic and words."""
    words, description, *bullets = texts
    name = lexicon.name(topic)
    title, kind = [*words, *name], " ".join(name)
    category = ("beauty", "electronics", "garden", "fashion", "grocery")[topic % 5]
    n_attributes = int(_bent(draw.random(), (1, 1, 1, 2, 4, 5, 13, 27)))
    attributes = list(dict.fromkeys(lexicon.attribute(topic, place) for place in draw.sample(range(81), n_attributes)))
    # The multiplier spreads the ids. It is coprime to 36, so that different numbers get different ids.
    number, digits = position * 1_103_515_247 % 36**8, ""
    for _ in range(8):
        number, digit = divmod(number, 36)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    asin = f"B0{digits}"
    image = f"https://images.example.org/catalogue/products/{asin}/{{}}-1500px.jpg"
    options = _options(draw, title, image)
    signs = ("\u201d ", "\u2019s ", " \u2605 ", "\u00ae ", "\u3011", " \u2013 ")
    sign = draw.choice(signs) if draw.random() < 0.382 else " "
    pricing, price, chance = "", 100.0, draw.random()
    if chance >= 0.09:
        price = round(27.0 * math.exp(draw.gauss(0.0, 1.1)) + 0.5, 2)
        pricing = f"${price:,.2f}"
    if 0.09 <= chance < 0.09 + 0.093:
        price = round(1.4 * price, 2)
        pricing += f" to ${price:,.2f}"
    features = [_sentences(bullet, sign) for bullet in bullets]
    for place, attribute in enumerate(attributes[: len(features)]):
        features[place] = f"{attribute} {features[place]}".strip()
    record = {
        "asin": asin,
        "name": " ".join(title).title(),
        "category": category,
        "query": kind,
        "product_category": " \u203a ".join((category.title(), name[0].title(), kind.title())),
        "full_description": _sentences(description, sign),
        "small_description": features,
        "pricing": pricing,
        "images": [image.format(number) for number in range(6)],
        "customization_options": options or "",
        "average_rating": "",
        "page": position % 400,
    }
    wanted = attributes[:2]
    instruction = f"i am looking for {kind} that is {' and '.join(wanted)}"
    annotation: dict[str, Any] = {"attributes": attributes}
    if draw.random() < 0.415:
        annotation |= {"instruction": instruction, "instruction_attributes": wanted}
    if goal_number is None:
        return _Generated(record, annotation, None)
    chosen = [draw.choice(values)["value"] for values in options.values()]
    text = f"{instruction}, {' '.join(draw.sample(title, min(3, len(title))))}"
    limit = price_limit(asin, price)
    split, difficulty = placed(goal_number, len(wanted) + len(chosen))
    goal = {
        "goal_id": f"synthetic-{goal_number}",
        "split": split,
        "difficulty": difficulty,
        "asin": asin,
        "instruction": f"{text}{''.join(f', {value}' for value in chosen)}{limit_text(limit)}",
        "attributes": wanted,
        "options": chosen,
        "price_upper": limit,
        "weight": 1.0,
    }
    return _Generated(record, annotation, goal)


def _options(draw: random.Random, title: Sequence[str], image: str) -> dict[str, list[dict[str, str]]]:
    colours = (
        *("black", "white", "blue", "red", "green", "grey", "pink", "purple", "brown", "navy", "beige", "gold"),
        *("silver", "orange", "yellow", "teal"),
    )
    sizes = (
        *("small", "medium", "large", "x-large", "xx-large", "one size"),
        *("6", "7", "8", "9", "10", "11", "12", "6 ounce", "12 ounce", "pack of 2"),
    )
    (n_options,) = draw.choices(range(4), (0.577, 0.245, 0.165, 0.013))
    options = {}
    for name, values in draw.sample((("color", colours), ("size", sizes), ("style", title)), n_options):
        n_values = min(int(_bent(draw.random(), (2, 2, 3, 4, 6, 10, 31, 45))), len(values))
        pictured = draw.random() < 0.45
        chosen = dict.fromkeys(draw.sample(values, n_values))
        options[name] = [{"value": value, "image": image.format(value) if pictured else ""} for value in chosen]
    return options


def _bent(drawn: float | NDArray[np.float64], quantiles: Sequence[int]) -> NDArray[np.int64]:
    """Turn uniform numbers into lengths or counts with these quantiles at 0, 10, 25, 50, 75, 90, 99 and 100 %."""
    at = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 1.0)
    return np.asarray(np.interp(drawn, at, quantiles) + 0.5).astype(np.int64)


def _sentences(words: Sequence[str], sign: str) -> str:
    """Join words to a text, with the sign after the fourth word and a full stop after every twelfth."""
    parts = [" ".join(words[start : start + 12]).capitalize() for start in range(4, len(words), 12)]
    head = " ".join(words[:4]).capitalize()
    return f"{head}{sign}{'. '.join(parts)}".strip()
