"""Short messages on a phone: numbers of people, and what came and was sent."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from iad_envs.toolcalls.worlds.functions import After, Refused, known, named, replaced, without
from iad_envs.toolcalls.worlds.phone import (
    PhoneFunctions,
    PhoneSettings,
    as_rows,
    require_log_in,
    require_wifi,
    shown_settings,
)


class PhoneNumber(NamedTuple):
    """A person and their number."""

    name: str
    number: str


class ShortMessage(NamedTuple):
    """A message that came (`received`) or went out (`sent`); the number is the other person's."""

    message_id: str
    box: str
    number: str
    words: str
    day: str
    is_unread: bool = False


class MessagesState(NamedTuple):
    """The messages, the oldest first. No more than `max_messages` can be kept, sent ones included."""

    phone: PhoneSettings = PhoneSettings()
    today: str = "2026-01-05"
    next_number: int = 1
    max_messages: int = 20
    people: tuple[PhoneNumber, ...] = ()
    messages: tuple[ShortMessage, ...] = ()
    removed: tuple[str, ...] = ()


class MessagesWorld(PhoneFunctions[MessagesState]):
    """Seven functions of the messages, besides those of the phone."""

    name = "Messages"
    state = MessagesState
    lasting = frozenset(("write_message", "answer_message", "remove_message"))

    def public(self, state: MessagesState) -> Mapping[str, Any]:
        """Return what a checker compares."""
        return {**shown_settings(state), "messages": as_rows(state.messages), "removed": state.removed}

    def find_number(self, state: MessagesState, name: str) -> After[MessagesState]:
        """Find a number by name."""
        require_log_in(state)
        return state, named(state.people, name, f"No number is saved for {name!r}.")._asdict()

    def write_message(self, state: MessagesState, number: str, words: str) -> After[MessagesState]:
        """Send a message."""
        require_log_in(state)
        if not any(one.number == number for one in state.people):
            raise Refused(f"number must be one that is saved, got {number!r}.")
        return _sent(state, number, words)

    def list_messages(self, state: MessagesState, unread_only: bool = False) -> After[MessagesState]:
        """List the messages."""
        require_log_in(state)
        messages = [_line(one) for one in state.messages if one.is_unread or not unread_only]
        return state, {"messages": messages, "free_places": state.max_messages - len(state.messages)}

    def find_messages(self, state: MessagesState, words: str) -> After[MessagesState]:
        """Search what came."""
        require_log_in(state)
        sought = words.strip().lower()
        messages = [
            _line(one) for one in state.messages if one.box == "received" and sought and sought in one.words.lower()
        ]
        if not messages:
            raise Refused(f"No message that came has {words!r} in it.")
        return state, {"messages": messages}

    def open_message(self, state: MessagesState, message_id: str) -> After[MessagesState]:
        """Open a message."""
        require_log_in(state)
        one = known(state.messages, message_id, "message")
        after = state._replace(messages=replaced(state.messages, one._replace(is_unread=False)))
        return after, {key: getattr(one, key) for key in ("message_id", "number", "words")}

    def answer_message(self, state: MessagesState, message_id: str, words: str) -> After[MessagesState]:
        """Answer a message."""
        require_log_in(state)
        one = known(state.messages, message_id, "message")
        if one.box != "received":
            raise Refused(f"{message_id} was not received.")
        after, result = _sent(state, one.number, words)
        return after, result | {"number": one.number}

    def remove_message(self, state: MessagesState, message_id: str) -> After[MessagesState]:
        """Remove a message."""
        require_log_in(state)
        known(state.messages, message_id, "message")
        after = state._replace(messages=without(state.messages, message_id), removed=(*state.removed, message_id))
        return after, {"message_id": message_id, "status": "removed"}


def _line(one: ShortMessage) -> dict[str, Any]:
    return {key: getattr(one, key) for key in ("message_id", "box", "number", "day", "is_unread")}


def _sent(state: MessagesState, number: str, words: str) -> After[MessagesState]:
    require_wifi(state)
    if len(state.messages) >= state.max_messages:
        raise Refused(f"There is no place for more than {state.max_messages} messages. Remove one first.")
    new = ShortMessage(f"MG-{state.next_number}", "sent", number, words, state.today)
    after = state._replace(next_number=state.next_number + 1, messages=(*state.messages, new))
    return after, {"message_id": new.message_id}
