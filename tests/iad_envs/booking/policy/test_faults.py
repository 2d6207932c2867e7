"""The text judge of reservations: it agrees with the site's data about final pages, without gold."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.policy.fit import faults
from iad_envs.booking.policy.verifier import verdict
from iad_policy import Candidate, State
from tests.iad_envs.booking.policy.visits import FINISHED, Visit, tasks_with, wandering

N_EACH = 60


@pytest.fixture(scope="module")
def pages() -> Iterator[Sequence[Any]]:
    """Final pages that are right, and as many that are wrong in one part."""
    folder = str(Path(__file__).parents[4] / "benchmarks")
    sys.path.insert(0, folder)
    from support.booking_pages import final_pages

    yield list(final_pages(gym.make("IAD/Booking-v0", split=None), N_EACH))
    sys.path.remove(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


def test_it_agrees_with_the_site_s_data_and_names_what_is_wrong(pages: Sequence[Any]) -> None:
    assert len(pages) == 2 * N_EACH
    assert all((page.wrong == "") == (page.wrong_parts == []) for page in pages)
    agreed = [bool(faults(page.state)) == bool(page.wrong) for page in pages]
    assert sum(agreed) / len(agreed) >= 0.97
    called = {"day": "date", "first_name": "name", "last_name": "name"}
    wrong = [page for page in pages if page.wrong]
    plain = {"restaurant", "time", "party", "seating", "phone", "email"}
    assert {page.wrong for page in wrong} == plain | called.keys()
    named = [f"{called.get(page.wrong, page.wrong)} differs" in faults(page.state) for page in wrong]
    assert sum(named) / len(named) >= 0.97


def test_the_verifier_scores_completions_as_it_does(pages: Sequence[Any]) -> None:
    for page in pages:
        last = page.state.history[-1]
        before = State(last.observation, last.info, history=page.state.history[:-1])
        found = verdict(before, Candidate(last.action, preview=page.state))
        assert (found.score <= 0.05) == bool(faults(page.state))
        assert found.score in (0.05, 0.7, 1.0)


def test_without_a_confirmation_nothing_passes() -> None:
    rng, n = Random(1), 0
    for task_id in tasks_with()[:4]:
        visit = Visit(task_id)
        for _ in wandering(visit, rng):
            assert faults(visit.state)
            n += 1
    assert n > 60
    assert faults(Visit(tasks_with()[0]).state) == ["nothing was completed"]


def test_a_move_that_leaves_the_old_reservation_does_not_pass() -> None:
    _, preview = finished(tasks_with("move")[0])
    assert faults(changed(preview, is_cancelled=False)) == ["the old reservation is still there"]


def finished(task_id: str) -> tuple[Visit, State]:
    """A visit before its last gold action, and the state after it."""
    visit = Visit(task_id).did_until(FINISHED)
    preview = visit.tried(FINISHED).preview
    assert preview is not None
    assert not faults(preview)
    return visit, preview


def changed(preview: State, **values: Any) -> State:
    """A final state whose reservations have other values."""
    page = preview.info["page"]
    page = {**page, "reservations": [{**one, **values} for one in page["reservations"]]}
    return replace(preview, info={**preview.info, "page": page})


def test_of_two_times_that_are_equally_near_either_passes_and_a_further_one_does_not() -> None:
    task_id = next(one for one in tasks_with("nearest") if len(Visit(one).task.gold_slots) == 2)
    visit, preview = finished(task_id)
    for minute in (*visit.task.gold_slots, visit.task.minute):
        time = f"{minute // 60:02d}:{minute % 60:02d}"
        assert (not faults(changed(preview, time=time))) == (minute in visit.task.gold_slots)


@pytest.mark.parametrize(
    ("field", "written"),
    [
        ("phone", lambda text: text.replace("-", " ")),
        ("phone", lambda text: f"({text.replace('-', ') ')}"),
        ("email", str.upper),
        ("name", lambda text: f" {text.lower()} "),
    ],
)
def test_details_count_however_they_are_written(field: str, written: Callable[[str], str]) -> None:
    _, preview = finished(tasks_with("given_seating")[0])
    value = written(preview.info["page"]["reservations"][0][field])
    assert not faults(changed(preview, **{field: value}))
    assert faults(changed(preview, **{field: value[:-2]}))
