"""`IAD/BFCL-v0`: answering users by function calls."""

import json
from collections.abc import Hashable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

from iad_envs.core import Score, Snapshot, Transition, View
from iad_envs.data import data_folder
from iad_envs.errors import require_known
from iad_envs.toolcalls.answers import AnswerState, asked
from iad_envs.toolcalls.bfcl.conversations import ConversationState, Setting, act, begun, continued
from iad_envs.toolcalls.bfcl.data import (
    DEFECTIVE,
    MULTI_TURN,
    SINGLE_TURN,
    Conversation,
    SingleQuestion,
    load_data,
    load_tasks,
)
from iad_envs.toolcalls.bfcl.decoding import decoded, runnable
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge, TurnsTally
from iad_envs.toolcalls.bfcl.scoring.single_turn import check_calls, gold_answer, share_right
from iad_envs.toolcalls.calls import CallStyle, shortened
from iad_envs.toolcalls.env import ToolCallEnv
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.responses import Response
from iad_envs.toolcalls.rules import Rules

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "multi_turn": MULTI_TURN,
    "single_turn": tuple(SINGLE_TURN),
    "non_live": tuple(name for name in SINGLE_TURN if not name.startswith("live")),
    "live": tuple(name for name in SINGLE_TURN if name.startswith("live")),
    **{name: (name,) for name in (*MULTI_TURN, *SINGLE_TURN)},
}
"""Category -> the official categories in it."""


class BFCLEnv(ToolCallEnv):
    """The agent answers a user by calls of functions that work on simulated objects, turn by turn.

    ## Description
    The multi-turn and single-turn tasks of the Berkeley Function-Calling Leaderboard (BFCL v3; Patil et al., 2025). One
    step is one response of a model, with no call, one call, or several. Calls are parsed as data, and never run as
    code. docs/bfcl.md says what is as in the original and what is not.

    ## Action Space
    Text. `[f(a=1, b='x'), g()]` calls functions; so does `[{"name": "f", "arguments": {"a": 1}}]`, or such an object in
    `<tool_call>` tags. `reply[text]`, or `[]`, ends the user's turn. In single-turn categories `draft[f(a=1)]` compares
    calls with the functions' documents, and everything else is the answer. Any other text runs nothing and counts as a
    step, and the observation says what was expected.

    ## Observation Space
    Text: the functions' documents as JSON lines when a turn begins, the results of the last response, the user's
    messages, and the names of the functions.

    ## Rewards
    0, then 1 at the end if every turn is right: state, results, and no call where there is nothing to call. In
    single-turn categories 1 for the right calls. Success is a reward of 1.

    ## Starting State
    The user's first message. The simulated objects are as the task sets them up.

    ## Episode End
    Terminated by the reply to the last message, or by the 21st response in a turn; in single-turn categories by the
    answer. Truncated after `max_steps` actions. A simulated reply awaits the user: it never shows the next
    message, nor whether there is one.

    ## Information
    docs/bfcl.md lists all keys. `facts`: `complaint turn step_in_turn findings changed`. `page`: `kind messages tools
    calls results`. Gold keys, from `step` and `reset` only: `progress`, `success`, `reward_parts`.

    ## Arguments
        data_dir: The folder `bfcl_eval` of the package bfcl-eval, or one like `data/bfcl` of this project. Default:
            `$IAD_DATA/bfcl`, else the bundled data.
        category: `multi_turn`, `single_turn`, `live`, `non_live`, or one official category such as `multi_turn_base`.
        split: Name of the split: `test`, `dev` or `train`. None means all tasks. Official data have no splits.
        scoring: `sound`, or `official` for the verdicts of the official scripts, with their faults.
        published: Read responses as the official scripts do: what can't be read ends the turn.
        calls: Notation that is read: `any`, `python` or `json`.
        skip_defective: Leave out the official tasks whose gold nobody can produce.
        max_steps: Actions per episode.
        render_mode: `ansi` or None.

    ## Version History
    * v0: First version.
    """

    domain = "iad_envs.toolcalls.policy:BFCL"

    DATA_FILES: ClassVar[tuple[str, ...]] = (
        "data/BFCL_*.json",
        "data/possible_answer/BFCL_*.json",
        "data/multi_turn_func_doc/*.json",
    )

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        category: str = "multi_turn",
        split: str | None = "test",
        scoring: Rules = "sound",
        published: bool = False,
        calls: CallStyle = "any",
        skip_defective: bool = False,
        max_steps: int = 200,
        render_mode: str | None = None,
    ) -> None:
        require_known("category", category, CATEGORIES)
        folder = data_folder("bfcl", data_dir).resolve()
        self._data = load_data(folder)
        is_single = not category.startswith("multi_turn")
        super().__init__(
            load_tasks(folder, CATEGORIES[category]),
            folder,
            is_single=is_single,
            lasting=self._data.lasting,
            dots=is_single,
            published_calls=decoded if is_single else lambda text: runnable(decoded(text)),
            scoring=scoring,
            published=published,
            calls=calls,
            left_out=DEFECTIVE.keys() if skip_defective and self._data.is_official else (),
            max_steps=max_steps,
            split=split,
            render_mode=render_mode,
        )
        self.category = category
        self._settings: dict[tuple[str, ...], Setting] = {}
        self._judges: dict[str, TurnsJudge] = {}

    def subject_of(self, task_id: str) -> str:
        """Return a hash of the scenario that a conversation is about, which all four multi-turn categories share."""
        task = self._task(task_id)
        if isinstance(task, SingleQuestion):
            return ""
        text = json.dumps([task.config, task.classes], sort_keys=True, default=str)
        return sha256(text.encode()).hexdigest()[:16]

    def _start(self, task: Any) -> Any:
        if isinstance(task, SingleQuestion):
            return asked(task.question, FunctionOffer(task.functions))
        return begun(self._setting(task), task, self._judge(task).start)

    def _act(self, state: ConversationState, response: Response, action: str) -> Transition:
        return act(state, response)

    def _gone_on(self, task: Conversation, state: ConversationState) -> ConversationState:
        return continued(state, task)

    def _score_of_answer(self, task: SingleQuestion, state: AnswerState) -> Score:
        calls = None if state.is_unread else state.calls
        success = state.kind == "done" and check_calls(task, calls, scoring=self._scoring).valid
        share = 1.0 if success else share_right(task, state.calls, scoring=self._scoring) if state.calls else 0.0
        return Score(float(success), share, success, {"calls": share}, None)

    def _score_of_conversation(
        self, task: Conversation, state: ConversationState, memory: TurnsTally | None, *, is_over: bool
    ) -> Score:
        judge = self._judge(task)
        n_before = 0 if memory is None else memory.n_turns
        tally = judge.tallied(state.turns[n_before : state.n_ended], memory)
        success = state.is_over and judge.verdict(tally).valid
        progress = judge.progress_after(tally, state.turns[tally.n_turns :])
        return Score(float(success), progress, success, judge.parts_of(tally), tally)

    def _why(self, now: Snapshot, score: Score) -> str:
        """Return the first failure in the official words, with what gold has and what came instead."""
        task, state = now.task, now.state
        if not isinstance(task, SingleQuestion):
            return self._judge(task).explained(state.turns[: state.n_ended])
        if state.kind != "done":
            return "no answer"
        error = check_calls(task, None if state.is_unread else state.calls, scoring=self._scoring).error_type
        got = "an unreadable answer" if state.is_unread else f"[{', '.join(map(str, state.calls))}]"
        return f"{error}: expected {shortened(gold_answer(task), 100)}, got {shortened(got, 100)}"

    def _solution(self, task: Any) -> list[str]:
        if isinstance(task, SingleQuestion):
            return [gold_answer(task)]
        calls = [[f"[{', '.join(map(str, turn.calls))}]"] if turn.calls else [] for turn in self._judge(task).gold]
        return [action for turn in calls for action in (*turn, "reply[]")]

    def _result_key(self, state: Any, view: View) -> Hashable:
        if isinstance(state, AnswerState):
            return (state.kind, Response("calls", state.calls).key, state.is_unread)
        return (len(state.turns), state.reply is None, Response("calls", state.turns[-1].calls).key, state.results)

    def _setting(self, task: Conversation) -> Setting:
        if task.classes not in self._settings:
            toolbox = self._data.toolbox(task.classes)
            offer = FunctionOffer(self._data.files.documents(task.classes))
            self._settings[task.classes] = Setting(toolbox, offer, self._scoring == "sound")
        return self._settings[task.classes]

    def _judge(self, task: Conversation) -> TurnsJudge:
        judge = self._judges.get(task.task_id)
        if judge is None:
            if len(self._judges) >= 64:
                self._judges.clear()
            judge = TurnsJudge(task, self._setting(task).toolbox, scoring=self._scoring)
            self._judges[task.task_id] = judge
        return judge
