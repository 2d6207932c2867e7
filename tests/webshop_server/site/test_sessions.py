"""Sessions are bounded in number and freed after idle time."""

import pytest

from webshop_server.engine import ShopState
from webshop_server.site.sessions import Sessions

STATE = ShopState("buy")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_freed_when_it_was_idle_for_too_long_and_kept_while_it_is_used() -> None:
    clock = Clock()
    sessions = Sessions(idle_s=100, clock=clock)
    sessions.put("idle", STATE)
    sessions.put("used", STATE)
    for clock.now in (60.0, 120.0, 180.0):
        assert sessions.get("used") == STATE
    assert sessions.get("idle") is None
    assert len(sessions) == 1
    clock.now = 281.0
    assert len(sessions) == 0


def test_over_the_limit_the_longest_unused_is_freed() -> None:
    sessions = Sessions(max_sessions=3)
    for name in ("a", "b", "c"):
        sessions.put(name, STATE)
    sessions.get("a")
    sessions.put("d", STATE)
    assert [name for name in "abcd" if sessions.get(name)] == ["a", "c", "d"]


def test_a_hundred_thousand_sessions_do_not_pile_up() -> None:
    sessions = Sessions(max_sessions=1000)
    for number in range(100_000):
        sessions.put(str(number), STATE)
    assert len(sessions) == 1000
    assert sessions.get("99999") == STATE
    assert sessions.get("98999") is None


@pytest.mark.parametrize("limits", [{"idle_s": 0}, {"max_sessions": 0}, {"idle_s": float("nan")}])
def test_limits_that_keep_nothing_are_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="1 or more"):
        Sessions(**limits)  # type: ignore[arg-type]
