"""`IAD/BFCL-v0`: answering users by function calls."""

import json
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from iad_envs.core import Effect, IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_folder, data_version
from iad_envs.errors import DataNotFound, require_known
from iad_envs.spaces import UnicodeText
from iad_envs.toolcalls.bfcl.classes import INSTALL, LASTING, OfficialClasses
from iad_envs.toolcalls.bfcl.conversations import OVER_CAP, ConversationState, Setting, act, begun, continued
from iad_envs.toolcalls.bfcl.data import MULTI_TURN, SINGLE_TURN, Conversation, OfficialFiles, Scoring, SingleQuestion
from iad_envs.toolcalls.bfcl.decoding import decoded, runnable
from iad_envs.toolcalls.bfcl.defective import DEFECTIVE
from iad_envs.toolcalls.bfcl.questions import QuestionState, answer, asked
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge, TurnsTally
from iad_envs.toolcalls.bfcl.scoring.single_turn import check_calls, gold_answer, share_right
from iad_envs.toolcalls.calls import CallStyle, FunctionCall
from iad_envs.toolcalls.executor import Toolbox, changed
from iad_envs.toolcalls.findings import failure_of
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.pages import AWAITED, HANDED_IN, MAX_OBSERVATION, OVER, PageKind, ToolPage
from iad_envs.toolcalls.responses import Response, read_published, read_response
from iad_envs.toolcalls.worlds import WORLD_NAMES, world
from iad_envs.toolcalls.worlds.instances import class_of

CATEGORIES: Mapping[str, tuple[str, ...]] = {
    "multi_turn": MULTI_TURN,
    "single_turn": tuple(SINGLE_TURN),
    "non_live": tuple(name for name in SINGLE_TURN if not name.startswith("live")),
    "live": tuple(name for name in SINGLE_TURN if name.startswith("live")),
    **{name: (name,) for name in (*MULTI_TURN, *SINGLE_TURN)},
}
"""Category -> the official categories in it."""
DATA_FILES = ("data/BFCL_*.json", "data/possible_answer/BFCL_*.json", "data/multi_turn_func_doc/*.json")
MAX_JUDGES = 64


class BFCLEnv(IADEnv[str, Any]):
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

    REPLAYED: ClassVar[bool] = True

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        category: str = "multi_turn",
        split: str | None = "test",
        scoring: Scoring = "sound",
        published: bool = False,
        calls: CallStyle = "any",
        skip_defective: bool = False,
        max_steps: int = 200,
        render_mode: str | None = None,
    ) -> None:
        require_known("category", category, CATEGORIES)
        require_known("scoring", scoring, ("official", "sound"))
        require_known("calls", calls, ("any", "python", "json"))
        self._folder = data_folder("bfcl", data_dir).resolve()
        self._data = load_data(self._folder)
        left_out = DEFECTIVE.keys() if skip_defective and self._data.is_official else frozenset[str]()
        known = load_tasks(self._folder, CATEGORIES[category])
        tasks = {task_id: task for task_id, task in known.items() if task_id not in left_out}
        super().__init__(tasks, max_steps=max_steps, split=split, render_mode=render_mode)
        self.category = category
        self._is_multi_turn = category.startswith("multi_turn")
        self._scoring: Scoring = scoring
        self._published = published
        self._calls: CallStyle = calls
        self._settings: dict[tuple[str, ...], Setting] = {}
        self._judges: dict[str, TurnsJudge] = {}
        self._lasting = self._data.lasting if self._is_multi_turn else frozenset[str]()
        self.action_space = UnicodeText(MAX_OBSERVATION)
        self.observation_space: Any = UnicodeText(MAX_OBSERVATION)

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return data_version(self._folder, DATA_FILES)

    def action_key(self, action: str) -> str:
        """Return the calls as JSON with sorted arguments, in order. All replies are one."""
        return self._read(action).key

    def terminal(self, action: str) -> bool:
        """Whether the action is the answer to a single question. The end of a user's turn awaits the user instead."""
        return not self._is_multi_turn and self._read(action).kind in ("calls", "reply")

    def irreversible(self, action: str) -> bool:
        """Whether the action ends a user's turn, or calls a function whose effect lasts: it sends, pays, deletes."""
        if not self._is_multi_turn:
            return False
        response = self._read(action)
        return response.kind == "reply" or any(call.name in self._lasting for call in response.calls)

    def subject_of(self, task_id: str) -> str:
        """Return a hash of the scenario that a conversation is about, which all four multi-turn categories share."""
        task = self._task(task_id)
        if isinstance(task, SingleQuestion):
            return ""
        text = json.dumps([task.config, task.classes], sort_keys=True, default=str)
        return sha256(text.encode()).hexdigest()[:16]

    def _read(self, action: str) -> Response:
        dots = not self._is_multi_turn
        if not self._published:
            return read_response(action, self._calls, draft=dots, dots=dots)
        return read_published(action, decoded if dots else _runnable_calls, self._calls, dots=dots)

    def _start(self, task: Any) -> Any:
        if isinstance(task, SingleQuestion):
            return asked(task, FunctionOffer(task.functions))
        return begun(self._setting(task), task, self._judge(task).start)

    def _transition(self, state: Any, action: str, rng: np.random.Generator | None) -> Transition:
        response = self._read(action)
        return answer(state, response) if isinstance(state, QuestionState) else act(state, response)

    def _committed(self, after: Snapshot) -> Snapshot:
        state = after.state
        if isinstance(state, QuestionState) or state.reply is None or state.is_over:
            return after
        gone_on = continued(state, after.task)
        if not gone_on.is_over:
            return replace(after, state=gone_on)
        return replace(after, state=gone_on, stop_reason="done", terminated=True)

    def _view(self, state: Any, complaint: str) -> View:
        if isinstance(state, QuestionState):
            end = HANDED_IN if state.kind == "done" else ""
            page = ToolPage(state.kind, state.offer, state.messages, state.calls, (), end)
            turn, step_in_turn, altered = 0, 0, ()
        else:
            page = _page_of_turn(state)
            turn, step_in_turn, altered = len(state.turns) - 1, state.turns[-1].n_responses, state.changed
        facts = {
            "complaint": complaint,
            "turn": turn,
            "step_in_turn": step_in_turn,
            "findings": [one.as_data() for one in state.findings],
            "changed": list(altered),
        }
        actions = () if page.kind == "done" else (*page.offer.examples, "reply[...]")
        text = page.text(complaint, [one.message for one in state.findings])
        return View(text, actions, facts, page.as_data())

    def _score(self, task: Any, now: Snapshot, memory: Any) -> Score:
        if isinstance(task, SingleQuestion):
            return self._score_of_question(task, now.state)
        return self._score_of_turns(self._judge(task), now.state, memory)

    def _score_of_question(self, task: SingleQuestion, state: QuestionState) -> Score:
        calls = None if state.is_unread else state.calls
        is_over = state.kind == "done"
        success = is_over and check_calls(task, calls, scoring=self._scoring).valid
        share = 1.0 if success else share_right(task, state.calls, scoring=self._scoring) if state.calls else 0.0
        return Score(float(success), share, success, {"calls": share}, None)

    def _score_of_turns(self, judge: TurnsJudge, state: ConversationState, before: TurnsTally | None) -> Score:
        n_before = 0 if before is None else before.n_turns
        tally = judge.tallied(state.turns[n_before : state.n_ended], before)
        success = state.is_over and judge.verdict(tally).valid
        progress = judge.progress_after(tally, state.turns[tally.n_turns :])
        return Score(float(success), progress, success, judge.parts_of(tally), tally)

    def _solution(self, task: Any) -> list[str]:
        if isinstance(task, SingleQuestion):
            return [gold_answer(task)]
        return [action for turn in self._judge(task).gold for action in (*_as_actions(turn.calls), "reply[]")]

    def _effect(self, before: Any, after: Any) -> Effect:
        """Tell which calls failed. Objects and the conversation are the world."""
        if isinstance(after, QuestionState):
            return Effect(failure_of(after.findings), False)
        was, now = before.turns[-1].state.instances, after.turns[-1].state.instances
        return Effect(failure_of(after.findings), after.reply is not None or bool(changed(was, now)))

    def _result_key(self, state: Any, view: View) -> Hashable:
        if isinstance(state, QuestionState):
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
            if len(self._judges) >= MAX_JUDGES:
                self._judges.clear()
            judge = TurnsJudge(task, self._setting(task).toolbox, scoring=self._scoring)
            self._judges[task.task_id] = judge
        return judge


class BFCLData(NamedTuple):
    """A folder's files and simulated classes.

    Attributes:
        files: Its entries.
        toolbox: Returns the functions of some classes.
        lasting: Functions whose effect can't be taken back.
        is_official: Whether the classes, and so the tasks, are the official ones.
    """

    files: OfficialFiles
    toolbox: Callable[[tuple[str, ...]], Toolbox]
    lasting: frozenset[str]
    is_official: bool


@lru_cache(maxsize=4)
def load_data(folder: Path) -> BFCLData:
    """Return a folder's data: with the official simulated classes if it has any, else with the bundled worlds."""
    files = OfficialFiles(folder)
    if (folder / "eval_checker").is_dir():
        return BFCLData(files, OfficialClasses(folder).toolbox, LASTING, is_official=True)
    lasting = frozenset[str]().union(*(world(name).lasting for name in WORLD_NAMES))
    return BFCLData(files, _bundled_toolbox, lasting, is_official=False)


def _bundled_toolbox(names: tuple[str, ...]) -> Toolbox:
    return Toolbox({name: class_of(name) for name in names})


@lru_cache(maxsize=16)
def load_tasks(folder: Path, categories: tuple[str, ...]) -> dict[str, Conversation | SingleQuestion]:
    """Return the tasks of some official categories by id; of several, those that the folder has.

    Raises:
        DataNotFound: It has none of them.
    """
    files = OfficialFiles(folder)
    found: dict[str, Conversation | SingleQuestion] = {}
    has = [name for name in categories if len(categories) == 1 or files.has(name)]
    for name in has:
        found.update(files.conversations(name) if name in MULTI_TURN else files.questions(name))
    if not found:
        raise DataNotFound(
            f"expected BFCL files of {', '.join(categories)} in {folder / 'data'}, found none; for the official"
            f" ones run {INSTALL} and give the folder bfcl_eval as data_dir"
        )
    return found


def _page_of_turn(state: ConversationState) -> ToolPage:
    messages = state.messages[-1]
    if state.is_over:
        end = OVER_CAP if state.reply is None else OVER
        return ToolPage("done", state.offer, messages, state.calls, state.results, end)
    if state.reply is not None:
        return ToolPage("done", state.offer, messages, end=AWAITED)
    kind: PageKind = "results" if state.turns[-1].calls else "turn"
    return ToolPage(kind, state.offer, messages, state.calls, state.results)


def _runnable_calls(text: str) -> list[FunctionCall]:
    return runnable(decoded(text))


def _as_actions(calls: tuple[FunctionCall, ...]) -> list[str]:
    return [f"[{', '.join(map(str, calls))}]"] if calls else []
