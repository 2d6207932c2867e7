"""Reminders on a phone."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from iad_envs.toolcalls.worlds.functions import After, Refused, day_of, known, replaced, without
from iad_envs.toolcalls.worlds.phone import (
    PhoneFunctions,
    PhoneSettings,
    as_rows,
    require_log_in,
    shown_settings,
)


class PhoneReminder(NamedTuple):
    """A reminder; the day is YYYY-MM-DD, the hour HH:MM."""

    reminder_id: str
    title: str
    day: str
    hour: str
    note: str = ""
    is_done: bool = False


class RemindersState(NamedTuple):
    """The reminders. New ones are numbered."""

    phone: PhoneSettings = PhoneSettings()
    next_number: int = 1
    reminders: tuple[PhoneReminder, ...] = ()
    removed: tuple[str, ...] = ()


class RemindersWorld(PhoneFunctions[RemindersState]):
    """Six functions of the reminders, besides those of the phone."""

    name = "Reminders"
    state = RemindersState
    lasting = frozenset(("remove_reminder",))

    def public(self, state: RemindersState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        return {**shown_settings(state), "reminders": as_rows(state.reminders), "removed": state.removed}

    def set_reminder(
        self, state: RemindersState, title: str, day: str, hour: str, note: str = ""
    ) -> After[RemindersState]:
        """Set a reminder."""
        require_log_in(state)
        _require_when(day, hour)
        if not title.strip():
            raise Refused("title must be a few words, got an empty text.")
        new = PhoneReminder(f"RM-{state.next_number}", title, day, hour, note)
        after = state._replace(next_number=state.next_number + 1, reminders=(*state.reminders, new))
        return after, {"reminder_id": new.reminder_id}

    def list_reminders(self, state: RemindersState, day: str) -> After[RemindersState]:
        """List the reminders of a day."""
        require_log_in(state)
        return state, {"reminders": [one._asdict() for one in state.reminders if one.day == day]}

    def find_reminders(self, state: RemindersState, words: str) -> After[RemindersState]:
        """Search the reminders."""
        require_log_in(state)
        sought = words.strip().lower()
        rows = [one._asdict() for one in state.reminders if sought and sought in one.title.lower()]
        if not rows:
            raise Refused(f"No reminder has {words!r} in its title.")
        return state, {"reminders": rows}

    def move_reminder(self, state: RemindersState, reminder_id: str, day: str, hour: str) -> After[RemindersState]:
        """Move a reminder."""
        require_log_in(state)
        _require_when(day, hour)
        one = known(state.reminders, reminder_id, "reminder")
        after = state._replace(reminders=replaced(state.reminders, one._replace(day=day, hour=hour)))
        return after, {"reminder_id": reminder_id, "day": day, "hour": hour}

    def tick_reminder(self, state: RemindersState, reminder_id: str) -> After[RemindersState]:
        """Tick a reminder off."""
        require_log_in(state)
        one = known(state.reminders, reminder_id, "reminder")
        if one.is_done:
            raise Refused(f"{reminder_id} is done already.")
        after = state._replace(reminders=replaced(state.reminders, one._replace(is_done=True)))
        return after, {"reminder_id": reminder_id, "is_done": True}

    def remove_reminder(self, state: RemindersState, reminder_id: str) -> After[RemindersState]:
        """Remove a reminder."""
        require_log_in(state)
        known(state.reminders, reminder_id, "reminder")
        after = state._replace(reminders=without(state.reminders, reminder_id), removed=(*state.removed, reminder_id))
        return after, {"reminder_id": reminder_id, "status": "removed"}


def _require_when(day: str, hour: str) -> None:
    day_of(day)
    if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", hour):
        raise Refused(f"hour must be a time as HH:MM, got {hour!r}.")
