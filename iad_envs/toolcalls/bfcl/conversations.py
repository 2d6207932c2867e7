"""Conversations of several turns: what an action does and what is seen, without gold. A state is a value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from iad_envs.core import Transition
from iad_envs.toolcalls.bfcl.data import Conversation, spoken
from iad_envs.toolcalls.bfcl.turns import PlayedTurn, extended, is_over_cap
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.executor import Toolbox, ToolState, changed
from iad_envs.toolcalls.findings import CallFinding, findings_of
from iad_envs.toolcalls.grounding import Known
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.responses import Response

MORE_FUNCTIONS = "There are more functions now. Please do it with them."
"""What the user says in a turn whose message is empty, because functions that were held back are offered."""
OVER_CAP = "This turn has more responses than the limit, so the conversation is over."


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What all states of a conversation share.

    Attributes:
        toolbox: Its functions.
        offer: All of them, in the order of the files.
        is_sound: Whether functions that are held back do not work.
    """

    toolbox: Toolbox
    offer: FunctionOffer
    is_sound: bool


class ConversationState(NamedTuple):
    """A moment of a conversation.

    Attributes:
        setting: What all its states share.
        offer: The functions that are offered in this turn.
        withheld: Those that are held back in it.
        messages: The user's messages of each turn so far.
        turns: What was done in each turn so far. The last one is not over while `reply` is None.
        known: What the user has said and functions have returned.
        calls: Of the last response.
        results: Their texts.
        findings: About them.
        changed: Attributes of simulated objects that the last response changed, such as `Mail.mails`.
        reply: What the agent said at the turn's end.
        is_over: Whether the conversation is over.
    """

    setting: Setting
    offer: FunctionOffer
    withheld: frozenset[str]
    messages: tuple[tuple[Mapping[str, str], ...], ...]
    turns: tuple[PlayedTurn, ...]
    known: Known
    calls: tuple[FunctionCall, ...] = ()
    results: tuple[str, ...] = ()
    findings: tuple[CallFinding, ...] = ()
    changed: tuple[str, ...] = ()
    reply: str | None = None
    is_over: bool = False

    @property
    def n_ended(self) -> int:
        """Turns that are over."""
        return len(self.turns) - (self.reply is None and not self.is_over)


def begun(setting: Setting, task: Conversation, start: ToolState) -> ConversationState:
    """Return the state with the user's first message."""
    return _with_turn(ConversationState(setting, setting.offer, frozenset(), (), (), Known()), task, start)


def continued(state: ConversationState, task: Conversation) -> ConversationState:
    """Return the state after the user has gone on, or has ended the conversation."""
    if len(state.turns) >= len(task.questions):
        return state._replace(is_over=True)
    return _with_turn(state, task, state.turns[-1].state)


def _with_turn(state: ConversationState, task: Conversation, tools: ToolState) -> ConversationState:
    turn = len(state.turns)
    messages = task.questions[turn] or ({"role": "user", "content": MORE_FUNCTIONS},)
    withheld = task.withheld(turn)
    return state._replace(
        offer=state.offer if withheld == state.withheld else state.setting.offer.without(withheld),
        withheld=withheld,
        messages=(*state.messages, tuple(messages)),
        turns=(*state.turns, PlayedTurn(tools)),
        known=state.known.with_text(spoken(messages)),
        calls=(),
        results=(),
        findings=(),
        changed=(),
        reply=None,
    )


def act(state: ConversationState, response: Response) -> Transition:
    """Return what a response does."""
    if response.kind == "unreadable":
        return _unread(state, response.complaint)
    if response.kind == "reply":
        return Transition(state._replace(reply=response.text, findings=(), changed=()), "", False, awaiting=True)
    after = _ran(state, response.calls)
    return Transition(after, "", after.is_over)


def _unread(state: ConversationState, complaint: str) -> Transition:
    """Return the state after a response that can't be read. It counts, so that nobody writes such ones forever."""
    turn = state.turns[-1]
    counted = turn._replace(n_responses=turn.n_responses + 1)
    is_over = is_over_cap(counted.n_responses)
    return Transition(state._replace(turns=(*state.turns[:-1], counted), is_over=is_over), complaint, is_over)


def _ran(state: ConversationState, calls: Sequence[FunctionCall]) -> ConversationState:
    turn = state.turns[-1]
    withheld = state.withheld if state.setting.is_sound else frozenset()
    played = extended(turn, calls, state.setting.toolbox, withheld=withheld)
    results = played.results[len(turn.results) :]
    findings = findings_of(calls, state.offer.documents, state.known, results=results, earlier=turn.calls)
    known = state.known
    for result in results:
        known = known.with_text(result)
    return state._replace(
        turns=(*state.turns[:-1], played),
        known=known,
        calls=tuple(calls),
        results=results,
        findings=findings,
        changed=changed(turn.state.instances, played.state.instances),
        is_over=is_over_cap(played.n_responses),
    )
