"""What is read from instructions and pages of the booking site: bundled, in other words, and any text at all."""

import time
from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.moments import clock
from iad_envs.booking.policy.instruction import (
    BookingInstruction,
    answers,
    iso_of,
    looked_for,
    minute_of,
    named_seating,
    read_instruction,
    wanted_seating,
)
from iad_envs.booking.world import SEATINGS
from tests.iad_envs.booking.policy.visits import Visit, tasks_with
from tests.iad_envs.booking.policy.wordings import WORDINGS, Wording


def test_every_bundled_instruction_is_read_as_its_task_says() -> None:
    env = BookingEnv(split=None)
    world = env.engine.world
    for task_id in env.task_ids:
        task = env._task(task_id)
        found, where, record = read_instruction(task.instruction), world.restaurants[task.restaurant], task.as_record()
        assert (found.restaurant, found.city) == (where.name, world.cities[where.city]), task.instruction
        assert (found.day, clock(found.minute), found.party) == (record["day"], record["time"], record["party"])
        assert found.seating == (task.seating if "given_seating" in task.kinds else ""), task.instruction
        details = dict(zip(("first-name", "last-name", "phone", "email"), task.user, strict=False))
        assert dict(found.details) == details, task.instruction
        assert found.moves == (task.own is not None), task.instruction


@pytest.mark.parametrize("one", WORDINGS, ids=lambda one: one.text[:40])
def test_an_instruction_in_other_words_is_read(one: Wording) -> None:
    found = read_instruction(one.text)
    details = [found.details.get(name, "") for name in ("first-name", "last-name", "phone", "email")]
    given = (found.restaurant, found.city, found.day, found.minute, found.party, found.seating, *details, found.moves)
    assert given == one[1:]


def test_a_day_may_be_told_from_today_s_or_written_in_each_usual_form() -> None:
    relative = {"tomorrow": 1, "the day after tomorrow": 2, "this Wednesday": 2, "this Sunday": 6,
                "Monday next week": 7, "Sunday next week": 13, "next week on Friday": 11, "two weeks from today": 14,
                "three weeks from today": 21}  # fmt: skip
    days = {said: (date(2026, 3, 2) + timedelta(days=n)).isoformat() for said, n in relative.items()}
    days |= {"on the 5th of May 2026": "2026-05-05", "May 22nd, 2026": "2026-05-22", "22 May": "2026-05-22",
             "1 March": "2027-03-01", "2026-05-22": "2026-05-22", "February 30 2026": "", "May 2026": ""}  # fmt: skip
    assert {said: read_instruction(f"Table at X in Y {said} at 7:00 PM").day for said in days} == days


def test_of_two_times_the_new_one_is_wanted() -> None:
    for said, hour in {
        "Move it from 7:00 PM to 8:00 PM": 20, "Make it 8:00 PM in place of 7:00 PM": 20,
        "Our table is at 7:00 PM. We would rather come at 8:00 PM": 20, "not 7:00 PM but 8:00 PM": 20,
        "8:00 PM instead of 7:00 PM": 20, "it was at 7:00 PM, and 8:00 PM is better": 20,
        "I have a table on May 22 2026 at 7:00 PM. Change it to 18:00": 18, "Only 8:00 PM": 20,
    }.items():  # fmt: skip
        found = read_instruction(f"{said}. Juniper in Bellmere.")
        assert (found.minute, found.moves) == (hour * 60, said != "Only 8:00 PM"), said


def test_a_word_in_a_restaurant_s_name_is_no_seating_and_what_is_not_said_is_empty() -> None:
    plain = "Book {} at {} in Bellmere for 4 people on May 22 2026 at 7:00 PM. Jo Lane, 555-0123, jo@example.org."
    assert [read_instruction(plain.format("a table", name)).seating for name in ("The Terrace", "Juniper Bar")] == [
        "",
        "",
    ]
    assert read_instruction(plain.format("a table outside", "The Terrace")).seating == "outdoor"
    assert read_instruction(plain.format("a seat at the bar", "Juniper Bar")).seating == "bar"
    assert {named_seating(label, tuple(SEATINGS)): label for label in SEATINGS.values()} == SEATINGS
    assert named_seating("outside", ["indoor"]) == ""
    assert read_instruction("Hello.") == BookingInstruction("", "", "", -1, 0, "", {}, False)


PIECES = (
    "at", "A", "Bar &", "in", "May", "31", "February 30", "2026", "9999-99-99", "99:99", "12 PM", "0 AM", "11:99 PM",
    "7", "people", "party of", "next week", "monday", "555-0123", "a@b.c", "Jo Lane", "(", "to", "²", "٣", "tomorrow",
)  # fmt: skip


@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join)))
@example("A table on 31 December 9999 or 1 January 0001")
def test_no_text_makes_it_raise(text: str) -> None:
    found = read_instruction(text)
    assert -1 <= found.minute < 24 * 60
    assert not found.day or date.fromisoformat(found.day)
    minute_of(text)
    iso_of(text)


def test_a_long_text_is_read_in_linear_time() -> None:
    for piece in ("A", "Aa ", "Aa & ", "at A ", "1", "555-", "a@", "May ", "Aa Bb phone ", "Aa Bb (", "two "):
        growths = [99.0]
        while min(growths) >= 9.0 and len(growths) < 6:
            times = []
            for length in (2_000, 8_000):
                read_instruction.cache_clear()
                start = time.thread_time()
                read_instruction(piece * (length // len(piece)))
                times.append(time.thread_time() - start)
            growths.append(times[1] / max(times[0], 0.001))
        assert min(growths) < 9.0, piece
    read_instruction.cache_clear()


def test_pages_tell_what_was_looked_for_and_what_the_user_said() -> None:
    visit = Visit(tasks_with("hidden_seating")[0]).did_until("CLICK [slot-")
    record = visit.task.as_record()
    assert looked_for(visit.page) == {"date": record["day"], "time": record["time"], "party": str(record["party"])}
    visit = Visit(visit.task.task_id).did_until("ASK")
    assert (answers(visit.state), wanted_seating(visit.state, visit.page["seatings"])) == ([], "")
    visit.did("ASK USER HELP [Where would you like to sit?]", "ASK USER HELP [And for how many people?]")
    assert answers(visit.state) == [visit.task.answers["seating"], visit.task.answers["party"]]
    assert wanted_seating(visit.state, visit.page["seatings"]) == visit.task.seating
    assert wanted_seating(visit.state, ["nowhere"]) == ""


def test_times_of_pages_are_minutes() -> None:
    minutes = {"1930": 1170, "19:30": 1170, "7:30 PM": 1170, "12:00 AM": 0, "12 pm": 720, "x": -1}
    assert {text: minute_of(text) for text in minutes} == minutes
