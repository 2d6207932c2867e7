from pathlib import Path

import pytest

from tests.webshop_server.small_shop import SharedWords, write_folder
from webshop_server.catalog import Catalog, load_catalog
from webshop_server.engine import Shop


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return load_catalog(write_folder(tmp_path_factory.mktemp("small")))


@pytest.fixture(scope="session")
def shop(catalog: Catalog) -> Shop:
    return Shop(catalog, SharedWords(catalog))
