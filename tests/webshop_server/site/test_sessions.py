"""Sessions are bounded in number and freed after idle time."""

import pytest

from webshop_server.engine import ShopState
from webshop_server.site.sessions import SESSION_ID, Sessions


def test_a_session_is_freed_when_it_was_idle_for_too_long_and_kept_while_it_is_used() -> None:
    now = [0.0]
    sessions: Sessions[str] = Sessions(idle_s=100, clock=lambda: now[0])
    sessions.put("idle", "there")
    sessions.put("used", "here")
    for now[0] in (60.0, 120.0, 180.0):
        assert sessions.get("used") == "here"
    assert sessions.get("idle") is None
    assert len(sessions) == 1
    now[0] = 281.0
    assert len(sessions) == 0


def test_over_the_limit_the_longest_unused_is_freed() -> None:
    state = ShopState("buy")
    sessions: Sessions[ShopState] = Sessions(max_sessions=3)
    for name in "abc":
        sessions.put(name, state)
    sessions.get("a")
    sessions.put("d", state)
    assert [name for name in "abcd" if sessions.get(name)] == ["a", "c", "d"]
    for number in range(1000):
        sessions.put(str(number), state)
    assert (len(sessions), sessions.get("999"), sessions.get("990")) == (3, state, None)


def test_limits_that_keep_nothing_are_refused_and_names_need_no_escape_in_an_address() -> None:
    for limits in ({"idle_s": 0}, {"max_sessions": 0}, {"idle_s": float("nan")}):
        with pytest.raises(ValueError, match="1 or more"):
            Sessions(**limits)  # type: ignore[arg-type]
    assert all(SESSION_ID.fullmatch(name) for name in ("a", "me_2-x", "x" * 64))
    assert not any(SESSION_ID.fullmatch(name) for name in ("", "a b", "a/b", "a.b", "é", "x" * 65))
