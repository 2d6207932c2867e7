"""What is read from instructions and pages of the booking site: bundled, in other words, and any text at all."""

import time
from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.moments import clock
from iad_envs.booking.policy.instruction import BookingInstruction, iso_of, minute_of, named_seating, read_instruction
from iad_envs.booking.world import SEATINGS

MONDAY = date(2026, 3, 2)
PLAIN = "Book a table at {} for 4 people on May 22 2026 at 7:00 PM. Jo Lane, 555-0123, jo.lane@example.org."


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


OTHER_WORDS = {
    "Could you book me in at Cafe Mirage, Eastport, on Saturday 14 March 2026 around 7:30 pm? There will be 4 of us. "
    "Name's Jo Lane, my number is 555-0142 and my mail jo.lane@example.org.":
        "Cafe Mirage|Eastport|2026-03-14|1170|4||Jo|Lane|555-0142|jo.lane@example.org|False",
    "Dinner reservation: Salt & Smoke (Port Alder), 2026-04-09, 19:15, 3 guests, by a window. Contact Mia Stone / "
    "555-0160 / mia.stone@example.org.":
        "Salt & Smoke|Port Alder|2026-04-09|1155|3|window|Mia|Stone|555-0160|mia.stone@example.org|False",
    "I have a table at Vine House in Port Alder on May 8 2026 at 8:00 PM and need it at 6:30 PM; everything else "
    "stays, 4 people. Uma Pace, 555-0134, uma.pace@example.org. Cancel the old one.":
        "Vine House|Port Alder|2026-05-08|1110|4||Uma|Pace|555-0134|uma.pace@example.org|True",
    "Tuesday next week, 1:15 PM, lunch for 3 people at Bistro Paprika in Santa Corva, inside. Put Ned Fox, 555-0191, "
    "ned.fox@example.org.":
        "Bistro Paprika|Santa Corva|2026-03-10|795|3|indoor|Ned|Fox|555-0191|ned.fox@example.org|False",
}  # fmt: skip


@pytest.mark.parametrize("text", OTHER_WORDS)
def test_an_instruction_in_other_words_is_read(text: str) -> None:
    found = read_instruction(text)
    details = [found.details.get(name, "") for name in ("first-name", "last-name", "phone", "email")]
    read = (found.restaurant, found.city, found.day, found.minute, found.party, found.seating, *details, found.moves)
    assert "|".join(map(str, read)) == OTHER_WORDS[text]


def test_days_and_dates_are_found_in_each_usual_form_and_of_two_times_the_new_one() -> None:
    days = {
        "tomorrow": 1, "the day after tomorrow": 2, "this Wednesday": 2, "this Sunday": 6, "Monday next week": 7,
        "Sunday next week": 13, "next week on Friday": 11, "two weeks from today": 14, "three weeks from today": 21,
    }  # fmt: skip
    dates = {said: (MONDAY + timedelta(days=n)).isoformat() for said, n in days.items()} | {
        "on the 5th of May 2026": "2026-05-05", "May 22nd, 2026": "2026-05-22", "on 22 May": "2026-05-22",
        "1 March": "2027-03-01", "2026-05-22": "2026-05-22", "on February 30 2026": "", "on May 2026": "",
    }  # fmt: skip
    assert {said: read_instruction(f"Table at X in Y {said} at 7:00 PM").day for said in dates} == dates
    for said, hour in NEW.items():
        found = read_instruction(f"{said}. Juniper in Bellmere.")
        assert (found.minute, found.moves) == (hour * 60, said != "Only 8:00 PM"), said


NEW = {
    "Move it from 7:00 PM to 8:00 PM": 20, "Make it 8:00 PM in place of 7:00 PM": 20, "not 7:00 PM but 8:00 PM": 20,
    "Our table is at 7:00 PM. We would rather come at 8:00 PM": 20, "8:00 PM instead of 7:00 PM": 20,
    "Only 8:00 PM": 20, "it was at 7:00 PM, and 8:00 PM is better": 20,
    "I have a table on May 22 2026 at 7:00 PM. Change it to 18:00": 18,
}  # fmt: skip


def test_seatings_are_known_by_what_the_site_calls_them_but_not_in_names_and_times_are_minutes() -> None:
    assert read_instruction("Hello.") == BookingInstruction("", "", "", -1, 0, "", {}, False)
    terrace, bar = PLAIN.format("The Terrace in Bellmere"), PLAIN.format("Juniper Bar in Bellmere")
    assert (read_instruction(terrace).seating, read_instruction(bar).seating) == ("", "")
    assert read_instruction(terrace.replace("a table", "a table outside")).seating == "outdoor"
    assert read_instruction(bar.replace("a table", "a seat at the bar")).seating == "bar"
    assert {named_seating(label, tuple(SEATINGS)): label for label in SEATINGS.values()} == SEATINGS
    assert named_seating("outside", ["indoor"]) == ""
    minutes = {"1930": 1170, "19:30": 1170, "7:30 PM": 1170, "12:00 AM": 0, "12 pm": 720, "x": -1}
    assert {text: minute_of(text) for text in minutes} == minutes


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
