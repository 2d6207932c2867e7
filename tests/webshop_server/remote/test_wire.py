"""What a shop's server refuses of a state that came over the wire."""

import pytest

from webshop_server.engine import Shop, ShopState
from webshop_server.remote.wire import WireError, require_shown


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (ShopState("buy", "attic"), "a kind of page, one of index, results, item"),
        (ShopState("buy", query="x" * 100_000), "a kind of page, .* a query and a number"),
        (ShopState("buy", number=-1), "a kind of page, .* a query and a number"),
        (ShopState("x" * 100_000), "a state of an ordinary size"),
        (ShopState("buy", visited=("B1",) * 10_001), "a state of an ordinary size"),
        (ShopState("buy", "item", asin="nothing"), "the id of a product"),
        (ShopState("buy", asin="nothing"), "the id of a product"),
    ],
)
def test_a_state_that_the_shop_has_no_page_for_is_refused(shop: Shop, state: ShopState, expected: str) -> None:
    with pytest.raises(WireError, match=f"expected {expected}"):
        require_shown(shop, state)


def test_a_state_of_the_largest_size_and_one_with_a_products_options_are_shown(shop: Shop) -> None:
    require_shown(shop, ShopState("x" * (1 << 16), visited=("B1",) * 10_000))
    asin, product = next((one.asin, one) for one in shop.catalog if one.options)
    name, values = next(iter(product.options.items()))
    require_shown(shop, ShopState("buy", "item", asin=asin, options=((name, values[0]),)))
    with pytest.raises(WireError, match=f"expected an option of product {asin}"):
        require_shown(shop, ShopState("buy", "item", asin=asin, options=((name, "none such"),)))
