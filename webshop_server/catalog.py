"""Reads products and their prices from the official WebShop files.

A folder holds `items_shuffle*.json` (products) and `items_ins_v2*.json` (attributes and synthetic
instructions). The small set adds `_1000` to both names. The rules (skipped ids, option text, default price)
are the same as in the original, with one exception. For a product with a price range the original draws a
new price in every process. This module draws it from a fixed seed and the product's id, so the price does not
depend on the process or on the order of the file.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from webshop_server.storage.json_files import CatalogError, Read, find_file, read_items, read_json

PRODUCTS = "items_shuffle"
ATTRIBUTES = "items_ins_v2"


@dataclass(frozen=True, slots=True, eq=False)
class Product:
    """One product as the shop shows, sells and scores it. Compared by identity.

    `price` (in dollars) is used by the reward, `price_text` is shown on the pages. `options` keeps the order of
    the file. Its values are in lower case, as agents click them.
    """

    asin: str
    name: str
    category: str
    query: str
    product_category: str
    description: str
    bullets: tuple[str, ...]
    price: float
    price_text: str
    options: Mapping[str, tuple[str, ...]]
    option_images: Mapping[str, str]
    attributes: tuple[str, ...]
    image: str = ""
    instruction: str | None = None
    instruction_attributes: tuple[str, ...] = ()


class Catalog:
    """All products, by id and in file order.

    Args:
        products: All products in file order. They are kept as a tuple unless `by_asin` is given.
        by_asin: The same products by id, for products that are read on demand. Its keys are in file order.
    """

    __slots__ = ("_by_asin", "products")

    def __init__(self, products: Sequence[Product], by_asin: Mapping[str, Product] | None = None) -> None:
        self.products = tuple(products) if by_asin is None else products
        self._by_asin = {product.asin: product for product in self.products} if by_asin is None else by_asin

    @property
    def is_on_disk(self) -> bool:
        """Whether products are read from disk on demand."""
        return not isinstance(self.products, tuple)

    def __len__(self) -> int:
        return len(self.products)

    def __iter__(self) -> Iterator[Product]:
        return iter(self.products)

    def __contains__(self, asin: object) -> bool:
        return asin in self._by_asin

    def __getitem__(self, asin: str) -> Product:
        """The product with this id. Ids are case-sensitive.

        Raises:
            KeyError: There is no such product.
        """
        try:
            return self._by_asin[asin]
        except KeyError:
            message = f"expected the id of one of the {len(self)} products, got {asin!r}"
            raise KeyError(f"{message}; see Catalog.products for the ids") from None

    def get(self, asin: str) -> Product | None:
        """The product with this id, or None."""
        return self._by_asin.get(asin)

    def asins(self) -> Iterator[str]:
        """The ids in file order."""
        return iter(self._by_asin)


def load_catalog(folder: str | Path) -> Catalog:
    """Read the products of a folder in the official format into memory.

    Raises:
        FileNotFoundError: A file is missing, or present twice (two sets in one folder).
        CatalogError: A file or a record is not in the official format.
    """
    path = find_file(folder, PRODUCTS)
    annotations = read_json(find_file(folder, ATTRIBUTES), dict)
    return Catalog(tuple(read_products(path, annotations.get)))


def read_products(path: Path, annotation: Callable[[str], Any], read: Read | None = None) -> Iterator[Product]:
    """Yield the products of a file in the official format, one by one.

    As in the original, products are skipped if their id is "nan", longer than 10 characters or a repeat.
    A product without an annotation gets one dummy attribute.

    Args:
        path: The file `items_shuffle*.json`.
        annotation: Returns the entry of the attributes file for an id, or None.
        read: Called with the number of bytes read so far.

    Raises:
        CatalogError: The file or a record is not in the official format.
    """
    seen: set[str] = set()
    for index, record in enumerate(read_items(path, read)):
        try:
            asin = _text(record, "asin")
        except TypeError as error:
            raise CatalogError(f"{path}, record {index}: {error}") from None
        if asin == "nan" or len(asin) > 10 or asin in seen:
            continue
        seen.add(asin)
        try:
            product = _product(record, annotation(asin))
        except (TypeError, ValueError) as error:
            raise CatalogError(f"{path}, record {index} (asin {asin}): {error}") from None
        yield product


def index_text(product: Product) -> str:
    """The single text field that search engines index: title, description, first bullet and options, in lower case."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    first_bullet = product.bullets[0] if product.bullets else ""
    return " ".join((product.name, product.description, first_bullet, options)).lower()


def _product(record: Mapping[str, Any], annotation: Any) -> Product:
    if annotation is None:
        annotation = {}
    if not isinstance(annotation, dict):
        raise TypeError(f"expected an object in the attributes file, got {type(annotation).__name__}")
    asin, bullets = _text(record, "asin"), record.get("small_description")
    prices = _prices(record.get("pricing"))
    options, option_images = _options(record.get("customization_options"))
    images = record.get("images") or [""]
    attributes = annotation.get("attributes")
    return Product(
        asin=asin,
        name=_text(record, "name"),
        category=_text(record, "category"),
        query=_text(record, "query").lower().strip(),
        product_category=_text(record, "product_category"),
        description=_text(record, "full_description"),
        bullets=(bullets,) if isinstance(bullets, str) else _texts(bullets, "small_description"),
        price=prices[0] if len(prices) == 1 else random.Random(f"233:price:{asin}").uniform(*prices),
        price_text=" to ".join(f"${price}" for price in prices),
        options=options,
        option_images=option_images,
        attributes=("DUMMY_ATTR",) if attributes is None else _texts(attributes, "attributes"),
        image=images[0] if isinstance(images, list) and isinstance(images[0], str) else "",
        instruction=annotation.get("instruction"),
        instruction_attributes=_texts(annotation.get("instruction_attributes") or (), "instruction_attributes"),
    )


def _text(record: Mapping[str, Any], key: str) -> str:
    if not isinstance(record, dict):
        raise TypeError(f"expected an object, got {type(record).__name__}")
    value = record.get(key)
    if not isinstance(value, str):
        raise TypeError(f"expected a text {key!r}, got {value!r}")
    return value


def _texts(values: Any, key: str) -> tuple[str, ...]:
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"expected a list of texts {key!r}, got {values!r}")
    return tuple(values)


def _prices(pricing: Any) -> tuple[float, ...]:
    """A single price, or both ends of a price range, in dollars. A product without a price costs 100."""
    if not pricing:
        return (100.0,)
    try:
        if "$" in pricing:
            return tuple(float(Decimal(re.sub(r"[^\d.]", "", part))) for part in pricing.split("$")[1:3])
    except (TypeError, AttributeError, InvalidOperation):
        pass
    raise ValueError(f"expected a price such as '$8.99' or '$8.99 to $14.99', got {pricing!r}")


def _options(customization: Any) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return option name -> values, and value -> image for the values that have an image."""
    options: dict[str, tuple[str, ...]] = {}
    images: dict[str, str] = {}
    if not isinstance(customization or {}, dict):
        raise TypeError(f"expected an object 'customization_options', got {customization!r}")
    for name, contents in (customization or {}).items():
        if contents is None:
            continue
        if not isinstance(contents, list):
            raise TypeError(f"expected a list of values of option {name!r}, got {contents!r}")
        values = []
        for content in contents:
            values.append(_text(content, "value").strip().replace("/", " | ").lower())
            if content.get("image"):
                images[values[-1]] = content["image"]
        options[name.lower()] = tuple(values)
    return options, images
