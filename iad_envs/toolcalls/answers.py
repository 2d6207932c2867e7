"""Tasks with one answer, of calls or of words, without gold. A state is a value."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from iad_envs.core import Transition
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.findings import CallFinding, findings_of
from iad_envs.toolcalls.grounding import Known
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.pages import HANDED_IN, ToolPage
from iad_envs.toolcalls.responses import UNREAD, Response


class AnswerState(NamedTuple):
    """A moment of a task.

    Attributes:
        messages: What was said.
        offer: The offered functions.
        known: What the messages say.
        calls: Of the last draft, or of the answer.
        findings: About them.
        kind: `single` at the start, `draft` after one, `done` after the answer.
        text: The answer as it was said, or its calls as Python.
        is_unread: Whether the answer could not be read, where that is no invalid action.
    """

    messages: tuple[Mapping[str, str], ...]
    offer: FunctionOffer
    known: Known
    calls: tuple[FunctionCall, ...] = ()
    findings: tuple[CallFinding, ...] = ()
    kind: Literal["single", "draft", "done"] = "single"
    text: str = ""
    is_unread: bool = False

    @property
    def page(self) -> ToolPage:
        """What is seen."""
        end = HANDED_IN if self.kind == "done" else ""
        return ToolPage(self.kind, self.offer, self.messages, self.calls, (), end)


def asked(messages: Sequence[Mapping[str, str]], offer: FunctionOffer) -> AnswerState:
    """Return the state at the start."""
    return AnswerState(tuple(messages), offer, Known().with_texts(one["content"] for one in messages))


def answer(state: AnswerState, response: Response) -> Transition:
    """Return what a response does: only a draft, and what can't be read, leave the task open."""
    if response.kind == "unreadable":
        return Transition(state, response.complaint, False)
    after = state._replace(
        calls=response.calls,
        findings=findings_of(response.calls, state.offer.documents, state.known),
        kind="draft" if response.kind == "draft" else "done",
        text=response.text if response.kind == "reply" else f"[{', '.join(map(str, response.calls))}]",
        is_unread=response.complaint == UNREAD,
    )
    return Transition(after, "", response.kind != "draft")
