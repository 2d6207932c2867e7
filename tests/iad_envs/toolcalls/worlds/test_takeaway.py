from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Takeaway"
CONFIG = {
    "wifi": True,
    "signed_in": "kai",
    "next_number": 70,
    "accounts": [{"user_name": "kai", "password": "oak", "balance": 20.0}],
    "kitchens": [{"kitchen_id": "KT-1", "name": "The Pan", "cuisine": "Greek", "minutes": 30}],
    "dishes": [
        {"dish_id": "DS-1", "kitchen_id": "KT-1", "name": "soup", "price": 6.5},
        {"dish_id": "DS-2", "kitchen_id": "KT-2", "name": "pie", "price": 8.0},
    ],
    "orders": [{"order_id": "OD-1", "user_name": "kai", "dish_id": "DS-2", "portions": 1, "price": 8.0}],
}


def test_orders_need_an_account() -> None:
    desk = Desk(WORLD, CONFIG | {"signed_in": ""})
    assert "wrong" in desk.refused("sign_in_takeaway", user_name="kai", password="ash")
    assert "eva" in desk.refused("sign_in_takeaway", user_name="eva", password="oak")
    assert desk.call("sign_in_takeaway", user_name="kai", password="oak") == {"user_name": "kai", "balance": 20.0}
    assert desk.call("put_money", amount=5) == {"balance": 25.0}
    for amount in (0, -3, 201):
        assert "at most 200" in desk.refused("put_money", amount=amount)


def test_dishes_are_found(desk: Desk) -> None:
    assert desk.reads("find_kitchens", cuisine="greek")["kitchens"][0]["kitchen_id"] == "KT-1"
    assert "Thai" in desk.refused("find_kitchens", cuisine="Thai")
    assert desk.reads("list_dishes", kitchen_id="KT-1") == {
        "dishes": [{"dish_id": "DS-1", "name": "soup", "price": 6.5}]
    }


def test_a_dish_is_ordered_and_paid(desk: Desk) -> None:
    assert desk.call("order_dish", dish_id="DS-1", portions=3) == {"order_id": "OD-70", "price": 19.5, "balance": 0.5}
    assert "has 0.50" in desk.refused("order_dish", dish_id="DS-1")
    assert "from 1 to" in desk.refused("order_dish", dish_id="DS-1", portions=0)
    desk.call("put_money", amount=6)
    assert desk.call("order_dish", dish_id="DS-1", note="warm")["balance"] == 0.0
    assert desk.world.public(desk.state)["balances"] == {"kai": 0.0}


def test_an_order_is_cancelled_once(desk: Desk) -> None:
    assert desk.call("cancel_dish", order_id="OD-1") == {"order_id": "OD-1", "balance": 28.0}
    assert "no order" in desk.refused("cancel_dish", order_id="OD-1")
    assert desk.world.public(desk.state)["orders"][0]["status"] == "cancelled"
