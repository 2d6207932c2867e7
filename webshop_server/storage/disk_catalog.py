"""A catalogue of any size in bounded memory: products stay in a file and are read one by one.

The file is an SQLite database. It is written once and never changed, so any number of processes and threads can
read it at the same time.
"""

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from webshop_server.catalog import ATTRIBUTES, PRODUCTS, Catalog, Product, read_products
from webshop_server.storage.json_files import Read, find_file, read_pairs

FORMAT = 1
"""Version of the file format. It is increased when products are stored in another way."""
FILE = "products.sqlite"
_fields_of = attrgetter(*Product.__slots__)


def write_disk_catalog(data: str | Path, folder: Path, read: Read | None = None) -> int:
    """Write the products of a folder in the official format to a disk catalogue, in bounded memory.

    Args:
        data: The folder with the official files.
        folder: The folder to write the disk catalogue to.
        read: Called with the number of bytes of the products' file read so far.

    Returns:
        The number of products.

    Raises:
        FileNotFoundError: A file is missing, or present twice.
        CatalogError: A file or a record is not in the official format.
    """
    products_path, annotations_path = find_file(data, PRODUCTS), find_file(data, ATTRIBUTES)
    database = sqlite3.connect(folder / FILE, isolation_level=None)
    try:
        database.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536")
        database.execute("BEGIN")
        database.execute("CREATE TABLE annotations (asin TEXT PRIMARY KEY, content TEXT) WITHOUT ROWID")
        rows = ((asin, json.dumps(content)) for asin, content in read_pairs(annotations_path))
        database.executemany("INSERT OR REPLACE INTO annotations VALUES (?, ?)", rows)

        def annotation(asin: str) -> Any:
            row = database.execute("SELECT content FROM annotations WHERE asin = ?", (asin,)).fetchone()
            return row and json.loads(row[0])

        database.execute("CREATE TABLE products (position INTEGER PRIMARY KEY, asin TEXT, content TEXT)")
        products = read_products(products_path, annotation, read)
        numbered = (
            (position, product.asin, json.dumps(_fields_of(product), separators=(",", ":")))
            for position, product in enumerate(products)
        )
        database.executemany("INSERT INTO products VALUES (?, ?, ?)", numbered)
        database.execute("CREATE UNIQUE INDEX by_asin ON products (asin)")
        database.execute("DROP TABLE annotations")
        database.execute("COMMIT")
        (n_products,) = database.execute("SELECT count(*) FROM products").fetchone()
    finally:
        database.close()
    return int(n_products)


def open_disk_catalog(folder: Path) -> Catalog:
    """Open the catalogue that `write_disk_catalog` wrote to this folder."""
    by_asin = _ByAsin(folder / FILE)
    return Catalog(_InOrder(by_asin), by_asin)


class _ByAsin(Mapping[str, Product]):
    """Reads products from the file. Each thread has its own connection; recent products are cached."""

    def __init__(self, path: Path) -> None:
        self._address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        self._local = threading.local()
        (n_products,) = self.rows("SELECT count(*) FROM products").fetchone()
        self._n_products = int(n_products)
        self._read = lru_cache(maxsize=8192)(self._read_uncached)

    def rows(self, question: str, *parameters: Any) -> sqlite3.Cursor:
        # A connection must not be used after a fork.
        if getattr(self._local, "process", None) != os.getpid():
            self._local.connection = sqlite3.connect(self._address, uri=True)
            self._local.process = os.getpid()
        cursor: sqlite3.Cursor = self._local.connection.execute(question, parameters)
        return cursor

    def __len__(self) -> int:
        return self._n_products

    def __iter__(self) -> Iterator[str]:
        for (asin,) in self.rows("SELECT asin FROM products ORDER BY position"):
            yield asin

    def __contains__(self, asin: object) -> bool:
        found = self.rows("SELECT 1 FROM products WHERE asin = ?", asin) if isinstance(asin, str) else None
        return found is not None and found.fetchone() is not None

    def __getitem__(self, asin: str) -> Product:
        return self._read(asin)

    def _read_uncached(self, asin: str) -> Product:
        row = self.rows("SELECT content FROM products WHERE asin = ?", asin).fetchone()
        if row is None:
            raise KeyError(asin)
        return _unpacked(row[0])


class _InOrder(Sequence[Product]):
    def __init__(self, by_asin: _ByAsin) -> None:
        self._by_asin = by_asin

    def __len__(self) -> int:
        return len(self._by_asin)

    def __iter__(self) -> Iterator[Product]:
        for (content,) in self._by_asin.rows("SELECT content FROM products ORDER BY position"):
            yield _unpacked(content)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(map(self.__getitem__, range(len(self))[index]))
        position = range(len(self))[index]
        (asin,) = self._by_asin.rows("SELECT asin FROM products WHERE position = ?", position).fetchone()
        return self._by_asin[asin]


def _unpacked(content: str) -> Product:
    fields = dict(zip(Product.__slots__, json.loads(content), strict=True))
    for name in ("bullets", "attributes", "instruction_attributes"):
        fields[name] = tuple(fields[name])
    fields["options"] = {name: tuple(values) for name, values in fields["options"].items()}
    return Product(**fields)
