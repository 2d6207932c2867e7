"""Goals: what a shopper asks for, checked against the whole catalogue."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import tuning
from drawing import Draw
from families import Attribute, Product, read_vocabulary

FIRST_SIGHT = ("title", "first bullet", "description")
ASKING = read_vocabulary("shop")["asking"]


@dataclass(frozen=True, slots=True)
class Need:
    """What makes a purchase right: the gold product and what is asked of it."""

    product: Product
    attributes: Sequence[Attribute]
    options: Mapping[str, str]
    price_upper: float

    @property
    def asked(self) -> frozenset[object]:
        """What is asked for besides kind and price; the same for two goals that ask the same."""
        return frozenset([*self.attributes, *self.options.items()])

    def is_met_by(self, product: Product) -> bool:
        """Whether a careful reader would accept this product."""
        return self._fits(product) and all(a in product.places for a in self.attributes)

    def seems_met_by(self, product: Product) -> bool:
        """Whether it looks as good as the gold product before the later bullets are read."""
        return self._fits(product) and self._n_seen(product) >= self._n_seen(self.product)

    def _fits(self, product: Product) -> bool:
        offered = product.options
        return product.top_price <= self.price_upper and all(
            value in (offered.get(name) or ()) for name, value in self.options.items()
        )

    def _n_seen(self, product: Product) -> int:
        return sum(product.places.get(a) in FIRST_SIGHT for a in self.attributes)


@dataclass(frozen=True, slots=True)
class Goal:
    """One goal; `wish` is the instruction without the price limit."""

    goal_id: str
    split: str
    difficulty: str
    need: Need
    wish: str
    instruction: str


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


def _goal(product: Product, peers: Sequence[Product], made: Sequence[Goal], *, split: str, attempt: int) -> Goal | None:
    draw = Draw(tuning.SEED, "goal", product.asin, attempt)
    n_hard = sum(goal.difficulty == "hard" for goal in made)
    difficulty = "hard" if n_hard < tuning.HARD_SHARE * (len(made) + 1) else "easy"
    earlier = [goal.need.asked for goal in made if goal.need.product is product]
    for _ in range(tuning.TRIES):
        need = _need(product, difficulty, draw)
        if need and need.asked not in earlier and difficulty_of(need, peers) == difficulty:
            wish = _wish(need, draw)
            goal_id = f"{split}-{len(made) + 1:04d}"
            return Goal(goal_id, split, difficulty, need, wish, wish + _limit(need.price_upper, draw))
    return None


def _need(product: Product, difficulty: str, draw: Draw) -> Need | None:
    hard = difficulty == "hard"
    readable = [a for a, place in product.places.items() if place != "list"]
    attributes = draw.some(readable, draw.one(tuning.HARD_ATTRIBUTES if hard else tuning.EASY_ATTRIBUTES))
    offered = {name: values for name, values in product.options.items() if values}
    shared = [v for values in offered.values() for v in values]
    names = draw.some(list(offered), draw.one(tuning.HARD_OPTIONS if hard else tuning.EASY_OPTIONS))
    options = {name: draw.one(offered[name]) for name in names if name != "trim color"}
    if not attributes or any(shared.count(v) > 1 or v in ASKING["unasked"] for v in options.values()):
        return None
    return Need(product, attributes, options, _limit_above(product.top_price, draw))


def _limit_above(price: float, draw: Draw) -> float:
    step = 5 if price < 30 else 10 if price < 100 else 20
    return float(step * (math.floor(price / step) + 1 + draw.one(tuning.SPARE_STEPS)))


def difficulty_of(need: Need, peers: Sequence[Product]) -> str | None:
    """The documented rule: "easy", "hard", or None for what is in between or too vague."""
    others = [p for p in peers if p is not need.product]
    n_rivals = sum(need.is_met_by(p) for p in others)
    n_lookalikes = sum(need.seems_met_by(p) and not need.is_met_by(p) for p in others)
    n_constraints = len(need.attributes) + len(need.options)
    if (
        n_constraints >= tuning.HARD_MIN_CONSTRAINTS
        and n_rivals <= tuning.HARD_MAX_RIVALS
        and n_lookalikes >= tuning.HARD_MIN_LOOKALIKES
    ):
        return "hard"
    if (
        len(need.attributes) <= max(tuning.EASY_ATTRIBUTES)
        and len(need.options) <= max(tuning.EASY_OPTIONS)
        and n_rivals <= tuning.EASY_MAX_RIVALS
        and n_lookalikes <= tuning.EASY_MAX_LOOKALIKES
    ):
        return "easy"
    return None


def _wish(need: Need, draw: Draw) -> str:
    kind = need.product.kind
    many = kind.article in ("", "a pair of", "a set of", "a box of")
    before = [a for a in need.attributes if _goes_before(a) and draw.chance(0.5)][:2]
    behind = [a for a in need.attributes if a.is_adjective and a not in before]
    has = [a.phrase for a in need.attributes if not a.is_adjective]
    noun = ", ".join(a.name for a in before) + " " * bool(before) + draw.one(kind.ask)
    starts_soft = noun[0] in "aeiou" and not noun.startswith(("us", "eu", "uv"))
    article = ("an" if starts_soft else "a") if kind.article in ("a", "an") else kind.article
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
    for phrase in draw.some(list(_option_phrases(need.options, draw)), len(need.options)):
        text += ("" if phrase.startswith("in ") and draw.chance(0.4) else ",") + " " + phrase
    return text


def _goes_before(attribute: Attribute) -> bool:
    """Whether it can stand before the noun: "a water resistant ..." but not "a compatible with cars ..."."""
    says_more = {"with", "only", "made"} & set(attribute.phrase.split())
    return attribute.is_adjective and not says_more


def _option_phrases(options: Mapping[str, str], draw: Draw) -> Iterator[str]:
    for name, value in options.items():
        phrases = ASKING["option"].get(name, ASKING["option"]["other"])
        yield draw.one(phrases).format(name=name, value=value)


def _limit(price_upper: float, draw: Draw) -> str:
    phrase: str = draw.one(ASKING["limits"])
    return phrase.format(cents=f"{price_upper:.2f}", whole=f"{price_upper:.0f}")


def _joined(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), parts[-1])))
