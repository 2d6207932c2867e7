from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Parcels"
CONFIG = {
    "today": "2026-03-02",
    "next_number": 70,
    "addresses": [{"address_id": "AD-1", "name": "Kai Lund", "street": "2 Elm Row", "city": "Oxley"}],
    "parcels": [
        {"parcel_id": "PC-2", "address_id": "AD-1", "weight_kg": 5.0, "service": "standard", "price": 10.5},
        {
            "parcel_id": "PC-3",
            "address_id": "AD-1",
            "weight_kg": 5.0,
            "service": "standard",
            "price": 10.5,
            "status": "paid",
            "card_id": "CC-4",
        },
    ],
    "cards": [
        {"card_id": "CC-4", "label": "blue card", "balance": 50.0},
        {"card_id": "CC-5", "label": "club card", "balance": 3.0},
    ],
}


def test_an_address_is_found_and_saved(desk: Desk) -> None:
    assert desk.reads("find_address", name="Kai Lund")["address_id"] == "AD-1"
    assert "Kai" in desk.refused("find_address", name="Kai")
    new = {"name": "Eva Dahl", "street": "1 Lime Walk", "city": "Oxley"}
    assert desk.call("save_address", **new) == {"address_id": "AD-70"}
    assert desk.reads("find_address", name="Eva Dahl") == {"address_id": "AD-70", **new}
    assert "already" in desk.refused("save_address", **new)


def test_a_price_is_told_within_bounds(desk: Desk) -> None:
    for service, price in (("standard", 7.5), ("express", 14.0), ("overnight", 22.5)):
        quoted = desk.reads("quote_parcel", address_id="AD-1", weight_kg=2.5, service=service)
        assert quoted == {"price": price}
    assert "at most 30" in desk.refused("quote_parcel", address_id="AD-1", weight_kg=31)
    assert "AD-9" in desk.refused("quote_parcel", address_id="AD-9", weight_kg=1)
    assert "one of standard" in desk.refused("quote_parcel", address_id="AD-1", weight_kg=1, service="slow")


def test_a_parcel_is_made(desk: Desk) -> None:
    assert desk.call("create_parcel", address_id="AD-1", weight_kg=10) == {"parcel_id": "PC-70", "price": 16.5}
    assert desk.reads("track_parcel", parcel_id="PC-70")["status"] == "unpaid"
    assert "more than 0" in desk.refused("create_parcel", address_id="AD-1", weight_kg=0)


def test_a_parcel_is_insured_once_and_before_it_is_paid(desk: Desk) -> None:
    assert "above 0" in desk.refused("insure_parcel", parcel_id="PC-2", value=0)
    insured = desk.call("insure_parcel", parcel_id="PC-2", value=200)
    assert insured == {"parcel_id": "PC-2", "premium": 3.0, "price": 13.5}
    assert "already" in desk.refused("insure_parcel", parcel_id="PC-2", value=10)
    assert "must be unpaid" in desk.refused("insure_parcel", parcel_id="PC-3", value=10)


def test_a_parcel_is_paid(desk: Desk) -> None:
    assert [card["card_id"] for card in desk.reads("list_cards")["cards"]] == ["CC-4", "CC-5"]
    assert "CC-5 has 3.00" in desk.refused("pay_parcel", parcel_id="PC-2", card_id="CC-5")
    assert desk.call("pay_parcel", parcel_id="PC-2", card_id="CC-4") == {"paid": 10.5, "balance": 39.5}
    assert "must be unpaid" in desk.refused("pay_parcel", parcel_id="PC-2", card_id="CC-4")


def test_a_parcel_is_tracked_and_picked_up(desk: Desk) -> None:
    assert desk.reads("track_parcel", parcel_id="PC-3") == {
        "parcel_id": "PC-3",
        "address_id": "AD-1",
        "service": "standard",
        "status": "paid",
        "price": 10.5,
    }
    assert "PC-9" in desk.refused("track_parcel", parcel_id="PC-9")
    for day in ("2026-03-01", "March 5, 2026", "2026-02-30", "20260305", ""):
        assert "day must" in desk.refused("book_pickup", parcel_id="PC-3", day=day)
    assert desk.call("book_pickup", parcel_id="PC-3", day="2026-03-05") == {"pickup_id": "PU-70"}
    assert desk.state.pickups[0].slot == "morning"
    assert "must be paid" in desk.refused("book_pickup", parcel_id="PC-2", day="2026-03-05")
    assert "must be paid" in desk.refused("book_pickup", parcel_id="PC-3", day="2026-03-05")


def test_what_was_paid_goes_back(desk: Desk) -> None:
    desk.call("book_pickup", parcel_id="PC-3", day="2026-03-05")
    assert desk.call("cancel_parcel", parcel_id="PC-3") == {"parcel_id": "PC-3", "refund": 10.5}
    assert desk.state.cards[0].balance == 60.5
    assert desk.state.pickups == ()
    assert desk.call("cancel_parcel", parcel_id="PC-2")["refund"] == 0.0
    assert "PC-2" in desk.refused("cancel_parcel", parcel_id="PC-2")
