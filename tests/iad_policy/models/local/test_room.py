"""Requests that share the key-value cache."""

from threading import Event, Thread

from iad_policy.models.local.generation import TokenRoom


def test_answers_fit_in_beside_their_prompt() -> None:
    room = TokenRoom(1000)
    assert room.n_fitting(200, 200) == 4
    assert room.n_fitting(200, 900) == room.n_fitting(2000, 10) == 1


def test_a_request_waits_until_another_one_has_ended() -> None:
    room, entered, leave = TokenRoom(100), Event(), Event()
    order: list[str] = []

    def first() -> None:
        with room.taken(80, lambda: False):
            entered.set()
            leave.wait()
            order.append("first")

    def second() -> None:
        with room.taken(30, lambda: False):
            order.append("second")

    threads = [Thread(target=first), Thread(target=second)]
    threads[0].start()
    entered.wait()
    threads[1].start()
    threads[1].join(0.3)
    assert order == []
    leave.set()
    for thread in threads:
        thread.join()
    assert order == ["first", "second"]


def test_a_request_that_is_too_large_gets_in_alone() -> None:
    room = TokenRoom(100)
    with room.taken(500, lambda: False):
        pass


def test_who_is_cancelled_does_not_wait() -> None:
    room = TokenRoom(100)
    with room.taken(80, lambda: False), room.taken(80, lambda: True):
        pass
