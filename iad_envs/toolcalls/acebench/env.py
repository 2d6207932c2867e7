"""`IAD/ACEBench-v0`: answers of calls, refusals in words, and agent tasks with a user or without."""

from collections.abc import Hashable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from iad_envs.core import Score, Transition, View
from iad_envs.data import data_folder
from iad_envs.errors import UnknownTask, require_known
from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL, Loop
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
from iad_envs.toolcalls.acebench.model_user import model_answer
from iad_envs.toolcalls.acebench.reading import is_execution, read_normal
from iad_envs.toolcalls.acebench.scoring.agent_tasks import milestone_calls, score_agent, score_agent_soundly
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, share_right
from iad_envs.toolcalls.acebench.scoring.special import check_special, gold_sentence
from iad_envs.toolcalls.acebench.tasks import UNREACHABLE, WRONG_MILESTONES, AceEntry, load_ace_data, load_entries
from iad_envs.toolcalls.acebench.user import STOP, by_class, next_message
from iad_envs.toolcalls.answers import AnswerState, asked
from iad_envs.toolcalls.calls import CallStyle
from iad_envs.toolcalls.env import ToolCallEnv
from iad_envs.toolcalls.offers import FunctionOffer
from iad_envs.toolcalls.responses import Response
from iad_envs.toolcalls.rules import Rules

GROUPS: Mapping[str, tuple[str, ...]] = {
    "normal": NORMAL,
    "special": SPECIAL,
    "agent": AGENT,
    **{name: (name,) for name in CATEGORIES},
}
"""Category -> the official categories in it."""
SCRIPTED = "scripted"
MODEL = "llm:"


class _Saved(NamedTuple):
    """An object, and its attributes that are compared with gold. An object is never changed."""

    instance: Any
    attributes: Mapping[str, Any]


class ACEBenchEnv(ToolCallEnv):
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

    DATA_FILES: ClassVar[tuple[str, ...]] = (
        "data_all/data_en/data_*.json",
        "data_all/data_en/possible_answer/data_*.json",
    )

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
        if user != SCRIPTED and not user.startswith(MODEL):
            raise UnknownTask("user", user, [SCRIPTED, f"{MODEL}<model>"])
        folder = data_folder("acebench", data_dir).resolve()
        self._data = load_ace_data(folder)
        is_agent = category.startswith("agent")
        super().__init__(
            load_entries(folder, GROUPS[category]),
            folder,
            is_single=not is_agent,
            lasting=self._data.lasting,
            dots=True,
            published_calls=lambda text: read_normal(text, multi_turn=False),
            closing=(f"reply[{STOP}]",) if is_agent else (),
            scoring=scoring,
            published=published,
            calls=calls,
            left_out={*UNREACHABLE, *WRONG_MILESTONES} if skip_defective and self._data.is_official else (),
            max_steps=max_steps,
            split=split,
            render_mode=render_mode,
        )
        self.category = category
        self._model = None if user == SCRIPTED else user.removeprefix(MODEL)
        self._settings: dict[str, AgentSetting] = {}

    def action_key(self, action: str) -> str:
        """Return the calls as JSON with sorted arguments, in order, or the reply."""
        response = self._read(action)
        return f"reply[{response.text}]" if response.kind == "reply" else response.key

    def subject_of(self, task_id: str) -> str:
        """Return a hash of what an agent task sets up, which a task with a user may share with one without."""
        config = self._task(task_id).task.initial_config
        return sha256(repr(config).encode()).hexdigest()[:16] if config else ""

    def _is_last(self, response: Response) -> bool:
        return response.kind == "reply" and (not response.text or is_last_word(response.text))

    def _start(self, entry: AceEntry) -> Any:
        task = entry.task
        if self._is_single:
            return asked(entry.messages, FunctionOffer(task.functions))
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
        return opened(self._settings[task.task_id], entry.messages, task.initial_config)

    def _transition(self, state: Any, action: str, rng: Any) -> Transition:
        after = super()._transition(state, action, rng)
        if self._published and isinstance(state, AnswerState):  # any text is an answer, and is checked as it is
            return after._replace(state=after.state._replace(text=action))
        return after

    def _act(self, state: DialogueState, response: Response, action: str) -> Transition:
        if not self._published:
            return respond(state, response, action)
        if is_execution(action):
            return ran(state, state.setting.executor.execute(state.tools, action), action)
        if is_last_word(action):
            return Transition(state._replace(reply=action, findings=(), is_over=True), "", True)
        return said(state, action)

    def _gone_on(self, entry: AceEntry, state: DialogueState) -> DialogueState:
        assert entry.script is not None
        assert state.reply is not None
        objects = by_class(saved_state(state.tools, self._data.saved))
        message = next_message(entry.script, state.goal, state.reply, objects)
        text = message.text
        if self._model is not None:
            text = model_answer(self._model, entry.task.question, state.said)
        return answered(state, text, message.goal)

    def _score_of_answer(self, entry: AceEntry, state: AnswerState) -> Score:
        is_normal = entry.task.category in NORMAL
        check = check_normal if is_normal else check_special
        success = state.kind == "done" and check(entry.task, entry.gold, state.text, self._scoring)
        if self._scoring == "sound" and not self._published:
            # Without this, a sentence with calls in it would be right in normal and in special tasks.
            success = success and bool(state.calls) == is_normal
        share = 0.0
        if success:
            share = 1.0
        elif is_normal and state.calls:
            share = share_right(entry.task, entry.gold, state.calls)
        return Score(float(success), share, success, {"answer": share}, None)

    def _score_of_conversation(
        self, entry: AceEntry, state: DialogueState, memory: Mapping[str, _Saved] | None, *, is_over: bool
    ) -> Score:
        saved, before = {}, memory or {}
        for name, instance in state.instances.items():
            known = before.get(name)
            if known is None or known.instance is not instance:
                (attributes,) = saved_state(AceState({name: instance}), self._data.saved)
                known = _Saved(instance, attributes[name])
            saved[name] = known
        final = [{name: one.attributes} for name, one in saved.items()]
        if self._scoring == "sound":
            score = score_agent_soundly(entry.gold, final, state.ran)
        else:
            score = score_agent(entry.gold, final if state.tools.has_run else [], state.executed)
        success = is_over and score.end_to_end
        parts = {"end_to_end": float(score.end_to_end), "process": score.process}
        return Score(float(success), score.process, success, parts, saved)

    def _solution(self, entry: AceEntry) -> list[str]:
        if entry.task.category in SPECIAL:
            return [f"reply[{gold_sentence(entry.task, entry.gold)}]"]
        if self._is_single:
            return [gold_answer(entry.task, entry.gold)]
        stones = entry.gold.milestones[0] if entry.gold.milestones else ()
        calls = [f"[{', '.join(map(str, milestone_calls(stone)))}]" for stone in stones]
        return [*calls, f"reply[{STOP}]"]

    def _bound_by(self) -> str:
        return "" if self._model is None else "answers of a language model, which may answer otherwise if asked again"

    def _result_key(self, state: Any, view: View) -> Hashable:
        if isinstance(state, AnswerState):
            return (state.kind, state.text)
        return (state.turn, state.reply, Response("calls", state.made).key, state.results)
