"""Opens a data folder's products and search engine: small ones in memory, large ones from the index."""

from pathlib import Path
from typing import NamedTuple

from webshop_server.catalog import PRODUCTS, Catalog, index_text, load_catalog
from webshop_server.search import SearchEngine, index_parts, load_engine, open_engine
from webshop_server.storage.disk_catalog import open_disk_catalog
from webshop_server.storage.indexes import CATALOG, Indexes
from webshop_server.storage.json_files import find_file

PLACES = ("auto", "memory", "disk")


class LoadedShop(NamedTuple):
    """The products and their search engine."""

    catalog: Catalog
    engine: SearchEngine


def open_products(data: Path, *, catalog: str = "auto", indexes: Indexes | None = None) -> Catalog:
    """Open the products of a folder with the official files.

    Args:
        data: The folder.
        catalog: The storage of the products: `memory`, `disk` (after `iad index build`) or `auto`, which means memory
            for a file of up to 64 MB.
        indexes: The stored indexes, by default those of the home folder.

    Raises:
        FileNotFoundError: A file is missing, or present twice.
        CatalogError: A file or a record is not in the official format.
        IndexNotFound: The products are on disk, but their catalogue has not been built.
        ValueError: `catalog` has another value.
    """
    if catalog not in PLACES:
        raise ValueError(f"expected a storage of the catalogue, one of {', '.join(PLACES)}; got {catalog!r}")
    large = find_file(data, PRODUCTS).stat().st_size > 64 << 20  # more than about 25,000 products
    if catalog == "disk" or (catalog == "auto" and large):
        return open_disk_catalog((indexes or Indexes()).require(data, CATALOG))
    return load_catalog(data)


def open_shop(data: Path, search: str = "bm25", *, catalog: str = "auto", indexes: Indexes | None = None) -> LoadedShop:
    """Open the products of a folder and their search engine.

    If an index was built for the engine, it is used. Otherwise the products are indexed now, unless there are too
    many. All errors of `open_products` can occur too.

    Args:
        data: The folder.
        search: The engine's name.
        catalog: The storage of the products, see `open_products`.
        indexes: The stored indexes, by default those of the home folder.

    Raises:
        IndexNotFound: There are too many products to index now, and the engine's index has not been built.
        UnknownEngineError: There is no engine of that name.
        ImportError: The engine needs a package that is not installed.
    """
    parts = index_parts(search)
    indexes = indexes or Indexes()
    products = open_products(data, catalog=catalog, indexes=indexes)
    if products.is_on_disk or all(indexes.find(data, part) for part in parts):
        return LoadedShop(products, open_engine(search, lambda part: indexes.require(data, part)))
    return LoadedShop(products, load_engine(search, ((product.asin, index_text(product)) for product in products)))
