"""Products in families of near-duplicates, written from the vocabulary."""

import itertools
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tuning
from drawing import Draw

VOCABULARY = Path(__file__).resolve().parent / "vocabulary"
CATEGORIES = ("beauty", "electronics", "fashion", "garden", "grocery")
SMALL_WORDS = {"and", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"}
MAX_TITLE_WORDS = 20
CENTS = (0.99, 0.99, 0.99, 0.95, 0.49, 0.0)
ACRONYMS = {"bpa", "gmo", "led", "rgb", "spf", "upf", "usb", "usda", "uv"}
TOKEN = string.ascii_uppercase + string.digits


@dataclass(frozen=True, slots=True)
class Attribute:
    """`name` is the official one ("rubber sole"), `phrase` how it is said ("a rubber sole")."""

    name: str
    phrase: str
    text: str
    is_adjective: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """What products of one query have in common."""

    category: str
    query: str
    ask: Sequence[str]
    article: str
    path: str
    heads: Sequence[str]
    words: Sequence[str]
    about: Sequence[str]
    bullets: Sequence[str]
    price: tuple[float, float]
    attributes: Sequence[Attribute]
    options: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Product:
    """One product; `places` maps attributes to where the shop states them, `prices` has 0 to 2 ends."""

    asin: str
    family: str
    kind: Kind
    title: str
    bullets: Sequence[str]
    description: str
    places: Mapping[Attribute, str]
    listed: Sequence[Attribute]
    options: Mapping[str, Sequence[str] | None]
    prices: Sequence[float]

    @property
    def top_price(self) -> float:
        """The price the score may use at most, in dollars: a missing one counts as 100."""
        return max(self.prices, default=100.0)


@dataclass(frozen=True, slots=True)
class Family:
    """What siblings share, and the pools their differences come from."""

    name: str
    head: str
    words: Sequence[str]
    core: Sequence[Attribute]
    swing: Sequence[Sequence[Attribute]]
    options: Mapping[str, Sequence[str]]
    price: float
    bullet_style: str
    marks: Sequence[str]


def read_vocabulary(name: str) -> dict[str, Any]:
    """One file of the vocabulary folder."""
    return tomllib.loads((VOCABULARY / f"{name}.toml").read_text(encoding="utf-8"))


def make_products() -> list[Product]:
    """All products, shuffled, with ids."""
    products = list(itertools.chain.from_iterable(map(_category_products, CATEGORIES)))
    return Draw(tuning.SEED, "shuffle").some(products, len(products))


def _category_products(category: str) -> Iterator[Product]:
    vocabulary, lists, shop = (read_vocabulary(name) for name in (category, "options", "shop"))
    attributes = dict(_attributes(vocabulary))
    n_kinds = len(vocabulary["kind"])
    for index, entry in enumerate(vocabulary["kind"]):
        options = {name: lists.get(v, v) if isinstance(v, str) else v for name, v in entry["options"].items()}
        known = [attributes[name] for name in entry["attributes"]]
        fields = entry | {"attributes": known, "options": options, "category": category}
        kind = Kind(**fields)
        draw = Draw(tuning.SEED, category, kind.query)
        n_products = tuning.N_PRODUCTS_PER_CATEGORY * (index + 1) // n_kinds
        n_products -= tuning.N_PRODUCTS_PER_CATEGORY * index // n_kinds
        sizes = _family_sizes(draw, n_products)
        for brand, size in zip(draw.some(vocabulary["brands"], len(sizes)), sizes, strict=True):
            family = _family(kind, brand, shop, draw)
            multipliers = [
                tuning.PRICE_SPREAD[0] + (tuning.PRICE_SPREAD[1] - tuning.PRICE_SPREAD[0]) * i / (size - 1)
                for i in range(size)
            ]
            for sibling, multiplier in enumerate(draw.some(multipliers, size)):
                yield _sibling(kind, family, sibling, price=family.price * multiplier)


def _attributes(vocabulary: Mapping[str, Any]) -> Iterator[tuple[str, Attribute]]:
    for group in ("has", "is"):
        for phrase, text in vocabulary[group].items():
            name = phrase
            for prefix in ("a ", "an ", "made of "):
                name = name.removeprefix(prefix)
            yield name, Attribute(name, phrase, text, is_adjective=group == "is")


def _family_sizes(draw: Draw, n_products: int) -> list[int]:
    low, high = tuning.FAMILY_SIZES
    sizes = []
    while n_products > high:
        sizes.append(draw.integer((low, min(high, n_products - low))))
        n_products -= sizes[-1]
    return [*sizes, n_products]


def _family(kind: Kind, brand: str, shop: Mapping[str, Any], draw: Draw) -> Family:
    pool = draw.some(kind.attributes, len(kind.attributes))
    n_core = draw.integer(tuning.CORE_ATTRIBUTES)
    n_swing = draw.integer(tuning.SWING_ATTRIBUTES)
    core, swing = pool[:n_core], pool[n_core : n_core + n_swing]
    if _clash(core, shop["exclusive"]):
        core = core[:1]
    subsets = [s for n in range(1, n_swing) for s in itertools.combinations(swing, n)]
    subsets = [s for s in subsets if not _clash([*core, *s], shop["exclusive"])] or [()]
    is_bare = draw.chance(tuning.BARE_FAMILY_SHARE)
    options = {
        name: sorted(draw.some(values, draw.integer((4, 10))), key=values.index)
        for name, values in kind.options.items()
        if not is_bare and not draw.chance(tuning.NO_OPTION_SHARE)
    }
    return Family(
        name=f"{brand} {draw.one(shop['series'])}",
        head=draw.one(kind.heads),
        words=draw.some(kind.words, 3),
        core=core,
        swing=draw.some(subsets, len(subsets)),
        options=options,
        price=draw.between(*kind.price),
        bullet_style=draw.one(shop["bullet_styles"]),
        marks=draw.some(shop["marks"], len(shop["marks"])),
    )


def _clash(attributes: Sequence[Attribute], exclusive: Sequence[Sequence[str]]) -> bool:
    return any(sum(a.name in group for a in attributes) > 1 for group in exclusive)


def _sibling(kind: Kind, family: Family, index: int, *, price: float) -> Product:
    draw = Draw(tuning.SEED, kind.category, kind.query, family.name, index)
    swing = family.swing[index % len(family.swing)]
    places = {a: draw.weighted(tuning.CORE_PLACES) for a in family.core}
    places |= {a: draw.weighted(tuning.SWING_PLACES) for a in swing}
    listed = [a for a in places if places[a] == "list" or not draw.chance(tuning.UNLISTED_SHARE)]
    return Product(
        asin="B0" + "".join(draw.one(TOKEN) for _ in range(8)),
        family=f"{kind.query}: {family.name}",
        kind=kind,
        title=_title(family, index, places, draw),
        bullets=_bullets(kind, family, places, draw),
        description=_description(kind, places, draw),
        places=places,
        listed=listed if len(listed) > 1 else list(places),
        options=_options(family, draw),
        prices=_prices(price, draw),
    )


def _title(family: Family, index: int, places: Mapping[Attribute, str], draw: Draw) -> str:
    words = draw.some(family.words, draw.integer((2, 3)))
    shown = [a for a, place in places.items() if place == "title"]
    has = " and ".join(a.name for a in shown if not a.is_adjective)
    parts = [f"{family.name} {family.marks[index]} {family.head}", *words]
    parts += [a.name for a in shown if a.is_adjective]
    while len(" ".join(parts).split()) + len(has.split()) > MAX_TITLE_WORDS:
        parts.pop(1)
    title = ", ".join(parts) if draw.chance(0.6) else f"{parts[0]} {' - '.join(parts[1:])}"
    link = ", " if " with " in title else " with "
    return capitalised(title + (link + has if has else ""))


def _bullets(kind: Kind, family: Family, places: Mapping[Attribute, str], draw: Draw) -> list[str]:
    def written(attribute: Attribute) -> str:
        name = attribute.phrase.removeprefix("a ").removeprefix("an ")
        return family.bullet_style.format(
            Name=capitalised(name),
            NAME=name.upper(),
            text=attribute.text[0].upper() + attribute.text[1:],
        )

    later = [written(a) for a, place in places.items() if place == "bullet"]
    first = [written(a) for a, place in places.items() if place == "first bullet"]
    plain = draw.some(kind.bullets, max(1, min(3, 5 - len(later) - len(first))))
    if len(first) > 1:
        first = [" / ".join(first)]
    if not first:
        first, plain = plain[:1], plain[1:]
    rest = [*later, *plain]
    bullets = first + draw.some(rest, len(rest))
    spare = [bullet for bullet in kind.bullets if bullet not in bullets]
    return bullets + spare[: max(0, 3 - len(bullets))]


def _description(kind: Kind, places: Mapping[Attribute, str], draw: Draw) -> str:
    told = [a for a, place in places.items() if place == "description"]
    has = " and ".join(a.phrase for a in told if not a.is_adjective)
    adjectives = " and ".join(a.phrase for a in told if a.is_adjective)
    sentences = [draw.one(kind.about)]
    sentences += [f"Comes with {has}."] * bool(has)
    sentences += [f"{adjectives[:1].upper()}{adjectives[1:]}."] * bool(adjectives)
    if len(sentences) < 3:
        sentences.append(draw.one(read_vocabulary("shop")["closers"]))
    return " ".join(filter(None, sentences))


def _options(family: Family, draw: Draw) -> dict[str, Sequence[str] | None]:
    options: dict[str, Sequence[str] | None] = {}
    for name, values in family.options.items():
        kept = [value for value in values if draw.chance(tuning.KEPT_VALUES)] or [draw.one(values)]
        options[name] = None if draw.chance(tuning.NULL_OPTION_SHARE) else kept
    if options.get("color") and draw.chance(tuning.TWICE_SHARE):
        colors = options["color"] or ()
        options["trim color"] = [colors[0], "natural"]
    return options


def _prices(price: float, draw: Draw) -> list[float]:
    def rounded(value: float) -> float:
        return round(max(2.0, int(value)) + draw.one(CENTS), 2)

    kind = draw.weighted(
        {
            "range": tuning.RANGE_SHARE,
            "missing": tuning.MISSING_PRICE_SHARE,
            "one": 1 - tuning.RANGE_SHARE - tuning.MISSING_PRICE_SHARE,
        }
    )
    if kind == "missing":
        return []
    return [rounded(price)] if kind == "one" else [rounded(price), rounded(price * draw.between(1.25, 1.6) + 1)]


def capitalised(text: str) -> str:
    """Title case as shops write it; only first letters and acronyms change, small words stay small."""
    words = []
    for word in text.split(" "):
        raised = word.upper() if word.strip(",") in ACRONYMS else word[:1].upper() + word[1:]
        words.append(word if word in SMALL_WORDS else raised)
    return " ".join(words)
