"""The shop: actions, pages, and how they are shown."""

import copy
import json
import pickle
import re
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.webshop_server.small_shop import ANNOTATIONS, SharedWords, record, write_folder
from webshop_server.catalog import Catalog, load_catalog
from webshop_server.engine import MAX_QUERY_LENGTH, Shop, ShopState, parse_action
from webshop_server.pages import RENDERERS, Page, render_text, render_text_rich, render_url


def walk(shop: Shop, *actions: str) -> ShopState:
    """The state after actions that must all be possible."""
    state = shop.start("navy shoes")
    for action in actions:
        state, invalid = shop.act(state, action)
        assert not invalid, invalid
    return state


def test_actions_are_read_as_by_the_original_pattern() -> None:
    for action, parsed in {
        "search[Red Shoes]": ("search", "red shoes"), "search[x]y": ("search", "x"), "search[a]b]": ("search", "a]b"),
        "click[a [b] c]": ("click[a ", "b] c"), "search[x]\nsecond line]": ("search", "x"),
        " search[x]": (" search", "x"),
        **dict.fromkeys(("search[]", "[x]", "search[x", "\nsearch[x]", "search[a\nb]", ""), ("", "")),
    }.items():  # fmt: skip
        assert parse_action(action) == parsed, action


def test_a_trip_ends_in_the_purchase_of_what_was_chosen_which_previous_forgets_on_the_item_page(shop: Shop) -> None:
    item = walk(shop, "search[sneakers]", "click[B000SHOE01]", "click[Navy Blue]", "click[9]", "click[8]")
    with pytest.raises(ValueError, match=r"after click\[buy now\], got one on the item page"):
        shop.purchase(item)
    done = shop.act(item, "click[Buy Now]").state
    product, options = shop.purchase(done)
    assert (product.asin, options) == ("B000SHOE01", {"color": "navy blue", "size": "8"})
    assert shop.clickables(done) == ()
    for action in ("search[sneakers]", "click[back to search]", "click[buy now]"):
        assert shop.act(done, action) == (done, "no action is possible: the purchase is made")
    chosen = walk(shop, "search[sneakers]", "click[b000shoe01]", "click[8]")
    back = shop.act(shop.act(chosen, "click[features]").state, "click[< prev]").state
    assert back == chosen
    results = shop.act(chosen, "click[< prev]").state
    assert (results.kind, results.options, results.visited) == ("results", (), ("B000SHOE01",))
    start = shop.start("navy shoes")
    assert shop.act(chosen, "click[back to search]").state == start
    assert shop.act(start, "click[search]") == (start, "click['search'] is not possible here; search[words]")


def test_results_come_in_pages_unless_limited_without_hits_outside(folder: Path, catalog: Catalog, shop: Shop) -> None:
    state = walk(shop, "search[socks]")
    pages = [shop.page(walk(shop, "search[socks]", *["click[next >]"] * n)) for n in range(4)]
    assert (pages[0].public()["total"], [len(page.products) for page in pages]) == (20, [10, 10, 0, 0])
    assert "< prev" not in shop.clickables(state)
    assert walk(shop, "search[socks]", "click[next >]", "click[< prev]") == state
    short = Shop(catalog, SharedWords(catalog), page_size=3, max_pages=2)
    last = walk(short, "search[socks]", "click[next >]")
    assert "next >" not in short.clickables(last)
    assert "Next >" not in RENDERERS["text"](short.page(last))
    shop = Shop(load_catalog(write_folder(folder, [record("B000SHOE01", "Acme")], ANNOTATIONS)), SharedWords(catalog))
    assert [product.asin for product in shop.page(walk(shop, "search[sneakers]")).products] == ["B000SHOE01"]


def test_where_a_search_is_taken_and_is_special(catalog: Catalog, shop: Shop) -> None:
    item = walk(shop, "search[sneakers]", "click[b000shoe01]", "click[8]")
    assert shop.act(item, "search[vase]").state == ShopState("navy shoes", "results", "vase", 1, visited=item.visited)
    strict = Shop(catalog, SharedWords(catalog), search_anywhere=False)
    assert "first page only" in strict.act(item, "search[vase]").invalid
    assert "search[words]" not in strict.act(item, "click[nothing]").invalid
    special = Shop(catalog, SharedWords(catalog), special_queries=True)
    found = {"<r>": 23, "<c> garden": 1, "<q> walking shoes": 2, "<a> arch support": 1, "<c>": 0}
    assert {query: special.page(walk(special, f"search[{query}]")).total for query in found} == found
    assert shop.page(walk(shop, "search[<c> garden]")).total == 0


def test_an_impossible_action_changes_nothing_and_says_what_is_possible(shop: Shop, tmp_path: Path) -> None:
    item, nothing = walk(shop, "search[sneakers]", "click[b000shoe01]"), " is not possible"
    for action, said in {
        "click[foo]": f"click['foo']{nothing} here; you can click: back to search, < prev, description",
        "think[hm]": "search[words] or click[button], got 'think[hm]'", "Search[x]": "click[button], got 'Search[x]'",
        "click[" + "x" * 99 + "]": "click['" + "x" * 60 + f"...']{nothing}", "\x00\x07": r"got '\x00\x07'",
        f"search[{'x' * (MAX_QUERY_LENGTH + 1)}]": "at most 4096 characters to search, got 4097",
    }.items():  # fmt: skip
        state, invalid = shop.act(item, action)
        assert (state is item, said in invalid) == (True, True), (action, invalid)
    assert not shop.act(item, f"search[{'x' * MAX_QUERY_LENGTH}]").invalid
    for action in ("[" * 2**20, "]" * 2**20, "search[" * 2**17, "click[" + "\x00" * 2**20 + "]"):
        start = time.process_time()
        _, invalid = shop.act(shop.start("navy shoes"), action)
        assert time.process_time() - start < 0.5
        assert 0 < len(invalid) < 1000
    values = {"top": [{"value": "red"}], "size": [{"value": str(n)} for n in range(58)], "bottom": [{"value": "red"}]}
    catalog = load_catalog(write_folder(tmp_path, [record("B1", "Cup", customization_options=values)]))
    shop = Shop(catalog, SharedWords(catalog))
    item = walk(shop, "search[cup]", "click[b1]", "click[red]")
    assert (item.options, shop.clickables(item).count("red")) == ((("bottom", "red"),), 1)
    assert re.search(r"7 and \d+ more or search\[words\]$", shop.act(item, "click[foo]").invalid)


CLICKS = ["next >", "< prev", "b000shoe01", "8", "navy blue", "description", "features", "back to search"]
ACTIONS = st.one_of(
    st.text(),
    st.binary().map(lambda raw: raw.decode("latin-1")),
    st.sampled_from(["search", "click", "think"]).flatmap(lambda n: st.text().map(lambda a: f"{n}[{a}]")),
    st.sampled_from(["search[sneakers]", "search[socks vase]", *(f"click[{name}]" for name in CLICKS)]),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(actions=st.lists(ACTIONS, max_size=12))
def test_any_actions_are_survived_without_purchase_and_states_are_values(shop: Shop, actions: list[str]) -> None:
    state = shop.start("navy shoes")
    for action in actions:
        before = copy.deepcopy(state)
        step = shop.act(state, action)
        assert state == before
        assert step == shop.act(state, action)
        assert step.state is state if step.invalid else True
        state = step.state
        assert hash(state) == hash(pickle.loads(pickle.dumps(state)))
        page = shop.page(state)
        json.dumps(page.public())
        assert all(isinstance(render(page), str) for render in RENDERERS.values())
        assert state.kind != "done"
        for name in shop.clickables(state):
            assert (shop.act(state, f"click[{name}]").invalid != "") == (name == "search")


ITEM = ShopState("navy shoes", "item", "sneakers", 1, "B000SHOE01", (("size", "8"),), ("B000SHOE01",))


def test_an_item_page_shows_options_title_price_and_tabs_at_the_originals_addresses(shop: Shop) -> None:
    assert render_text(shop.page(ITEM)) == (
        "Instruction: [SEP] navy shoes [SEP] Back to Search [SEP] < Prev [SEP] color [SEP] navy blue [SEP] "
        "black | white [SEP] size [SEP] 8 [SEP] 9 [SEP] Acme Women Canvas Sneakers [SEP] Price: $39.99 [SEP] "
        "Rating: N.A. [SEP] Description [SEP] Features [SEP] Reviews [SEP] Buy Now"
    )
    for state, address in (
        (ShopState("x"), "/s1"),
        (ShopState("x", "results", "red shoes", 2), "/search_results/s1/red+shoes/2"),
        (ITEM, '/item_page/s1/B000SHOE01/sneakers/1/{"size": "8"}'),
        (ITEM._replace(kind="features"), "/item_sub_page/s1/B000SHOE01/sneakers/1/Features/{'size': '8'}"),
        (ITEM._replace(kind="done"), "/done/s1/B000SHOE01/{'size': '8'}"),
    ):
        assert render_url(shop.page(state), "s1") == f"http://127.0.0.1:3000{address}"


def test_rich_text_marks_what_was_clicked(shop: Shop) -> None:
    text = render_text_rich(shop.page(ITEM._replace(options=(("size", "8"), ("color", "navy blue")))))
    assert text.startswith("You have clicked 8.\nYou have clicked navy blue.\nInstruction:\nnavy shoes\n")
    assert "  [clicked button] 8 [clicked button_]\n  [button] 9 [button_]\n" in text
    text = render_text_rich(shop.page(ITEM._replace(kind="results", asin="", options=())))
    assert "\n\n[clicked button] B000SHOE01 [clicked button_]\nAcme Women Canvas Sneakers\n$39.99\n" in text
    assert "\n\n[button] B000SHOE02 [button_]\n" in text
    quoted = ITEM._replace(query='"9"', options=())  # as in the original
    assert render_text_rich(shop.page(quoted)).startswith("You have clicked 9.\n")
    with pytest.raises(ValueError, match=r"Shop\.page"):
        render_text(Page("item", "x", ()))
    page = shop.page(ITEM._replace(kind="done"))
    assert render_text(page) == "Thank you for shopping with us!"
    assert render_text_rich(page) == "Thank you for shopping with us!\n"
    published = render_text(page, 0.5)
    assert '[SEP] options [SEP] {"size": "8"} [SEP]' in published
    assert published.endswith("[SEP] Your score (min 0.0, max 1.0) [SEP] 0.5 [SEP] Reward Details [SEP] None")


def test_attributes_can_be_shown_and_empty_texts_leave_no_gap(catalog: Catalog, shop: Shop, tmp_path: Path) -> None:
    open_shop = Shop(catalog, SharedWords(catalog), show_attributes=True)
    assert "attributes" in open_shop.clickables(ITEM)
    assert "attributes" not in shop.clickables(ITEM)
    assert "Reviews [SEP] Attributes [SEP] Buy Now" in render_text(open_shop.page(ITEM))
    assert render_text(open_shop.page(ITEM._replace(kind="attributes"))).endswith(
        "< Prev [SEP] rubber sole [SEP] arch support [SEP] fashion [SEP] walking shoes [SEP] Clothing › Women › Shoes"
    )
    bare = record("B1", "Cup", full_description="", small_description=["", "Blue "])
    catalog = load_catalog(write_folder(tmp_path, [bare]))
    shop, head = Shop(catalog, SharedWords(catalog)), "Instruction: [SEP] x [SEP] Back to Search [SEP] < Prev"
    for kind, rest in (("description", ""), ("reviews", ""), ("features", " [SEP]  [SEP] Blue")):
        page = shop.page(ShopState("x", kind, "cup", 1, "B1", (), ("B1",)))
        assert render_text(page) == head + rest, kind
