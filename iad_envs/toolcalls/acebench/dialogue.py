"""Agent tasks: what an action does and what is seen, without gold. A state is a value."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from iad_envs.core import Transition
from iad_envs.toolcalls.acebench.checkout import Loop
from iad_envs.toolcalls.acebench.executor import NOT_UNDERSTOOD, AceExecuted, AceExecutor, AceState, CallResult
from iad_envs.toolcalls.acebench.user import STOP
from iad_envs.toolcalls.bfcl.data import spoken
from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.executor import changed
from iad_envs.toolcalls.findings import CallFinding, findings_of
from iad_envs.toolcalls.grounding import Known
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.pages import AWAITED, OVER, PageKind, ToolPage
from iad_envs.toolcalls.responses import Response

NOBODY = "There is no user who answers here. Use what is known."
"""What answers a message in a task without a user, by the sound rules."""
MAX_MESSAGES = 40
"""Messages of a task: the agent's, and those that answer it."""


@dataclass(frozen=True, slots=True, eq=False)
class AgentSetting:
    """What all states of an agent task share.

    Attributes:
        executor: Runs its calls.
        offer: The offered functions.
        loop: With a user (`multi_turn`) or without (`multi_step`).
    """

    executor: AceExecutor
    offer: FunctionOffer
    loop: Loop


class DialogueState(NamedTuple):
    """A moment of an agent task.

    Attributes:
        setting: What all its states share.
        messages: What the user said last, and what stands before it.
        tools: The simulated objects.
        known: What the user has said and functions have returned.
        n_messages: Messages so far.
        goal: Number of the goal that the user waits for.
        turn: Messages of the user before the last.
        step_in_turn: Responses with calls since then.
        executed: The agent's messages that were executed, as they were written.
        ran: The results of all calls.
        calls, results, findings, changed: Of the last response with calls.
        made: Calls since the user's last message.
        said: What user and agent have said to each other, with who said it.
        reply: What the agent said last, while the user has not answered.
        is_over: Whether the task is over.
    """

    setting: AgentSetting
    messages: tuple[Mapping[str, str], ...]
    tools: AceState
    known: Known
    n_messages: int = 1
    goal: int = 0
    turn: int = 0
    step_in_turn: int = 0
    executed: tuple[str, ...] = ()
    ran: tuple[CallResult, ...] = ()
    calls: tuple[FunctionCall, ...] = ()
    results: tuple[str, ...] = ()
    findings: tuple[CallFinding, ...] = ()
    changed: tuple[str, ...] = ()
    made: tuple[FunctionCall, ...] = ()
    said: tuple[tuple[str, str], ...] = ()
    reply: str | None = None
    is_over: bool = False

    @property
    def instances(self) -> Mapping[str, Any]:
        """The simulated objects."""
        return self.tools.instances

    @property
    def page(self) -> ToolPage:
        """What is seen."""
        offer = self.setting.offer
        if self.is_over:
            return ToolPage("done", offer, self.messages, self.calls, self.results, OVER)
        if self.reply is not None:
            return ToolPage("done", offer, self.messages, end=AWAITED)
        kind: PageKind = "results" if self.step_in_turn or self.turn else "turn"
        return ToolPage(kind, offer, self.messages, self.calls, self.results)

    def has_spoken_since(self, before: "DialogueState") -> bool:
        """Whether the conversation has gone on."""
        return (before.messages, before.said) != (self.messages, self.said)


def opened(
    setting: AgentSetting, messages: Sequence[Mapping[str, str]], config: Mapping[str, Mapping[str, Any]]
) -> DialogueState:
    """Return the state at the start."""
    known = Known().with_texts(one["content"] for one in messages)
    tools = setting.executor.start(config)
    return DialogueState(setting, tuple(messages), tools, known, said=(("user", spoken(messages)),))


def respond(state: DialogueState, response: Response, action: str) -> Transition:
    """Return what a response does.

    Args:
        state: The state before it.
        response: It, as it was read.
        action: It, as it was written.
    """
    if response.kind == "unreadable":
        n_messages = state.n_messages + 2
        is_over = n_messages >= MAX_MESSAGES
        return Transition(state._replace(n_messages=n_messages, is_over=is_over), response.complaint, is_over)
    if response.kind == "calls":
        return ran(state, state.setting.executor.run(state.tools, response.calls), action)
    if is_last_word(response.text) or (not response.text and state.setting.loop == "multi_step"):
        return Transition(state._replace(reply=response.text, findings=(), changed=(), is_over=True), "", True)
    return said(state, response.text)


def said(state: DialogueState, text: str) -> Transition:
    """Return what a message to the user does. Where there is none, a sentence answers it."""
    n_messages = state.n_messages + 2
    is_over = n_messages >= MAX_MESSAGES
    if state.setting.loop == "multi_step":
        sentence = NOT_UNDERSTOOD if state.setting.executor.rules == "official" else NOBODY
        after = state._replace(
            n_messages=n_messages,
            messages=(*state.messages[:1], {"role": "user", "content": sentence}),
            calls=(),
            results=(),
            findings=(),
            changed=(),
            is_over=is_over,
        )
        return Transition(after, "", is_over)
    told = (*state.said, ("agent", text))
    after = state._replace(n_messages=n_messages, reply=text, findings=(), changed=(), is_over=is_over, said=told)
    return Transition(after, "", is_over, awaiting=not is_over)


def answered(state: DialogueState, text: str, goal: int) -> DialogueState:
    """Return the state after the user's answer."""
    return state._replace(
        messages=({"role": "user", "content": text},),
        known=state.known.with_text(text),
        goal=goal,
        turn=state.turn + 1,
        step_in_turn=0,
        calls=(),
        results=(),
        findings=(),
        changed=(),
        made=(),
        said=(*state.said, ("user", text)),
        reply=None,
        is_over=is_last_word(text),
    )


def ran(state: DialogueState, executed: AceExecuted, action: str) -> Transition:
    """Return what an executed message does."""
    rows = [one for one in executed.results if one.call is not None]
    calls = tuple(one.call for one in rows if one.call is not None)
    shown = [one.shown for one in executed.results]
    results = tuple(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in shown)
    findings = findings_of(
        calls,
        state.setting.offer.documents,
        state.known,
        results=results,
        failed=[one.has_failed for one in rows],
        earlier=state.made,
    )
    n_messages = state.n_messages + 2
    after = state._replace(
        tools=executed.state,
        known=state.known.with_texts(results),
        n_messages=n_messages,
        step_in_turn=state.step_in_turn + 1,
        executed=(*state.executed, action),
        ran=(*state.ran, *executed.results),
        calls=calls,
        results=results,
        findings=findings,
        changed=changed(state.tools.instances, executed.state.instances),
        made=(*state.made, *calls),
        is_over=n_messages >= MAX_MESSAGES,
    )
    return Transition(after, "", after.is_over)


def is_last_word(text: str) -> bool:
    """Whether a message ends the conversation."""
    return STOP in text.lower()
