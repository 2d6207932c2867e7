"""Goals: what a shopper asks for, checked against the whole catalogue."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tuning
from drawing import Draw
from families import Attribute, Product, read_vocabulary

ASKING = read_vocabulary("shop")["asking"]


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal; `wish` is the instruction without the price limit."""

    goal_id: str
    split: str
    difficulty: str
    product: Product
    wish: str
    instruction: str
    attributes: Sequence[Attribute]
    options: Mapping[str, str]
    price_upper: float


@dataclass(frozen=True, slots=True)
class Need:
    """A goal before it has words."""

    product: Product
    attributes: Sequence[Attribute]
    options: Mapping[str, str]
    price_upper: float

    def is_met_by(self, product: Product) -> bool:
        """Whether a careful reader would accept this product."""
        return (
            product.top_price <= self.price_upper
            and all(a in product.places for a in self.attributes)
            and all(value in (product.options.get(name) or ()) for name, value in self.options.items())
        )


def make_goals(products: Sequence[Product]) -> list[Goal]:
    """The goals of all splits; no product is in two splits, and only train has two goals of one product."""
    by_query = defaultdict(list)
    for product in products:
        by_query[product.kind.query].append(product)
    order = Draw(tuning.SEED, "goals").some(products, len(products))
    goals: list[Goal] = []
    last = list(tuning.SPLIT_SIZES)[-1]
    for split, size in tuning.SPLIT_SIZES.items():
        made: list[Goal] = []
        used = []
        for attempt in range(4):
            for product in list(order):
                if len(made) == size:
                    break
                goal = _goal(product, by_query[product.kind.query], made, split=split, attempt=attempt)
                if goal is not None:
                    made.append(goal)
                    if split != last:
                        order.remove(product)
            used.append(len(made))
        if len(made) < size:
            raise ValueError(f"expected {size} goals for {split}, got {used}; loosen the rules in tuning.py")
        goals += made
    return goals


def _goal(
    product: Product, peers: Sequence[Product], made: Sequence[Goal], *, split: str, attempt: int
) -> Goal | None:
    draw = Draw(tuning.SEED, "goal", product.asin, attempt)
    n_hard = sum(goal.difficulty == "hard" for goal in made)
    difficulty = "hard" if n_hard < tuning.HARD_SHARE * (len(made) + 1) else "easy"
    earlier = {goal.wish for goal in made if goal.product is product}
    for _ in range(tuning.TRIES):
        need = _need(product, difficulty, draw)
        if need and difficulty_of(need, peers) == difficulty:
            wish, limit = _wish(need, draw), _limit(need.price_upper, draw)
            if wish not in earlier:
                goal_id = f"{split}-{len(made) + 1:04d}"
                return Goal(
                    goal_id, split, difficulty, product, wish, wish + limit,
                    need.attributes, need.options, need.price_upper,
                )
    return None


def _need(product: Product, difficulty: str, draw: Draw) -> Need | None:
    hard = difficulty == "hard"
    readable = [a for a, place in product.places.items() if place != "list"]
    attributes = draw.some(readable, draw.integer(tuning.HARD_ATTRIBUTES if hard else tuning.EASY_ATTRIBUTES))
    offered = {name: values for name, values in product.options.items() if values}
    shared = [v for values in offered.values() for v in values]
    names = draw.some(list(offered), draw.integer(tuning.HARD_OPTIONS if hard else tuning.EASY_OPTIONS))
    options = {name: draw.one(offered[name]) for name in names if name != "trim color"}
    if not attributes or any(shared.count(value) > 1 for value in options.values()):
        return None
    return Need(product, attributes, options, _limit_above(product.top_price, draw))


def _limit_above(price: float, draw: Draw) -> float:
    step = 5 if price < 30 else 10 if price < 100 else 20
    return float(step * (math.ceil(price / step) + draw.one(tuning.SPARE_STEPS)))


def difficulty_of(need: Need, peers: Sequence[Product]) -> str | None:
    """The documented rule: "easy", "hard", or None for what is in between or too vague."""
    others = [p for p in peers if p is not need.product and p.top_price <= need.price_upper]
    n_rivals = sum(need.is_met_by(p) for p in others)
    n_decoys = len(others) - n_rivals
    n_constraints = len(need.attributes) + len(need.options)
    on_sub_page = [a for a in need.attributes if need.product.places[a] != "title"]
    decides = any(a not in p.places for a in on_sub_page for p in others)
    if (
        n_constraints >= tuning.HARD_MIN_CONSTRAINTS
        and n_rivals <= tuning.HARD_MAX_RIVALS
        and n_decoys >= tuning.HARD_MIN_DECOYS
        and decides
    ):
        return "hard"
    if (
        len(need.attributes) <= tuning.EASY_ATTRIBUTES[1]
        and len(need.options) <= tuning.EASY_OPTIONS[1]
        and n_rivals <= tuning.EASY_MAX_RIVALS
        and n_decoys <= tuning.EASY_MAX_DECOYS
    ):
        return "easy"
    return None


def _wish(need: Need, draw: Draw) -> str:
    kind = need.product.kind
    many = kind.article in ("", "a pair of", "a set of", "a box of")
    before = [a for a in need.attributes if a.is_adjective and a.phrase == a.name and draw.chance(0.5)][:2]
    behind = [a for a in need.attributes if a.is_adjective and a not in before]
    has = [a.phrase for a in need.attributes if not a.is_adjective]
    noun = ", ".join(a.name for a in before) + " " * bool(before) + draw.one(kind.ask)
    article = ("an" if noun[0] in "aeiou" else "a") if kind.article in ("a", "an") else kind.article
    text = f"{draw.one(ASKING['openers'])} {article} {noun}"
    if has:
        text += " with " + _joined(has)
    if behind:
        words = {
            "verb": "are" if many else "is",
            "pronoun": "they" if many else "it",
            "list": _joined([a.phrase for a in behind]),
        }
        text += " " + draw.one(ASKING["relative"]).format(**words)
    options = list(_option_phrases(need.options, draw))
    separator = draw.one((", ", ", ", " "))
    return text + "".join(separator + phrase for phrase in draw.some(options, len(options)))


def _option_phrases(options: Mapping[str, str], draw: Draw) -> Iterator[str]:
    for name, value in options.items():
        phrases = ASKING["option"].get(name, ASKING["option"]["other"])
        yield draw.one(phrases).format(name=name, value=value)


def _limit(price_upper: float, draw: Draw) -> str:
    return draw.one(ASKING["limits"]).format(cents=f"{price_upper:.2f}", whole=f"{price_upper:.0f}")


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
