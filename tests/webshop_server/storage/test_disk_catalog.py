"""Products on disk are the products in memory."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.webshop_server.small_shop import ANNOTATIONS, record, write_folder
from webshop_server.catalog import Catalog, load_catalog
from webshop_server.storage.disk_catalog import open_disk_catalog, write_disk_catalog
from webshop_server.storage.json_files import CatalogError


@pytest.fixture
def stored(folder: Path, tmp_path: Path) -> Catalog:
    (tmp_path / "shelf").mkdir()
    write_disk_catalog(folder, tmp_path / "shelf")
    return open_disk_catalog(tmp_path / "shelf")


def facts(catalog: Any) -> list[dict[str, Any]]:
    return [asdict(product) for product in catalog]


def test_products_their_order_and_their_ids_are_the_same(catalog: Catalog, stored: Catalog) -> None:
    assert facts(stored) == facts(catalog)
    assert list(stored.asins()) == list(catalog.asins())
    assert facts(stored.products[2:20:3]) == facts(catalog.products[2:20:3])
    assert stored.products[-1].asin == catalog.products[-1].asin
    assert stored["B000VASE01"] is stored.products[2]
    for each, is_on_disk in ((stored, True), (catalog, False)):
        assert (each.is_on_disk, len(each), each.get("B1")) == (is_on_disk, 23, None)
        assert ("B000VASE01" in each, "b000vase01" in each, 7 in each) == (True, False, False)
        with pytest.raises(KeyError, match="one of the 23 products, got 'B1'"):
            each["B1"]
    with pytest.raises(IndexError):
        stored.products[23]


def test_repeated_ids_are_left_out_and_a_repeated_annotation_counts_last(tmp_path: Path) -> None:
    write_folder(tmp_path, [record("B1", "First"), record("B1", "Again"), record("nan", "N")])
    (tmp_path / "items_ins_v2_1000.json").write_text('{"B1": {"attributes": ["a"]}, "B1": {"attributes": ["b"]}}')
    (tmp_path / "shelf").mkdir()
    assert write_disk_catalog(tmp_path, tmp_path / "shelf") == 1
    (product,) = open_disk_catalog(tmp_path / "shelf")
    assert (product.name, product.attributes) == ("First", ("b",))
    write_folder(tmp_path, [record("B1", "Cup \ud800", query="\x00")])  # no Unicode text
    (tmp_path / "other").mkdir()
    assert write_disk_catalog(tmp_path, tmp_path / "other") == 1
    assert facts(open_disk_catalog(tmp_path / "other")) == facts(load_catalog(tmp_path))


def test_a_broken_record_is_the_same_error_as_in_memory(tmp_path: Path) -> None:
    write_folder(tmp_path, [record("B1", "Cup"), record("B2", "Cup", pricing="free")], ANNOTATIONS)
    (tmp_path / "shelf").mkdir()
    said = []
    for read in (lambda: write_disk_catalog(tmp_path, tmp_path / "shelf"), lambda: load_catalog(tmp_path)):
        with pytest.raises(CatalogError, match=r"record 1 \(asin B2\)") as refused:
            read()
        said.append(str(refused.value))
    assert said[0] == said[1]


def test_threads_read_side_by_side(catalog: Catalog, stored: Catalog) -> None:
    asins = [asin for seed in range(4) for asin in random.Random(seed).sample(list(catalog.asins()), len(catalog))]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(lambda asin: stored[asin].name, asins)) == [catalog[asin].name for asin in asins]
