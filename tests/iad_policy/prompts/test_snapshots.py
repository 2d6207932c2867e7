"""Every prompt as a model gets it, in one situation of each environment, as text files in `snapshots/`.

`IAD_WRITE_SNAPSHOTS=1 pytest tests/iad_policy/prompts/test_snapshots.py` writes them anew, and the examples
in docs/what-a-model-reads.md.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import pytest

from iad_envs.sketch2code.policy.language_agent import Sketch2CodeLanguageAgent
from iad_envs.toolcalls.policy.language_agent import CHATS, ToolCallLanguageAgent
from iad_policy.agents.choosing import ChoosingLanguageAgent
from iad_policy.agents.composite import CompositeAgent
from iad_policy.agents.language import STYLES, TOOL, LanguageAgent
from iad_policy.agents.plan_solve import PlanSolveAgent
from iad_policy.agents.react import ReActAgent
from iad_policy.models import Messages
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import PLACEHOLDERS
from iad_policy.simulators.llm import question
from iad_policy.strategies.building_blocks.feedback_forms import best_and_worst, findings
from iad_policy.types import Part, State
from iad_policy.types.call_context import Call, use_call
from tests.folders import prompts
from tests.iad_policy.prompts.situations import SCRIPTS, Situation, situation

FOLDER = Path(__file__).parent / "snapshots"
PAGE = Path(__file__).parents[3] / "docs" / "what-a-model-reads.md"
WRITES = bool(os.environ.get("IAD_WRITE_SNAPSHOTS"))
ENVIRONMENTS = (*SCRIPTS, "sketch2code")
QUOTED = re.compile(
    r"(?P<mark><!-- snapshot: (?P<file>\S+)(?: \| (?P<start>[^\n]*?))? -->)\n(?:```text\n.*?\n```\n)?", re.DOTALL
)
JUDGED = {
    **dict.fromkeys(("score", "finalise"), "candidate"),
    **dict.fromkeys(("evaluator", "reflector", "judge"), "attempt"),
    "critic": "one",
    "ranker": "all",
    "summariser": "attempts",
}
"""Roles of judges, and what they are asked about."""


@cache
def _situation(name: str) -> Situation:
    return situation(name)


def _agent(kind: Callable[..., LanguageAgent], name: str, *style: str) -> LanguageAgent:
    return kind(ScriptedModel([]), prompts(name), *style)


def _planned(state: State) -> State:
    plan = (Part("plan", "1. look around\n2. do it\n3. finish"),)
    history = (state.history[0]._replace(parts=plan), *state.history[1:])
    return State(state.observation, state.info, history=history, steps_left=state.steps_left)


def _asked(name: str) -> Iterator[tuple[str, Messages]]:
    """Yield every prompt of an environment by name."""
    at = _situation(name)
    own, one = prompts(name), Sketch2CodeLanguageAgent if name == "sketch2code" else LanguageAgent
    for style in (*(STYLES if name != "sketch2code" else ("direct", "cot")), TOOL):
        yield f"actor_{style}", _agent(one, name, style).messages(at.here)
    if name.startswith("toolcalls"):
        for style in CHATS:
            yield f"actor_{style}", _agent(ToolCallLanguageAgent, name, style).messages(at.here)
        yield "refine_chat", _agent(ToolCallLanguageAgent, name).messages(at.here, at.feedback(findings))
    agent = _agent(one, name)
    for number, state in enumerate(at.states[:-1]):
        yield f"turn_{number}", agent.messages(state)
    yield "refine", agent.messages(at.here, at.feedback(findings))
    yield "refine_paper", agent.messages(at.here, replace(at.feedback(best_and_worst), instruction="improve"))
    yield "refine_one", agent.messages(at.here, at.feedback(findings, 1))
    unsure = one(ScriptedModel(["I would rather not."] * 2), own)
    with use_call(Call()) as call:
        unsure.propose(at.here, feedback=None, temperature=None, rng=Random(0))
    yield "reask", call.exchanges[-1].prompt[-2:]
    if name != "sketch2code":
        features: Any = SimpleNamespace(actions=lambda state: [one.action for one in at.candidates])
        yield "actor_choose", ChoosingLanguageAgent(ScriptedModel([]), own, features=features).messages(at.here)
        yield "actor_react", _agent(ReActAgent, name).messages(at.here)
        yield "actor_composite-first", _agent(CompositeAgent, name).messages(at.states[0])
        yield "plan", _agent(PlanSolveAgent, name).messages(at.states[0])
    if at.here.history:
        yield "actor_composite", _agent(CompositeAgent, name).messages(at.here)
        yield "actor_plan-solve", _agent(PlanSolveAgent, name).messages(_planned(at.here))
    words = own.rendering
    values = words.values(at.here)
    first, second = map(words.candidate, at.candidates)
    yield "compare", own.render("compare", first=first, second=second, **values).messages()
    for role, about in JUDGED.items():
        if about == "candidate":
            yield role, own.render(role, candidate=first, **values).messages()
            continue
        start, subject = {
            "one": (at.here, at.candidates[0]),
            "all": (at.here, at.candidates),
            "attempt": (at.states[0], [at.attempt, "Verdict: fail"][: 1 if role == "judge" else 2]),
            "attempts": (at.states[0], [(at.attempt, "Verdict: fail\nCause: none"), (at.attempt, "Verdict: pass")]),
        }[about]
        yield role, own.render(role, subject=words.subject(start, subject), **words.values(start)).messages()
    task = str(at.here.info["instruction"])
    yield "paraphraser", own.render("paraphraser", subject=task, **values).messages()
    raw = values | {"notes": "", "observation": words.raw(at.here)}
    yield "simulator", own.render("simulator", subject=str(at.candidates[0].action), **raw).messages()
    yield "simulator_trained", question(own, at.here, at.candidates[0].action).messages()


@cache
def _prompts(name: str) -> Mapping[str, Messages]:
    return dict(_asked(name))


def _text(messages: Messages) -> str:
    return (
        "\n".join(f"--- {message['role']}\n{_words(message['content'])}{_beside(message)}" for message in messages)
        + "\n"
    )


def _beside(message: Mapping[str, Any]) -> str:
    """Return what a message has beside its text: functions, or calls of them."""
    named = ", ".join(one["function"]["name"] for one in message.get("tools", ()))
    calls = [f"{one['function']['name']} {one['function']['arguments']}" for one in message.get("tool_calls", ())]
    return "".join([f"\n(functions: {named})" if named else "", *(f"\n(calls {one})" for one in calls)])


def _shared(one: str, other: str) -> str:
    """Return the beginning that two texts share."""
    return one[: next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)]


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part["type"] == "text" else "(the picture)" for part in content)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_prompt_reads_as_its_snapshot(name: str) -> None:
    written = {f"{prompt}.txt": _text(messages) for prompt, messages in _prompts(name).items()}
    schema = prompts(name).rendering.environment(_situation(name).here)
    if schema:  # it is the same in all of them
        written = {file: text.replace(schema, "(environment.txt)") for file, text in written.items()}
        written["environment.txt"] = f"{schema}\n"
    folder = FOLDER / name
    if WRITES:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.txt"):
            old.unlink()
        for file, text in written.items():
            (folder / file).write_text(text, encoding="utf-8")
    found = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
    assert sorted(found) == sorted(written)
    for file, text in written.items():
        assert text == found[file], file


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("kind", ["cot", "react"])
def test_prompts_of_one_episode_begin_alike_up_to_the_newest_turn(name: str, kind: str) -> None:
    agent = _agent(ReActAgent, name) if kind == "react" else _agent(LanguageAgent, name)
    asked = [agent.messages(state) for state in _situation(name).states]
    for n_turns, (earlier, later) in enumerate(pairwise(asked), start=1):
        shared = _shared(_text(earlier), _text(later))
        if kind == "react":  # the newest turn is an observation in short and the answer to it
            assert _text(later[:-3]).rstrip("\n") in shared
        elif n_turns > 1:  # it is the result of the action before, and the action
            line = f"\n{n_turns - 1}. {_situation(name).states[-1].history[n_turns - 2].action}\n"
            assert line in shared
        else:
            assert _text(later).partition("\n\nSo far:")[0] in shared


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_a_refinement_begins_with_the_whole_proposal_but_its_last_line(name: str) -> None:
    agent = _agent(Sketch2CodeLanguageAgent if name == "sketch2code" else LanguageAgent, name)
    body, _, question = _text(agent.messages(_situation(name).here)).rstrip("\n").rpartition("\n")
    for form in ("refine", "refine_paper", "refine_one"):
        refinement = _text(_prompts(name)[form]).rstrip("\n")
        assert refinement.startswith(body)
        assert refinement.endswith(f"\n{question}")


def test_the_schema_of_a_database_stands_before_all_that_belongs_to_a_question() -> None:
    env = gym.make("IAD/BIRD-v0")
    agent = _agent(LanguageAgent, "bird")
    texts = []
    for task_id in ("12", "17"):
        observation, info = env.reset(options={"task_id": task_id})
        texts.append(_text(agent.messages(State(observation, info, steps_left=10))))
    env.close()
    shared = _shared(*texts)
    assert shared.endswith(");\n\nQuestion: What is the ")
    assert len(shared) > 0.9 * max(map(len, texts))


NOISE = ("has_gold", "kind: question", "missing_tools", "timed_out", "': '", "('", "{'", ": 0\n", "False")
AS_PUBLISHED = ("actor_prompting", "refine_chat")
"""Prompts with results as the papers write them."""


def test_no_prompt_holds_what_means_nothing_to_a_model_and_every_role_has_a_snapshot() -> None:
    shown = set[str]()
    for name in ENVIRONMENTS:
        shown |= _prompts(name).keys()
        texts = {prompt: _text(messages) for prompt, messages in _prompts(name).items() if prompt not in AS_PUBLISHED}
        noisy = [(prompt, one) for prompt, text in texts.items() for one in NOISE if one in text.replace("NULL", "")]
        assert noisy == [], name
    assert {role for role in PLACEHOLDERS if not role.startswith("instruct_")} <= shown  # see test_instructions.py


def _quoted(block: re.Match[str]) -> str:
    """Return a snapshot as a block of the page, from the line that begins with the given words on."""
    text = (FOLDER / block["file"]).read_text(encoding="utf-8")
    start = 0 if not block["start"] else text.index(f"\n{block['start']}") + 1
    return f"{block['mark']}\n```text\n{text[start:]}```\n"


def test_the_documented_prompts_are_those_that_are_sent() -> None:
    page = PAGE.read_text(encoding="utf-8")
    expected, n_blocks = QUOTED.subn(_quoted, page)
    assert n_blocks == 3
    if WRITES:
        PAGE.write_text(expected, encoding="utf-8")
        page = expected
    assert page == expected, "write it anew: IAD_WRITE_SNAPSHOTS=1"
