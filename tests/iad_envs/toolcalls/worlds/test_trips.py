from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Trips"
WAY = {"origin": "Oxley", "destination": "Fenn", "day": "2026-03-05"}
CONFIG = {
    "wifi": True,
    "signed_in": "kai",
    "next_number": 70,
    "accounts": [{"user_name": "kai", "password": "oak"}, {"user_name": "eva", "password": "ash"}],
    "trips": [
        {"trip_id": "TP-1", **WAY, "hour": "09:00", "price": 10.0, "free_seats": 4},
        {"trip_id": "TP-2", **WAY, "hour": "15:00", "price": 8.0, "free_seats": 2},
    ],
    "bookings": [
        {"booking_id": "BO-1", "user_name": "kai", "trip_id": "TP-1", "seats": 3, "place": "cabin", "price": 45.0},
        {"booking_id": "BO-2", "user_name": "eva", "trip_id": "TP-1", "seats": 1, "place": "deck", "price": 8.0},
    ],
}


def test_bookings_need_an_account() -> None:
    desk = Desk(WORLD, CONFIG | {"signed_in": ""})
    assert "wrong" in desk.refused("sign_in_trips", user_name="kai", password="ash")
    assert desk.call("sign_in_trips", user_name="eva", password="ash") == {"user_name": "eva"}
    assert [one["booking_id"] for one in desk.reads("list_bookings")["bookings"]] == ["BO-2"]


def test_trips_are_found_and_seats_booked(desk: Desk) -> None:
    assert [one["trip_id"] for one in desk.reads("find_trips", **WAY)["trips"]] == ["TP-1", "TP-2"]
    assert "no trip" in desk.refused("find_trips", origin="Fenn", destination="Oxley", day="2026-03-05")
    assert "from 1 to 4" in desk.refused("book_seats", trip_id="TP-1", seats=5)
    assert desk.call("book_seats", trip_id="TP-1", seats=2, place="deck") == {"booking_id": "BO-70", "price": 16.0}
    assert "from 1 to 2" in desk.refused("book_seats", trip_id="TP-1", seats=3)
    assert "one of saloon" in desk.refused("book_seats", trip_id="TP-1", place="roof")


def test_a_booking_is_changed(desk: Desk) -> None:
    assert "3 free seats" in desk.refused("change_trip", booking_id="BO-1", trip_id="TP-2")
    assert "another trip" in desk.refused("change_trip", booking_id="BO-1", trip_id="TP-1")
    made = desk.call("book_seats", trip_id="TP-2", seats=2)["booking_id"]
    assert desk.call("change_trip", booking_id=made, trip_id="TP-1") == {"booking_id": made, "price": 20.0}
    assert [one.free_seats for one in desk.state.trips] == [2, 2]


def test_a_booking_is_cancelled_by_its_owner_only(desk: Desk) -> None:
    assert "no open booking" in desk.refused("cancel_seats", booking_id="BO-2")
    assert desk.call("cancel_seats", booking_id="BO-1")["status"] == "cancelled"
    assert desk.state.trips[0].free_seats == 7
    assert "no open booking" in desk.refused("cancel_seats", booking_id="BO-1")
