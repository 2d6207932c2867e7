from pathlib import Path

import pytest

from tests.webshop_server.small_shop import SharedWords, write_folder
from webshop_server.catalog import Catalog, load_catalog
from webshop_server.engine import Shop
from webshop_server.goals import load_goals
from webshop_server.reward import PurchaseScorer
from webshop_server.storefront import LocalStorefront
from webshop_server.tagger import LightTagger


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path)


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    return load_catalog(write_folder(tmp_path_factory.mktemp("small")))


@pytest.fixture(scope="session")
def shop(catalog: Catalog) -> Shop:
    return Shop(catalog, SharedWords(catalog))


@pytest.fixture
def front(folder: Path, catalog: Catalog, shop: Shop) -> LocalStorefront:
    return LocalStorefront(shop, load_goals(folder, catalog), PurchaseScorer(LightTagger()))
