"""`IAD/ACEBench-v0`: answers of calls, refusals in words, and agent tasks with a user or without."""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from iad_envs.core import Effect, IADEnv, Score, Snapshot, Transition, View
from iad_envs.data import DataVersion, data_folder, data_version
from iad_envs.errors import UnknownTask, require_known
from iad_envs.spaces import UnicodeText
from iad_envs.toolcalls.acebench.answers import AnswerState, begin, give
from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, Loop
from iad_envs.toolcalls.acebench.defects import UNREACHABLE, WRONG_MILESTONES
from iad_envs.toolcalls.acebench.dialogue import (
    AgentSetting,
    DialogueState,
    answered,
    is_last_word,
    opened,
    ran,
    respond,
    said,
)
from iad_envs.toolcalls.acebench.executor import AceExecutor, AceState, saved_state
from iad_envs.toolcalls.acebench.model_user import ModelUser
from iad_envs.toolcalls.acebench.reading import AceCall, UnreadableAnswer, is_execution, read_normal
from iad_envs.toolcalls.acebench.rules import RULES, Rules
from iad_envs.toolcalls.acebench.scoring.agent import milestone_calls, score_agent, score_agent_soundly
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, share_right
from iad_envs.toolcalls.acebench.scoring.special import check_special, gold_sentence
from iad_envs.toolcalls.acebench.tasks import AceEntry, load_ace_data, load_entries
from iad_envs.toolcalls.acebench.user import STOP, by_class, next_message
from iad_envs.toolcalls.calls import CallStyle, FunctionCall, UnreadableCalls
from iad_envs.toolcalls.executor import changed
from iad_envs.toolcalls.findings import failure_of
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.pages import AWAITED, HANDED_IN, MAX_OBSERVATION, OVER, PageKind, ToolPage
from iad_envs.toolcalls.responses import Response, read_published, read_response

GROUPS: Mapping[str, tuple[str, ...]] = {
    "normal": NORMAL,
    "special": SPECIAL,
    "agent": AGENT,
    **{name: (name,) for name in CATEGORIES},
}
"""Category -> the official categories in it."""
DATA_FILES = ("data_all/data_en/data_*.json", "data_all/data_en/possible_answer/data_*.json")
SCRIPTED = "scripted"
MODEL = "llm:"


class ACEBenchEnv(IADEnv[str, Any]):
    """The agent answers by function calls, says why none can be made, or works on a simulated phone for a user.

    ## Description
    The English tasks of ACEBench (Chen et al., 2025). One step is one response of a model. Calls are parsed as data,
    and never run as code. docs/acebench.md says what is as in the original and what is not.

    ## Action Space
    Text. `[f(a=1, b='x'), g()]` calls functions; JSON as in `IAD/BFCL-v0` does so as well. `reply[text]` is an answer
    in words; in agent tasks it goes to the user, and `reply[finish conversation]` ends the task. In normal and special
    tasks `draft[f(a=1)]` compares calls with the functions' documents. Any other text runs nothing and counts as a
    step, and the observation says what was expected.

    ## Observation Space
    Text: the functions' documents as JSON lines at the start, the results of the last response, what was said, and the
    names of the functions.

    ## Rewards
    0, then 1 at the end of a task that is right: calls, sentence, or the state of all simulated objects. Success is a
    reward of 1.

    ## Starting State
    The dialogue so far, or the user's first message.

    ## Episode End
    Terminated by the answer; in agent tasks by `finish conversation`, whoever says it, or 40 messages. Truncated after
    `max_steps` actions. A simulated message to the user awaits the answer.

    ## Information
    docs/acebench.md lists all keys. `facts`: `complaint turn step_in_turn findings changed`. `page`: `kind messages
    tools calls results`. Gold keys, from `step` and `reset` only: `progress` (in agent tasks the process score),
    `success`, `reward_parts`.

    ## Arguments
        data_dir: A checkout of ACEBench, or a folder like `data/acebench` of this project. Default:
            `$IAD_DATA/acebench`, else the bundled data.
        category: `agent`, `normal`, `special`, or one official category such as `agent_multi_step`.
        split: Name of the split: `test`, `dev` or `train`. None means all tasks. Official data have no splits.
        scoring: `sound`, or `official` for the verdicts of the official code, with its faults.
        published: Read responses as the official code does: a normal or special task takes any text for the answer, and
            in an agent task text that does not start with `[...]` goes to the user.
        calls: Notation that is read: `any`, `python` or `json`.
        user: `scripted`, or `llm:<model>` for a user that a language model plays.
        skip_defective: Leave out the official tasks whose gold nobody can produce.
        max_steps: Actions per episode.
        render_mode: `ansi` or None.

    ## Version History
    * v0: First version.
    """

    domain = "iad_envs.toolcalls.policy:ACEBENCH"

    REPLAYED: ClassVar[bool] = True

    def __init__(
        self,
        *,
        data_dir: str | Path | None = None,
        category: str = "agent",
        split: str | None = "test",
        scoring: Rules = "sound",
        published: bool = False,
        calls: CallStyle = "any",
        user: str = SCRIPTED,
        skip_defective: bool = False,
        max_steps: int = 200,
        render_mode: str | None = None,
    ) -> None:
        require_known("category", category, GROUPS)
        require_known("scoring", scoring, RULES)
        require_known("calls", calls, ("any", "python", "json"))
        if user != SCRIPTED and not user.startswith(MODEL):
            raise UnknownTask("user", user, [SCRIPTED, f"{MODEL}<model>"])
        self._folder = data_folder("acebench", data_dir).resolve()
        self._data = load_ace_data(self._folder)
        left_out = frozenset[str]()
        if skip_defective and self._data.is_official:
            left_out = frozenset(UNREACHABLE.keys() | WRONG_MILESTONES.keys())
        entries = load_entries(self._folder, GROUPS[category])
        tasks = {task_id: entry for task_id, entry in entries.items() if task_id not in left_out}
        super().__init__(tasks, max_steps=max_steps, split=split, render_mode=render_mode)
        self.category = category
        self._is_agent = category.startswith("agent")
        self._scoring: Rules = scoring
        self._published = published
        self._calls: CallStyle = calls
        self._user = ModelUser(user.removeprefix(MODEL)) if user != SCRIPTED else None
        self._settings: dict[str, AgentSetting] = {}
        self.action_space = UnicodeText(MAX_OBSERVATION)
        self.observation_space: Any = UnicodeText(MAX_OBSERVATION)

    @property
    def data(self) -> DataVersion:
        """Version of the data this environment runs on."""
        return data_version(self._folder, DATA_FILES)

    def action_key(self, action: str) -> str:
        """Return the calls as JSON with sorted arguments, in order, or the reply."""
        response = self._read(action)
        return f"reply[{response.text}]" if response.kind == "reply" else response.key

    def terminal(self, action: str) -> bool:
        """Whether the action is an answer, or the last word of an agent task."""
        response = self._read(action)
        if not self._is_agent:
            return response.kind in ("calls", "reply")
        return response.kind == "reply" and (not response.text or is_last_word(response.text))

    def irreversible(self, action: str) -> bool:
        """Whether the action is a message to the user, or calls a function that sends, pays or deletes."""
        if not self._is_agent:
            return False
        response = self._read(action)
        if response.kind == "reply":
            return not self.terminal(action)
        return any(call.name in self._data.lasting for call in response.calls)

    def subject_of(self, task_id: str) -> str:
        """Return a hash of what an agent task sets up, which a task with a user may share with one without."""
        config = self._task(task_id).task.initial_config
        return sha256(repr(config).encode()).hexdigest()[:16] if config else ""

    def _read(self, action: str) -> Response:
        if not self._published:
            return read_response(action, self._calls, draft=not self._is_agent, dots=True)
        return read_published(action, _published_calls, self._calls, dots=True)

    def _start(self, entry: AceEntry) -> Any:
        if not self._is_agent:
            return begin(entry.messages, FunctionOffer(entry.task.functions))
        return opened(self._setting(entry), entry.messages, entry.task.initial_config)

    def _transition(self, state: Any, action: str, rng: np.random.Generator | None) -> Transition:
        if isinstance(state, AnswerState):
            if not self._published:
                return give(state, self._read(action))
            after = give(state, self._read(action))
            return after._replace(state=after.state._replace(answer=action), complaint="", done=True)
        if not self._published:
            return respond(state, self._read(action), action)
        if is_execution(action):
            return ran(state, state.setting.executor.execute(state.tools, action), action)
        if is_last_word(action):
            return Transition(state._replace(reply=action, findings=(), is_over=True), "", True)
        return said(state, action)

    def _committed(self, after: Snapshot) -> Snapshot:
        state = after.state
        if isinstance(state, AnswerState) or state.reply is None or state.is_over or state.setting.loop != "multi_turn":
            return after
        entry: AceEntry = after.task
        assert entry.script is not None
        objects = by_class(saved_state(state.tools, self._data.saved))
        message = next_message(entry.script, state.goal, state.reply, objects)
        text = message.text
        if self._user is not None:
            text = self._user.answer(entry.task.question, state.said)
        gone_on = answered(state, text, message.goal)
        if not gone_on.is_over:
            return replace(after, state=gone_on)
        return replace(after, state=gone_on, stop_reason="done", terminated=True)

    def _view(self, state: Any, complaint: str) -> View:
        page = _page_of_answer(state) if isinstance(state, AnswerState) else _page_of_dialogue(state)
        findings = [one.as_data() for one in state.findings]
        facts: dict[str, Any] = {
            "complaint": complaint,
            "turn": 0,
            "step_in_turn": 0,
            "findings": findings,
            "changed": [],
        }
        if isinstance(state, DialogueState):
            facts |= {"turn": state.turn, "step_in_turn": state.step_in_turn, "changed": list(state.changed)}
        actions: tuple[str, ...] = ()
        if page.kind != "done":
            last = () if isinstance(state, AnswerState) else (f"reply[{STOP}]",)
            actions = (*page.offer.examples, *last, "reply[...]")
        return View(page.text(complaint, [one.message for one in state.findings]), actions, facts, page.as_data())

    def _score(self, entry: AceEntry, now: Snapshot, memory: Any) -> Score:
        if isinstance(now.state, AnswerState):
            return self._score_of_answer(entry, now.state)
        return self._score_of_dialogue(entry, now.state, memory or {}, is_over=now.done)

    def _score_of_answer(self, entry: AceEntry, state: AnswerState) -> Score:
        is_normal = entry.task.category in NORMAL
        check = check_normal if is_normal else check_special
        success = state.kind == "done" and check(entry.task, entry.gold, state.answer, self._scoring).valid
        share = 0.0
        if success:
            share = 1.0
        elif is_normal and state.calls:
            share = share_right(entry.task, entry.gold, [AceCall(one.name, dict(one.arguments)) for one in state.calls])
        return Score(float(success), share, success, {"answer": share}, None)

    def _score_of_dialogue(
        self, entry: AceEntry, state: DialogueState, before: Mapping[str, "_Saved"], *, is_over: bool
    ) -> Score:
        saved = {}
        for name, instance in state.tools.instances.items():
            known = before.get(name)
            saved[name] = (
                known if known and known.instance is instance else _Saved(instance, self._saved(name, instance))
            )
        final = [{name: one.attributes} for name, one in saved.items()]
        if self._scoring == "sound":
            score = score_agent_soundly(entry.gold, final, state.ran)
        else:
            score = score_agent(entry.gold, final if state.tools.has_run else [], state.executed)
        success = is_over and score.end_to_end
        parts = {"end_to_end": float(score.end_to_end), "process": score.process}
        return Score(float(success), score.process, success, parts, saved)

    def _saved(self, name: str, instance: Any) -> dict[str, Any]:
        """Return the attributes of an object that are compared with gold."""
        (saved,) = saved_state(AceState({name: instance}), self._data.saved)
        return saved[name]

    def _solution(self, entry: AceEntry) -> list[str]:
        if entry.task.category in SPECIAL:
            return [f"reply[{gold_sentence(entry.task, entry.gold)}]"]
        if not self._is_agent:
            return [gold_answer(entry.task, entry.gold)]
        stones = entry.gold.milestones[0] if entry.gold.milestones else ()
        calls = [f"[{', '.join(call.text() for call in milestone_calls(stone))}]" for stone in stones]
        return [*calls, f"reply[{STOP}]"]

    def _bound_by(self) -> str:
        return "" if self._user is None else "answers of a language model, which may answer otherwise if asked again"

    def _effect(self, before: Any, after: Any) -> Effect:
        """Tell which calls failed. Objects and the conversation are the world."""
        if isinstance(after, AnswerState):
            return Effect(failure_of(after.findings), False)
        was, now = before.tools.instances, after.tools.instances
        has_spoken = (before.messages, before.said) != (after.messages, after.said)
        return Effect(failure_of(after.findings), has_spoken or bool(changed(was, now)))

    def _result_key(self, state: Any, view: View) -> Hashable:
        if isinstance(state, AnswerState):
            return (state.kind, state.answer)
        return (state.turn, state.reply, Response("calls", state.made).key, state.results)

    def _setting(self, entry: AceEntry) -> AgentSetting:
        task = entry.task
        if task.task_id not in self._settings:
            loop: Loop = "multi_turn" if task.multi_turn else "multi_step"
            executor = AceExecutor(
                self._data.classes[loop],
                task.involved_classes,
                self._scoring,
                loop=loop,
                offered=[document["name"] for document in task.functions],
                base=self._data.base,
            )
            self._settings[task.task_id] = AgentSetting(executor, FunctionOffer(task.functions), loop)
        return self._settings[task.task_id]


class _Saved(NamedTuple):
    """An object, and its attributes that are compared with gold. An object is never changed."""

    instance: Any
    attributes: Mapping[str, Any]


def _page_of_answer(state: AnswerState) -> ToolPage:
    end = HANDED_IN if state.kind == "done" else ""
    return ToolPage(state.kind, state.offer, state.messages, state.calls, (), end)


def _page_of_dialogue(state: DialogueState) -> ToolPage:
    page = partial(ToolPage, offer=state.setting.offer, messages=state.messages)
    if state.is_over:
        return page("done", calls=state.calls, results=state.results, end=OVER)
    if state.reply is not None:
        return page("done", end=AWAITED)
    kind: PageKind = "results" if state.step_in_turn or state.turn else "turn"
    return page(kind, calls=state.calls, results=state.results)


def _published_calls(text: str) -> list[FunctionCall]:
    """Return the calls that the official code reads in an answer."""
    try:
        return [FunctionCall(call.name, call.arguments) for call in read_normal(text, multi_turn=False)]
    except UnreadableAnswer as error:
        raise UnreadableCalls(str(error)) from None
