import random
from pathlib import Path

import pytest

from tests.webshop_server.small_shop import record, write_folder
from webshop_server.catalog import Catalog, index_text, load_catalog
from webshop_server.storage.json_files import CatalogError


def test_records_are_read_as_in_the_original_and_in_the_order_of_the_file(catalog: Catalog) -> None:
    assert [product.asin for product in catalog][:3] == ["B000SHOE01", "B000SHOE02", "B000VASE01"]
    assert catalog["B000VASE01"] is catalog.products[2]
    shoe, sock = catalog["B000SHOE01"], catalog["B000SOCK01"]
    assert dict(shoe.options) == {"color": ("navy blue", "black | white"), "size": ("8", "9")}
    assert dict(shoe.option_images) == {"navy blue": "https://example.org/blue.jpg"}
    assert shoe.query == "walking shoes"
    assert (sock.attributes, sock.instruction) == (("DUMMY_ATTR",), None)
    assert index_text(shoe) == (
        "acme women canvas sneakers made for the park. memory foam insole  "
        "color: navy blue, black | white, and size: 8, 9"
    )


def test_price_texts_are_those_of_the_original(tmp_path: Path) -> None:
    prices = ("$8.50", "$1,299.00", "", None, "$5.00 to $7.00")
    records = [record(f"B{place}", "Cup", pricing=pricing) for place, pricing in enumerate(prices)]
    texts = [product.price_text for product in load_catalog(write_folder(tmp_path, records))]
    assert texts == ["$8.5", "$1299.0", "$100.0", "$100.0", "$5.0 to $7.0"]


def test_a_folder_without_one_set_of_json_files_is_an_error_that_names_them(folder: Path, tmp_path: Path) -> None:
    annotations = {
        r"items_ins_v2_1000\.json: expected JSON": "{",
        r"asin B000SHOE01\).*'attributes'": '{"B000SHOE01": {"attributes": "rubber sole"}}',
    }
    for said, text in annotations.items():
        (folder / "items_ins_v2_1000.json").write_text(text, encoding="utf-8")
        with pytest.raises(CatalogError, match=said):
            load_catalog(folder)
    (folder / "items_shuffle.json").write_text("[]", encoding="utf-8")
    for place, said in ((folder, r"found items_shuffle\.json, items_shuffle_1000"), (tmp_path / "none", "found none")):
        with pytest.raises(FileNotFoundError, match=said):
            load_catalog(place)


def test_a_range_price_is_inside_the_range_and_independent_of_file_order(tmp_path: Path) -> None:
    ranged = [record(f"B{index}", "Cup", pricing="$10.00 to $20.00") for index in range(20)]
    prices = {product.asin: product.price for product in load_catalog(write_folder(tmp_path, ranged))}
    random.Random(0).shuffle(ranged)
    assert {p.asin: p.price for p in load_catalog(write_folder(tmp_path, ranged))} == prices
    assert all(10 <= price <= 20 for price in prices.values())
    assert len(set(prices.values())) > 10


def test_nan_long_and_repeated_ids_are_left_out(tmp_path: Path) -> None:
    records = [record("B1", "First"), record("nan", "N"), record("B1", "Again"), record("B" * 11, "Long")]
    catalog = load_catalog(write_folder(tmp_path, records))
    assert [product.name for product in catalog] == ["First"]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"name": None}, "text 'name', got None"), ({"pricing": "free"}, "a price"), ({"pricing": "$1.2.3"}, "a price"),
        ({"small_description": 3}, "list of texts 'small_description'"), ({"asin": 7}, "text 'asin', got 7"),
        ({"customization_options": {"size": ["8"]}}, "an object, got str"),
        ({"customization_options": ["size"]}, "an object 'customization_options'"),
    ],
)  # fmt: skip
def test_a_broken_record_is_an_error_that_names_file_record_and_expectation(
    tmp_path: Path, broken: dict[str, object], said: str
) -> None:
    records = [record("B1", "Cup"), {**record("B2", "Cup"), **broken}]
    place = "record 1" if "asin" in broken else r"record 1 \(asin B2\)"
    with pytest.raises(CatalogError, match=rf"items_shuffle_1000\.json, {place}: expected .*{said}"):
        load_catalog(write_folder(tmp_path, records))
