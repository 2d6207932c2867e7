from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Library"
CONFIG = {
    "today": "2026-03-02",
    "next_number": 70,
    "books": [
        {"book_id": "BK-1", "title": "Tin Boats", "author": "Ola Berg", "subject": "crafts", "shelf": "A1"},
        {"book_id": "BK-2", "title": "Paper Boats", "author": "Ida Moe", "subject": "crafts", "shelf": "A2"},
        {"book_id": "BK-3", "title": "Wells", "author": "Ola Berg", "subject": "history", "shelf": "B1"},
    ],
    "members": [
        {"member_id": "MB-1", "name": "Kai Lund"},
        {"member_id": "MB-2", "name": "Eva Dahl", "fine": 4.0},
        {"member_id": "MB-3", "name": "Per Vik", "fine": 12.5},
    ],
    "loans": [{"loan_id": "LN-5", "book_id": "BK-2", "member_id": "MB-2", "due": "2026-02-25"}],
    "reservations": [{"reservation_id": "RS-6", "book_id": "BK-3", "member_id": "MB-1"}],
}


def test_books_members_and_loans_are_found(desk: Desk) -> None:
    assert [one["book_id"] for one in desk.reads("find_books", words="BOATS")["books"]] == ["BK-1", "BK-2"]
    assert [one["title"] for one in desk.reads("find_books", words="ola berg")["books"]] == ["Tin Boats", "Wells"]
    assert "No book" in desk.refused("find_books", words="cats")
    assert "No book" in desk.refused("find_books", words=" ")
    lent = desk.reads("describe_book", book_id="BK-2")
    assert (lent["shelf"], lent["status"], lent["due"]) == ("A2", "lent", "2026-02-25")
    assert desk.reads("describe_book", book_id="BK-1")["status"] == "in"
    assert "BK-9" in desk.refused("describe_book", book_id="BK-9")
    assert desk.reads("find_member", name="eva dahl") == {"member_id": "MB-2", "name": "Eva Dahl", "fine": 4.0}
    assert "Eva" in desk.refused("find_member", name="Eva")
    (loan,) = desk.reads("list_loans", member_id="MB-2")["loans"]
    assert loan == {"loan_id": "LN-5", "book_id": "BK-2", "title": "Paper Boats", "due": "2026-02-25"}
    assert desk.reads("list_loans", member_id="MB-1") == {"loans": []}
    assert "MB-9" in desk.refused("list_loans", member_id="MB-9")


def test_a_book_is_lent_to_who_waits_for_it_and_comes_back_in_time(desk: Desk) -> None:
    for days in (0, -3, 61):
        assert "1 to 60" in desk.refused("lend_book", book_id="BK-1", member_id="MB-1", days=days)
        assert "1 to 60" in desk.refused("renew_loan", loan_id="LN-5", days=days)
    assert desk.call("lend_book", book_id="BK-1", member_id="MB-1") == {"loan_id": "LN-70", "due": "2026-03-23"}
    assert desk.reads("describe_book", book_id="BK-1")["status"] == "lent"
    assert "lent already" in desk.refused("lend_book", book_id="BK-1", member_id="MB-2")
    assert "has to pay" in desk.refused("lend_book", book_id="BK-3", member_id="MB-3")
    assert "reserved for MB-1" in desk.refused("lend_book", book_id="BK-3", member_id="MB-2")
    assert desk.call("lend_book", book_id="BK-3", member_id="MB-1", days=7)["due"] == "2026-03-09"
    assert desk.state.reservations == ()
    assert desk.call("return_book", book_id="BK-1")["fine"] == 0.0


def test_a_loan_is_renewed_from_the_day_it_is_due(desk: Desk) -> None:
    assert desk.call("renew_loan", loan_id="LN-5") == {"loan_id": "LN-5", "due": "2026-03-11"}
    assert desk.call("renew_loan", loan_id="LN-5", days=1)["due"] == "2026-03-12"
    assert "LN-6" in desk.refused("renew_loan", loan_id="LN-6")
    desk.call("reserve_book", book_id="BK-2", member_id="MB-1")
    assert "reserved" in desk.refused("renew_loan", loan_id="LN-5")


def test_a_late_book_costs_a_fine(desk: Desk) -> None:
    late = desk.call("return_book", book_id="BK-2")
    assert late == {"book_id": "BK-2", "member_id": "MB-2", "days_late": 5, "fine": 1.0}
    assert desk.reads("find_member", name="Eva Dahl")["fine"] == 5.0
    assert "not lent" in desk.refused("return_book", book_id="BK-2")
    assert "BK-9" in desk.refused("return_book", book_id="BK-9")


def test_members_queue_for_a_book_and_a_reservation_is_cancelled(desk: Desk) -> None:
    assert desk.call("reserve_book", book_id="BK-3", member_id="MB-2") == {"reservation_id": "RS-70", "place": 2}
    assert "already" in desk.refused("reserve_book", book_id="BK-3", member_id="MB-2")
    assert "MB-9" in desk.refused("reserve_book", book_id="BK-3", member_id="MB-9")
    assert desk.call("cancel_reservation", reservation_id="RS-6")["status"] == "cancelled"
    assert [one.reservation_id for one in desk.state.reservations] == ["RS-70"]
    assert "RS-6" in desk.refused("cancel_reservation", reservation_id="RS-6")


def test_a_fine_is_paid(desk: Desk) -> None:
    assert desk.call("pay_fine", member_id="MB-2", amount=1.5) == {"member_id": "MB-2", "paid": 1.5, "fine": 2.5}
    assert "at most 2.50" in desk.refused("pay_fine", member_id="MB-2", amount=2.6)
    assert "more than 0" in desk.refused("pay_fine", member_id="MB-1", amount=0)
    assert desk.call("pay_fine", member_id="MB-2", amount=2.5)["fine"] == 0.0
