from pathlib import Path

import pytest
from small_shop import SharedWords, write_folder

from webshop_server.catalog import Catalog, load_catalog
from webshop_server.engine import Shop


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


@pytest.fixture
def catalog(folder: Path) -> Catalog:
    return load_catalog(folder)


@pytest.fixture
def shop(catalog: Catalog) -> Shop:
    return Shop(catalog, SharedWords(catalog))
