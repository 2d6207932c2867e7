from tests.iad_envs.toolcalls.worlds.world_calls import Desk

WORLD = "Reminders"
CONFIG = {
    "logged_in": True,
    "next_number": 70,
    "reminders": [{"reminder_id": "RM-1", "title": "Oil the gate", "day": "2026-03-05", "hour": "09:00"}],
}


def test_a_reminder_is_set_for_a_day_and_an_hour(desk: Desk) -> None:
    for day, hour in (("2026-02-30", "10:00"), ("20260306", "10:00"), ("2026-03-06", "25:00")):
        assert "must be" in desk.refused("set_reminder", title="Tea", day=day, hour=hour)
        assert "must be" in desk.refused("move_reminder", reminder_id="RM-1", day=day, hour=hour)
    made = desk.call("set_reminder", title="Tea", day="2026-03-06", hour="16:30", note="Green.")
    assert made == {"reminder_id": "RM-70"}
    assert desk.reads("list_reminders", day="2026-03-06")["reminders"][0]["note"] == "Green."
    assert "a few words" in desk.refused("set_reminder", title=" ", day="2026-03-06", hour="16:30")


def test_a_reminder_is_found_moved_ticked_and_removed(desk: Desk) -> None:
    assert desk.reads("find_reminders", words="GATE")["reminders"][0]["reminder_id"] == "RM-1"
    assert "roof" in desk.refused("find_reminders", words="roof")
    desk.call("move_reminder", reminder_id="RM-1", day="2026-04-01", hour="08:15")
    assert desk.reads("list_reminders", day="2026-03-05") == {"reminders": []}
    assert desk.call("tick_reminder", reminder_id="RM-1")["is_done"] is True
    assert "done already" in desk.refused("tick_reminder", reminder_id="RM-1")
    assert desk.call("remove_reminder", reminder_id="RM-1")["status"] == "removed"
    assert "RM-1" in desk.refused("remove_reminder", reminder_id="RM-1")
    assert desk.world.public(desk.state)["removed"] == ("RM-1",)
