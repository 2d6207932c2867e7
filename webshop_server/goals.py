"""Shopping goals, read from the official files or from a frozen list.

Official goals follow the original WebShop. Human goals are its collected instructions. Synthetic goals have
one instruction per combination of a product's options. Both have a random price limit and are shuffled with
seed 233. The original draws the limits before it sets a seed, so they differ between two starts. This module
draws them from a fixed seed and the product's id. A file `goals.jsonl` in the folder (one goal per line)
freezes a list of goals. `python -m webshop_server.goals DIR` writes such a file.
"""

import argparse
import itertools
import json
import math
import random
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from webshop_server.catalog import Catalog, Product
from webshop_server.storage.atomic import write_atomically
from webshop_server.storage.json_files import find_file, read_json
from webshop_server.storage.loading import open_products

FROZEN_FILE = "goals.jsonl"
KINDS = ("synthetic", "human")
NO_LIMIT = 1_000_000.0
"""The price limit of a goal without one, in dollars."""

GoalOption = str | tuple[str, str]


class GoalError(ValueError):
    """A goal can't be read or scored. The error text names the file and the line or record."""


@dataclass(frozen=True, slots=True, eq=False)
class Goal:
    """One thing to buy. Compared by identity.

    `options` are values (human goals, AgentBoard) or (name, value) pairs (synthetic goals). The original
    scores the two forms differently. `price_upper` is in dollars. `weight` is the relative sampling weight.
    """

    goal_id: str
    asin: str
    name: str
    query: str
    product_category: str
    category: str
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[GoalOption, ...]
    price_upper: float
    weight: float = 1.0
    difficulty: str = ""
    split: str = ""

    @property
    def option_values(self) -> tuple[str, ...]:
        """The option values of the goal, without names."""
        return tuple(option if isinstance(option, str) else option[1] for option in self.options)


class Goals(tuple[Goal, ...]):
    """Goals in order, by id and by split."""

    def __init__(self, goals: Iterable[Goal]) -> None:
        self._by_id = {goal.goal_id: goal for goal in self}
        splits: dict[str, list[Goal]] = {}
        for goal in self:
            splits.setdefault(goal.split, []).append(goal)
        self._splits = {name: tuple(members) for name, members in splits.items()}

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that contain goals."""
        return tuple(self._splits)

    def split(self, name: str) -> tuple[Goal, ...]:
        """The goals of a split, in order.

        Raises:
            KeyError: No goal has this split. The error text lists the known splits.
        """
        if name not in self._splits:
            raise KeyError(f"expected a split, one of {', '.join(self._splits)}; got {name!r}")
        return self._splits[name]

    def by_id(self, goal_id: str) -> Goal:
        """The goal with this id.

        Raises:
            KeyError: There is no such goal. The error text shows the form of the known ids.
        """
        if goal_id not in self._by_id:
            known = list(self._by_id)
            shown = ", ".join(known[:3]) + (f" ... {known[-1]}" if len(known) > 3 else "")
            raise KeyError(f"expected the id of one of {len(known)} goals ({shown}); got {goal_id!r}")
        return self._by_id[goal_id]


def load_goals(folder: str | Path, catalog: Catalog, kind: str | None = None, *, first: int | None = None) -> Goals:
    """Read the goals of a folder.

    Args:
        folder: The folder with `goals.jsonl` or the official files.
        catalog: The products of the same folder.
        kind: "synthetic" or "human" builds these goals from the official files. None reads `goals.jsonl` if
            it exists, else builds synthetic goals.
        first: Maximum number of synthetic goals to build. The full set of products has millions.

    Raises:
        FileNotFoundError: `items_human_ins*.json` is missing and `kind` is "human".
        GoalError: A goal is malformed or can't be scored, or there are no goals.
        ValueError: `kind` has another value.
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"expected a kind of goals, one of {', '.join(KINDS)}; got {kind!r}")
    frozen = Path(folder) / FROZEN_FILE
    if kind is None and frozen.exists():
        goals = _read_frozen(frozen, catalog)
    else:
        if kind == "human":
            goals = _human_goals(folder, catalog)
            random.Random(233).shuffle(goals)
        elif first is None and len(catalog) > 100_000:
            raise GoalError(
                f"expected {FROZEN_FILE} in {folder} or goals='human' for {len(catalog)} products, whose synthetic "
                f"goals would fill the memory; freeze some: python -m webshop_server.goals {folder} --first 12000"
            )
        else:
            goals = _synthetic_goals(catalog, first)
        for index, goal in enumerate(goals):
            split, difficulty = placed(index, len(goal.attributes) + len(goal.options))
            goals[index] = replace(goal, goal_id=f"{kind or 'synthetic'}-{index}", split=split, difficulty=difficulty)
    if not goals:
        raise GoalError(f"expected at least one goal in {folder}, got none; no product has an instruction")
    return Goals(goals)


def placed(position: int, n_terms: int) -> tuple[str, str]:
    """Return the split and the difficulty of an official goal.

    Args:
        position: Its position after the shuffle.
        n_terms: Number of its attributes and options. From 6 on it counts as hard (AgentBoard's rule is unknown).
    """
    split = "test" if position < 500 else "dev" if position < 1500 else "train"
    return split, "hard" if n_terms >= 6 else "easy"


def price_limit(key: str, price: float) -> float:
    """Draw a price limit in dollars: the larger of two of the first four multiples of 10 above the price.

    Only multiples up to 990 count. If fewer than two are left, the result is `NO_LIMIT`.
    """
    above = [10.0 * step for step in range(1, 100) if 10.0 * step > price][:4]
    return max(random.Random(f"233:limit:{key}").sample(above, 2)) if len(above) >= 2 else NO_LIMIT


def limit_text(limit: float) -> str:
    """The end of an instruction with this price limit."""
    return "" if limit == NO_LIMIT else f", and price lower than {limit:.2f} dollars"


def write_goals(path: str | Path, goals: Iterable[Goal]) -> None:
    """Write goals to a file, one JSON object per line. `load_goals` reads it back."""
    with write_atomically(Path(path)) as part, part.open("w", encoding="utf-8") as lines:
        for goal in goals:
            named = bool(goal.options) and not isinstance(goal.options[0], str)
            record = {name: getattr(goal, name) for name in ("goal_id", "split", "difficulty", "asin", "instruction")}
            record["attributes"] = goal.attributes
            record["options"] = dict(goal.options) if named else goal.options  # type: ignore[arg-type]
            record |= {"price_upper": goal.price_upper, "weight": goal.weight}
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")


def _goal(
    product: Product, instruction: str, attributes: Sequence[str], options: Sequence[GoalOption], limit: float
) -> Goal:
    return Goal(
        goal_id="",
        **{name: getattr(product, name) for name in ("asin", "name", "query", "product_category", "category")},
        instruction=instruction,
        attributes=tuple(attributes),
        options=tuple(options),
        price_upper=limit,
    )


def _synthetic_goals(catalog: Catalog, first: int | None) -> list[Goal]:
    """Build the first synthetic goals after the shuffle, or all. The others are counted but not built."""
    counts: Counter[str] = Counter()
    n_goals = array("q")
    for product, _ in _instructed(catalog):
        n_goals.append(math.prod(map(len, product.options.values())))
        for attribute in product.instruction_attributes:
            counts[attribute] += n_goals[-1]
    order = array("q", range(sum(n_goals)))
    random.Random(233).shuffle(order)
    places = {number: place for place, number in enumerate(order[:first])}
    goals: dict[int, Goal] = {}
    number = 0
    for product, instruction in _instructed(catalog):
        names, attributes = sorted(product.options), product.instruction_attributes
        for values in itertools.product(*(product.options[name] for name in names)):
            if number in places:
                options = tuple(zip(names, values, strict=True))
                listed = ", and ".join(f"{name}: {value}" for name, value in options)
                limit = price_limit(product.asin, product.price)
                text = f"{instruction}{f' with {listed}' if listed else ''}{limit_text(limit)}"
                rarity = sum(1.0 / counts[attribute] for attribute in attributes) / len(attributes)
                goals[places[number]] = replace(_goal(product, text, attributes, options, limit), weight=rarity)
            number += 1
    return [goals[place] for place in range(len(goals))]


def _instructed(catalog: Catalog) -> Iterator[tuple[Product, str]]:
    for product in catalog:
        if product.instruction is not None:
            if not product.instruction_attributes:
                message = "expected instruction_attributes with the instruction, got none"
                raise GoalError(f"items_ins_v2, asin {product.asin}: {message}; add at least one")
            yield product, product.instruction


def _human_goals(folder: str | Path, catalog: Catalog) -> list[Goal]:
    path = find_file(folder, "items_human_ins")
    annotations = read_json(path, dict)
    goals = []
    for asin in catalog.asins():
        for index, annotation in enumerate(annotations.get(asin, ())):
            product = catalog[asin]
            try:
                attributes = annotation["instruction_attributes"]
                if not attributes:
                    continue
                limit = price_limit(f"{product.asin}:{index}", product.price)
                text = annotation["instruction"].strip(".") + limit_text(limit)
                goals.append(_goal(product, text, attributes, annotation["instruction_options"], limit))
            except (KeyError, TypeError, AttributeError) as error:
                expected = "instruction, instruction_attributes and instruction_options"
                raise GoalError(
                    f"{path}, asin {product.asin}, annotation {index}: expected {expected}, got {error!r}"
                ) from None
    return goals


def _read_frozen(path: Path, catalog: Catalog) -> list[Goal]:
    goals: dict[str, Goal] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            goal = _frozen_goal(json.loads(line), catalog)
            if goal.goal_id in goals:
                raise ValueError(f"expected a new goal_id, got {goal.goal_id!r} again")
        except (KeyError, TypeError, ValueError) as error:
            reason = error.args[0] if isinstance(error, KeyError) else error
            raise GoalError(f"{path}, line {number}: {reason}") from None
        goals[goal.goal_id] = goal
    return list(goals.values())


def _frozen_goal(record: Any, catalog: Catalog) -> Goal:
    if not isinstance(record, dict):
        raise TypeError(f"expected an object, got {type(record).__name__}")
    for key in ("goal_id", "split", "asin", "instruction"):
        if not isinstance(record.get(key), str):
            raise TypeError(f"expected a text {key!r}, got {record.get(key)!r}")
    product = catalog[record["asin"]]
    attributes = record.get("attributes")
    if not isinstance(attributes, list) or not attributes or not all(isinstance(a, str) for a in attributes):
        raise TypeError(f"expected a list of at least one text 'attributes', got {attributes!r}")
    options = record.get("options")
    if not isinstance(options, list | dict):
        raise TypeError(f"expected 'options', a list of values or an object name -> value; got {options!r}")
    if not all(isinstance(value, str) for value in (options.values() if isinstance(options, dict) else options)):
        raise TypeError(f"expected 'options' whose values are texts, got {options!r}")
    price_upper, weight = record.get("price_upper"), record.get("weight", 1.0)
    if not isinstance(price_upper, int | float) or price_upper <= 0:
        raise TypeError(f"expected a 'price_upper' in dollars above 0, got {price_upper!r}")
    if not isinstance(weight, int | float) or weight < 0:
        raise TypeError(f"expected a 'weight' of at least 0, got {weight!r}")
    difficulty = record.get("difficulty", "")
    if difficulty not in ("easy", "hard", ""):
        raise ValueError(f"expected a 'difficulty' easy, hard or empty, got {difficulty!r}")
    pairs = list(options.items()) if isinstance(options, dict) else options
    return replace(
        _goal(product, record["instruction"], attributes, pairs, float(price_upper)),
        goal_id=record["goal_id"],
        weight=float(weight),
        difficulty=difficulty,
        split=record["split"],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the goals of an official folder to a file: `python -m webshop_server.goals DIR [--kind human]`."""
    parser = argparse.ArgumentParser(prog="python -m webshop_server.goals", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="folder with the official WebShop files")
    parser.add_argument("--kind", choices=KINDS, default="synthetic", help="kind of goals (default: synthetic)")
    parser.add_argument("--output", type=Path, help=f"file to write (default: FOLDER/{FROZEN_FILE})")
    parser.add_argument("--first", type=int, help="number of synthetic goals (default: all)")
    options = parser.parse_args(arguments)
    goals = load_goals(options.folder, open_products(options.folder), options.kind, first=options.first)
    output = options.output or options.folder / FROZEN_FILE
    write_goals(output, goals)
    print(f"{len(goals)} {options.kind} goals written to {output}")


if __name__ == "__main__":
    main()
