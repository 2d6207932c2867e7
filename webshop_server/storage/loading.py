"""A data folder's products and a search engine over them: in memory where they are few, else from the index."""

from pathlib import Path
from typing import NamedTuple

from webshop_server.catalog import PRODUCTS, Catalog, index_text, load_catalog
from webshop_server.search import SearchEngine, index_parts, load_engine, open_engine
from webshop_server.storage.indexes import Indexes
from webshop_server.storage.json_files import find_file

__all__ = ["PLACES", "LoadedShop", "open_shop"]

PLACES = ("auto", "memory", "disk")
IN_MEMORY_BYTES = 64 << 20
"""The largest products' file that is read into memory where nothing else is said: about 25,000 products."""


class LoadedShop(NamedTuple):
    """The products, and what finds them."""

    catalog: Catalog
    engine: SearchEngine


def open_products(data: Path, *, catalog: str = "auto", indexes: Indexes | None = None) -> Catalog:
    """Open the products of a folder with the official files.

    Args:
        data: The folder.
        catalog: Where they are kept: `memory`, `disk` (they must have been indexed, `iad index build`), or `auto`,
            which is memory for a file of up to 64 MB.
        indexes: Where indexes are; by default in the home folder.

    Raises:
        FileNotFoundError: A file is missing, or present twice.
        CatalogError: A file or a record is not in the official format.
        IndexNotFound: The products are on disk, and their catalogue has not been built.
        ValueError: An unknown place.
    """
    if catalog not in PLACES:
        raise ValueError(f"expected a place of the catalogue, one of {', '.join(PLACES)}; got {catalog!r}")
    large = find_file(data, PRODUCTS).stat().st_size > IN_MEMORY_BYTES
    if catalog == "disk" or (catalog == "auto" and large):
        return (indexes or Indexes()).open_catalog(data)
    return load_catalog(data)


def open_shop(data: Path, search: str = "bm25", *, catalog: str = "auto", indexes: Indexes | None = None) -> LoadedShop:
    """Open the products of a folder and a search engine over them.

    An index that was built for the engine is used; without one the products are indexed now, unless they are many.
    Arguments and errors are those of `open_products`, and:

    Args:
        data: The folder.
        search: The engine's name.
        catalog: Where the products are kept.
        indexes: Where indexes are.

    Raises:
        IndexNotFound: The products are many, and the engine's index has not been built.
        UnknownEngineError: There is no engine of that name.
        ImportError: The engine needs a package that is not installed.
    """
    parts = index_parts(search)
    indexes = indexes or Indexes()
    products = open_products(data, catalog=catalog, indexes=indexes)
    if products.is_on_disk or all(indexes.find(data, part) for part in parts):
        return LoadedShop(products, open_engine(search, lambda part: indexes.require(data, part)))
    return LoadedShop(products, load_engine(search, ((product.asin, index_text(product)) for product in products)))
