from pathlib import Path

import pytest

from tests.webshop_server.small_shop import SharedWords, record, write_folder
from webshop_server.catalog import Catalog, load_catalog
from webshop_server.engine import Shop, ShopState
from webshop_server.pages import Page, render_text, render_text_rich, render_url

ITEM = ShopState("navy shoes", "item", "sneakers", 1, "B000SHOE01", (("size", "8"),), ("B000SHOE01",))


def test_an_item_page_shows_options_title_price_and_tabs(shop: Shop) -> None:
    assert render_text(shop.page(ITEM)) == (
        "Instruction: [SEP] navy shoes [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] navy blue [SEP] "
        "black | white [SEP] size [SEP] 8 [SEP] 9 [SEP] Acme Women Canvas Sneakers [SEP] Price: $39.99 [SEP] "
        "Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
    )


def test_rich_text_marks_clicked_options_and_visited_products(shop: Shop) -> None:
    text = render_text_rich(shop.page(ITEM._replace(options=(("size", "8"), ("color", "navy blue")))))
    assert text.startswith("You have clicked 8.\nYou have clicked navy blue.\nInstruction:\nnavy shoes\n")
    assert "  [clicked button] 8 [clicked button_]\n  [button] 9 [button_]\n" in text
    text = render_text_rich(shop.page(ITEM._replace(kind="results", asin="", options=())))
    assert "\n\n[clicked button] B000SHOE01 [clicked button_]\nAcme Women Canvas Sneakers\n$39.99\n" in text
    assert "\n\n[button] B000SHOE02 [button_]\n" in text
    quoted = ITEM._replace(query='"9"', options=())  # as in the original
    assert render_text_rich(shop.page(quoted)).startswith("You have clicked 9.\n")
    with pytest.raises(ValueError, match=r"build pages with Shop\.page"):
        render_text(Page("item", "x", ()))


def test_addresses_are_those_of_the_original(shop: Shop) -> None:
    for state, address in (
        (ShopState("x"), "/s1"),
        (ShopState("x", "results", "red shoes", 2), "/search_results/s1/red+shoes/2"),
        (ITEM, '/item_page/s1/B000SHOE01/sneakers/1/{"size": "8"}'),
        (ITEM._replace(kind="features"), "/item_sub_page/s1/B000SHOE01/sneakers/1/Features/{'size': '8'}"),
        (ITEM._replace(kind="done"), "/done/s1/B000SHOE01/{'size': '8'}"),
    ):
        assert render_url(shop.page(state), "s1") == f"http://127.0.0.1:3000{address}"


def test_the_done_page_shows_a_score_only_where_one_is_given(shop: Shop) -> None:
    page = shop.page(ITEM._replace(kind="done"))
    assert render_text(page) == "Thank you for shopping with us!"
    assert render_text_rich(page) == "Thank you for shopping with us!\n"
    published = render_text(page, 0.5)
    assert '[SEP] options [SEP] {"size": "8"} [SEP]' in published
    assert published.endswith("[SEP] Your score (min 0.0, max 1.0) [SEP] 0.5 [SEP] Reward Details [SEP] None")


def test_public_pages_show_what_the_observation_shows(shop: Shop) -> None:
    vase = {"asin": "B000VASE01", "title": "Ceramic Flower Vase", "price": "$100.0"}
    options = {"color": ["navy blue", "black | white"], "size": ["8", "9"]}
    for state, public in (
        (ITEM, {"kind": "item", "asin": "B000SHOE01", "title": "Acme Women Canvas Sneakers", "price": "$39.99",
                "options": options, "selected": {"size": "8"}}),
        (ITEM._replace(kind="features"), {
            "kind": "features", "asin": "B000SHOE01", "lines": ["Memory foam insole", "Machine wash"]}),
        (ShopState("x", "results", "vase", 1), {
            "kind": "results", "query": "vase", "page": 1, "total": 1, "products": [vase]}),
        (ITEM._replace(kind="done"), {"kind": "done"}), (shop.start("x"), {"kind": "index"}),
    ):  # fmt: skip
        assert shop.page(state).public() == public


def test_attributes_are_shown_only_where_switched_on(catalog: Catalog, shop: Shop) -> None:
    open_shop = Shop(catalog, SharedWords(catalog), show_attributes=True)
    assert "attributes" in open_shop.clickables(ITEM)
    assert "attributes" not in shop.clickables(ITEM)
    assert "Reviews [SEP] Attributes [SEP] Buy Now" in render_text(open_shop.page(ITEM))
    assert render_text(open_shop.page(ITEM._replace(kind="attributes"))).endswith(
        "< Prev [SEP] rubber sole [SEP] arch support [SEP] fashion [SEP] walking shoes [SEP] Clothing › Women › Shoes"
    )


def test_empty_texts_leave_no_gap_but_blank_bullets_do(tmp_path: Path) -> None:
    bare = record("B1", "Cup", full_description="", small_description=["", "Blue "])
    catalog = load_catalog(write_folder(tmp_path, [bare]))
    shop = Shop(catalog, SharedWords(catalog))
    item = ShopState("x", "item", "cup", 1, "B1", (), ("B1",))
    head = "Instruction: [SEP] x [SEP] Back to Search [SEP] < Prev"
    assert render_text(shop.page(item._replace(kind="description"))) == head
    assert render_text(shop.page(item._replace(kind="reviews"))) == head
    assert render_text(shop.page(item._replace(kind="features"))) == f"{head} [SEP]  [SEP] Blue"
