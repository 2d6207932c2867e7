"""What the environments with function calls share: how responses are read, what is seen, and single answers."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from iad_envs.core import Effect, IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_version
from iad_envs.errors import require_known
from iad_envs.spaces import UnicodeText
from iad_envs.tasks import TaskRecord
from iad_envs.toolcalls.answers import AnswerState, answer
from iad_envs.toolcalls.calls import CallStyle, FunctionCall
from iad_envs.toolcalls.executor import changed
from iad_envs.toolcalls.findings import failure_of
from iad_envs.toolcalls.pages import MAX_OBSERVATION
from iad_envs.toolcalls.responses import Response, read_published, read_response
from iad_envs.toolcalls.rules import RULES, Rules


class ToolCallEnv(IADEnv[str, Any]):
    """An environment of conversations, or of single answers, with function calls.

    A state is an `AnswerState`, or one of a conversation: with `page turn step_in_turn findings changed reply is_over
    instances has_spoken_since()`.

    Args:
        tasks: The tasks.
        folder: Where the data are.
        is_single: Whether every task is answered at once.
        lasting: Functions whose effect can't be taken back.
        dots: Whether names of functions may have dots.
        published_calls: How the official scripts read calls as text.
        closing: Actions that are offered beside calls and replies.
        scoring, published, calls, max_steps, split, render_mode: As the environment's own arguments.
        left_out: Ids of tasks that are left out.
    """

    REPLAYED: ClassVar[bool] = True
    DATA_FILES: ClassVar[tuple[str, ...]]
    """Patterns of the files that tasks are read from."""

    def __init__(
        self,
        tasks: Mapping[str, TaskRecord],
        folder: Path,
        *,
        is_single: bool,
        lasting: frozenset[str],
        dots: bool,
        published_calls: Callable[[str], list[FunctionCall]],
        closing: tuple[str, ...] = (),
        scoring: Rules,
        published: bool,
        calls: CallStyle,
        left_out: Collection[str],
        max_steps: int,
        split: str | None,
        render_mode: str | None,
    ) -> None:
        require_known("scoring", scoring, RULES)
        require_known("calls", calls, ("any", "python", "json"))
        tasks = {task_id: task for task_id, task in tasks.items() if task_id not in left_out}
        super().__init__(tasks, max_steps=max_steps, split=split, render_mode=render_mode)
        self._folder = folder
        self._is_single = is_single
        self._lasting = lasting
        self._dots = dots
        self._published_calls = published_calls
        self._closing = closing
        self._scoring: Rules = scoring
        self._published = published
        self._calls: CallStyle = calls
        self.action_space = UnicodeText(MAX_OBSERVATION)
        self.observation_space: Any = UnicodeText(MAX_OBSERVATION)

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return data_version(self._folder, self.DATA_FILES)

    def action_key(self, action: str) -> str:
        """Return the calls as JSON with sorted arguments, in order. All replies are one."""
        return self._read(action).key

    def terminal(self, action: str) -> bool:
        """Whether the action is the answer to a single question, or the last word of a conversation."""
        response = self._read(action)
        return response.kind in ("calls", "reply") if self._is_single else self._is_last(response)

    def irreversible(self, action: str) -> bool:
        """Whether the action ends a user's turn, or calls a function whose effect lasts: it sends, pays, deletes."""
        if self._is_single:
            return False
        response = self._read(action)
        if response.kind == "reply":
            return not self._is_last(response)
        return any(call.name in self._lasting for call in response.calls)

    def _read(self, action: str) -> Response:
        if self._published:
            return read_published(action, self._published_calls, self._calls, dots=self._dots)
        return read_response(action, self._calls, draft=self._is_single, dots=self._dots)

    def _is_last(self, response: Response) -> bool:
        """Whether a response ends a conversation for good. Elsewhere the user decides whether there is another turn."""
        return False

    def _transition(self, state: Any, action: str, rng: np.random.Generator | None) -> Transition:
        response = self._read(action)
        return answer(state, response) if isinstance(state, AnswerState) else self._act(state, response, action)

    @abstractmethod
    def _act(self, state: Any, response: Response, action: str) -> Transition:
        """Return what a response does in a conversation. See `_transition`."""

    def _committed(self, after: Snapshot) -> Snapshot:
        state = after.state
        if isinstance(state, AnswerState) or state.reply is None or state.is_over:
            return after
        gone_on = self._gone_on(after.task, state)
        if not gone_on.is_over:
            return replace(after, state=gone_on)
        return replace(after, state=gone_on, stop_reason="done", terminated=True)

    @abstractmethod
    def _gone_on(self, task: Any, state: Any) -> Any:
        """Return the state after the user has answered a reply, or has ended the conversation."""

    def _view(self, state: Any, complaint: str) -> View:
        page, is_answer = state.page, isinstance(state, AnswerState)
        facts = {
            "complaint": complaint,
            "turn": 0 if is_answer else state.turn,
            "step_in_turn": 0 if is_answer else state.step_in_turn,
            "findings": [one.as_data() for one in state.findings],
            "changed": [] if is_answer else list(state.changed),
        }
        actions = () if page.kind == "done" else (*page.offer.examples, *self._closing, "reply[...]")
        text = page.text(complaint, [one.message for one in state.findings])
        return View(text, actions, facts, page.as_data())

    def _score(self, task: Any, now: Snapshot, memory: Any) -> Score:
        if isinstance(now.state, AnswerState):
            return self._score_of_answer(task, now.state)
        return self._score_of_conversation(task, now.state, memory, is_over=now.done)

    @abstractmethod
    def _score_of_answer(self, task: Any, state: AnswerState) -> Score:
        """Return gold about a single answer. See `_score`."""

    @abstractmethod
    def _score_of_conversation(self, task: Any, state: Any, memory: Any, *, is_over: bool) -> Score:
        """Return gold about a moment of a conversation. See `_score`."""

    def _effect(self, before: Any, after: Any) -> Effect:
        """Tell which calls failed. Objects and the conversation are the world."""
        failure = failure_of(after.findings)
        if isinstance(after, AnswerState):
            return Effect(failure, False)
        return Effect(failure, after.has_spoken_since(before) or bool(changed(before.instances, after.instances)))
