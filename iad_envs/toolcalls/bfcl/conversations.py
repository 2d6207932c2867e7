"""Conversations of several turns: what an action does and what is seen, without gold. A state is a value."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from iad_envs.core import Transition
from iad_envs.toolcalls.bfcl.data import Conversation, spoken
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.executor import Toolbox, ToolState, changed
from iad_envs.toolcalls.findings import CallFinding, findings_of
from iad_envs.toolcalls.grounding import Known
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.pages import AWAITED, OVER, PageKind, ToolPage
from iad_envs.toolcalls.responses import Response

MAX_RESPONSES = 20
"""Responses with calls in a turn. The original looks after it has run one more, and then ends the conversation."""


class PlayedTurn(NamedTuple):
    """What was done in a turn, so far or until its end.

    Attributes:
        state: After it.
        calls: That were made, in order.
        results: Their texts.
        n_responses: Responses that had calls, or could not be read where that does not end the turn.
    """

    state: ToolState
    calls: tuple[FunctionCall, ...] = ()
    results: tuple[str, ...] = ()
    n_responses: int = 0

    @property
    def is_over_cap(self) -> bool:
        """Whether it had so many responses with calls that the conversation ends."""
        return self.n_responses > MAX_RESPONSES


def extended(
    turn: PlayedTurn, calls: Sequence[FunctionCall], toolbox: Toolbox, *, withheld: Collection[str] = ()
) -> PlayedTurn:
    """Return a turn after one more response with these calls."""
    state, results = toolbox.run(turn.state, calls, withheld=withheld)
    return PlayedTurn(state, (*turn.calls, *calls), (*turn.results, *results), turn.n_responses + 1)


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
    def turn(self) -> int:
        """Number of the turn."""
        return len(self.turns) - 1

    @property
    def step_in_turn(self) -> int:
        """Responses in this turn."""
        return self.turns[-1].n_responses

    @property
    def instances(self) -> Mapping[str, Any]:
        """The simulated objects."""
        return self.turns[-1].state.instances

    @property
    def n_ended(self) -> int:
        """Turns that are over."""
        return len(self.turns) - (self.reply is None and not self.is_over)

    @property
    def page(self) -> ToolPage:
        """What is seen."""
        if self.is_over:
            over_cap = "This turn has more responses than the limit, so the conversation is over."
            end = over_cap if self.reply is None else OVER
            return ToolPage("done", self.offer, self.messages[-1], self.calls, self.results, end)
        if self.reply is not None:
            return ToolPage("done", self.offer, self.messages[-1], end=AWAITED)
        kind: PageKind = "results" if self.turns[-1].calls else "turn"
        return ToolPage(kind, self.offer, self.messages[-1], self.calls, self.results)

    def has_spoken_since(self, before: "ConversationState") -> bool:
        """Whether the agent has ended a turn."""
        return self.reply is not None


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
    # Where the message is empty, functions that were held back are offered.
    more: Mapping[str, str] = {"role": "user", "content": "There are more functions now. Please do it with them."}
    messages = task.questions[turn] or (more,)
    withheld = task.withheld(turn)
    return ConversationState(
        state.setting,
        state.offer if withheld == state.withheld else state.setting.offer.without(withheld),
        withheld,
        (*state.messages, tuple(messages)),
        (*state.turns, PlayedTurn(tools)),
        state.known.with_text(spoken(messages)),
    )


def act(state: ConversationState, response: Response) -> Transition:
    """Return what a response does."""
    if response.kind == "reply":
        return Transition(state._replace(reply=response.text, findings=(), changed=()), "", False, awaiting=True)
    turn = state.turns[-1]
    if response.kind == "unreadable":  # it counts, so that nobody writes such ones forever
        counted = turn._replace(n_responses=turn.n_responses + 1)
        after = state._replace(turns=(*state.turns[:-1], counted), is_over=counted.is_over_cap)
        return Transition(after, response.complaint, after.is_over)
    calls = response.calls
    withheld = state.withheld if state.setting.is_sound else frozenset()
    played = extended(turn, calls, state.setting.toolbox, withheld=withheld)
    results = played.results[len(turn.results) :]
    after = state._replace(
        turns=(*state.turns[:-1], played),
        known=state.known.with_texts(results),
        calls=calls,
        results=results,
        findings=findings_of(calls, state.offer.documents, state.known, results=results, earlier=turn.calls),
        changed=changed(turn.state.instances, played.state.instances),
        is_over=played.is_over_cap,
    )
    return Transition(after, "", after.is_over)
