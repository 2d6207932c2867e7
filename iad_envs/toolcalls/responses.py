"""Reads an action: calls, a reply that ends the user's turn, or a draft."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from iad_envs.toolcalls.calls import CallStyle, FunctionCall, UnreadableCalls, key_of, read_calls, shortened

ResponseKind = Literal["calls", "reply", "draft", "unreadable"]
UNREAD = "no calls could be read"
"""The complaint about a published reply that holds no list of calls at all."""
_BRACKETED = re.compile(r"\s*(reply|draft)\s*\[(.*)\]\s*", re.DOTALL | re.IGNORECASE)


class Response(NamedTuple):
    """An action as it was read.

    Attributes:
        kind: What it is. A response without calls is a reply.
        calls: Its calls, also those of a draft.
        text: What the agent says in a reply.
        complaint: What was expected, if it can't be read.
    """

    kind: ResponseKind
    calls: tuple[FunctionCall, ...] = ()
    text: str = ""
    complaint: str = ""

    @property
    def key(self) -> str:
        """Canonical form: equal for equal calls. A reply's text does not count."""
        if self.kind == "reply":
            return "reply[]"
        if self.kind == "unreadable":
            return self.text.strip()
        return f"draft[{key_of(self.calls)}]" if self.kind == "draft" else key_of(self.calls)


def read_response(action: str, style: CallStyle = "any", *, draft: bool = False, dots: bool = False) -> Response:
    """Return an action as it reads.

    Args:
        action: Calls as `read_calls` takes them, `reply[text]`, or with `draft` also `draft[calls]`.
        style: Notation of the calls.
        draft: Whether drafts are taken.
        dots: Whether names may have dots.
    """
    bracketed = _BRACKETED.fullmatch(action)
    verb = bracketed[1].lower() if bracketed else ""
    if bracketed and verb == "reply":
        return Response("reply", text=bracketed[2].strip())
    body = bracketed[2] if bracketed and verb == "draft" and draft else action
    try:
        calls = tuple(read_calls(body, style, dots=dots))
    except UnreadableCalls as error:
        forms = "[f(a=1, b='x'), g()] or reply[text]"
        forms += ", or draft[f(a=1)] to check calls first" if draft else ""
        return Response("unreadable", text=action, complaint=f"expected {forms}, got {shortened(action)}: {error}")
    if body is not action:
        return Response("draft", calls)
    return Response("calls", calls) if calls else Response("reply")


def read_published(
    action: str, read: Callable[[str], list[FunctionCall]], style: CallStyle = "any", *, dots: bool = False
) -> Response:
    """Return an action as the official scripts take it: a text that they can't read ends the turn.

    Args:
        action: A response of a model. `reply[text]` is no call there either.
        read: How they read calls as text.
        style: `json` for calls as a model's own interface gives them. Else JSON is no call, as for them in text.
        dots: Whether names may have dots.
    """
    try:
        calls = tuple(read_calls(action, "json", dots=dots) if style == "json" else read(action))
    except UnreadableCalls:
        bracketed = _BRACKETED.fullmatch(action)
        return Response("reply", text=bracketed[2].strip() if bracketed else action, complaint=UNREAD)
    return Response("calls", calls) if calls else Response("reply", text=action)
