"""The measurements of the booking site: final pages that are wrong in one part, and trying beside the site or on it."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def booking(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    monkeypatch.syspath_prepend(FOLDER)
    from support import booking_pages, booking_trials

    yield SimpleNamespace(pages=booking_pages, trials=booking_trials)
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


def test_final_pages_are_right_or_wrong_in_exactly_one_part_and_the_same_again(booking: SimpleNamespace) -> None:
    env = gym.make("IAD/Booking-v0", split=None)
    found = list(booking.pages.final_pages(env, 36, seed=3))
    again = list(booking.pages.final_pages(env, 36, seed=3))
    assert [page.state.observation for page in found] == [page.state.observation for page in again]
    parts = dict.fromkeys(booking.pages.WRONG, "user_info") | {
        "restaurant": "restaurant",
        "day": "date_time",
        "time": "date_time",
        "party": "party",
        "seating": "seating",
    }
    assert [page.wrong for page in found[::2]] == [""] * 36
    assert sorted(page.wrong for page in found[1::2]) == sorted([*parts] * 4)
    for page in found:
        assert page.wrong_parts == ([parts[page.wrong]] if page.wrong else [])
        assert page.state.done
        assert page.state.info["page"]["kind"] == "confirmation"
        assert not set(page.state.info) & env.unwrapped.GOLD_INFO  # type: ignore[attr-defined]


def test_trying_beside_the_site_solves_more_of_what_has_side_effects(booking: SimpleNamespace) -> None:
    env: Any = gym.make("IAD/Booking-v0")
    inner = env.unwrapped
    tasks = [name for name in inner.task_ids if {"contested", "move"} & set(inner._task(name).kinds)]
    tasks = tasks[::2]
    beside, real = (
        [booking.trials.Visitor(env, simulates=how).solves(name, 0) for name in tasks] for how in (True, False)
    )
    assert sum(beside) - sum(real) >= 0.2 * len(tasks)
