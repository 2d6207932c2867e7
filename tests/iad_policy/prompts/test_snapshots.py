"""Every prompt as a model gets it, in one situation of each environment, as text files in `snapshots/`.

A situation is a decision: the turns before, two candidates with results, an attempt. `test_snapshots.toml` has them.
`IAD_WRITE_SNAPSHOTS=1 pytest tests/iad_policy/prompts/test_snapshots.py` writes the prompts anew, and the examples
in docs/what-a-model-reads.md.
"""

import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.policy.language_agent import Sketch2CodeLanguageAgent
from iad_envs.sketch2code.policy.rendering import SketchRendering
from iad_envs.toolcalls.policy.language_agent import CHATS, ToolCallLanguageAgent
from iad_policy import IADPolicyWrapper
from iad_policy.agents.choosing import ChoosingLanguageAgent
from iad_policy.agents.composite import CompositeAgent
from iad_policy.agents.language import STYLES, TOOL, LanguageAgent
from iad_policy.agents.plan_solve import PlanSolveAgent
from iad_policy.agents.react import ReActAgent
from iad_policy.models import Messages
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import PLACEHOLDERS, prompts_of
from iad_policy.prompts.feedback import feedback_text
from iad_policy.prompts.rendering import Rendering
from iad_policy.requests import Asking, Commit, Simulate
from iad_policy.simulators.llm import question
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm, best_and_worst, findings
from iad_policy.types import Candidate, Feedback, Part, State, Turn, Verdict
from iad_policy.types.call_context import Call, use_call
from tests.folders import prompts
from tests.iad_policy.toy_lamp import LampEnv


@dataclass(frozen=True)
class Situation:
    """The real states up to a decision, its candidates, and the last state of an attempt that was stopped."""

    states: tuple[State, ...]
    candidates: tuple[Candidate, ...]
    attempt: State
    words: Rendering

    @property
    def here(self) -> State:
        return self.states[-1]

    def feedback(self, form: FeedbackForm, n: int = 2) -> Feedback:
        """Return feedback about the first candidates. Their results are known, so nothing is asked for it."""
        given: list[Feedback | None] = []

        def ask() -> Asking[None]:
            given.append((yield from form(self.here, self.candidates[:n], 0.0)))

        assert not list(ask())
        assert given[0] is not None
        return replace(given[0], text=feedback_text(given[0], self.words))


SCRIPTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@cache
def situation(name: str) -> Situation:
    if name == "sketch2code":
        return _sketch()
    script = SCRIPTS[name]
    env = gym.make(script["env"], **script.get("args", {})) if "env" in script else LampEnv()
    tried = {action: Verdict(score, critique) for action, score, critique in script["tried"]}
    states: list[State] = []
    previews: list[State] = []
    attempt: list[State] = []

    def decide(here: State) -> Asking[None]:
        attempt.append(here)
        for action in script["actions"]:
            attempt.append((yield from Simulate(attempt[-1], Candidate(action))))
        for action in script["actions"]:
            states.append(here)
            here = yield from Commit(Candidate(action, thought="I go on."))
        states.append(here)
        for action in tried:
            previews.append((yield from Simulate(here, Candidate(action))))
        yield from Commit(Candidate(next(iter(tried))))

    with IADPolicyWrapper(lambda observation, info: "", env, strategy=decide) as policy:
        observation, info = env.reset(seed=0, options={"task_id": script["task"]})
        for _ in range(len(script["actions"]) + 1):
            observation, _, _, _, info = env.step(policy.act(observation, info))
    words = prompts_of(env).rendering
    env.close()
    candidates = tuple(
        Candidate(action, key=action, preview=preview, verdict=verdict)
        for (action, verdict), preview in zip(tried.items(), previews, strict=True)
    )
    return Situation(tuple(states), candidates, attempt[-1], words)


def _sketch() -> Situation:
    """Return a situation made by hand, as the environment needs a browser."""
    task = (
        "Write one HTML page, with its CSS in it, that looks like the page in the sketch. Answer with the HTML.\n"
        "The page's title: Ferry times"
    )

    def state(html: str, boxes: Mapping[str, Any], *, done: bool = False) -> State:
        text = task if not html else f"{task}\n\nYour page:\n{html}"
        size = {"width": 1280, "height": 640 if html else 0}
        info = {
            "instruction": task,
            "available_actions": () if done else ("<!DOCTYPE html><html><body></body></html>",),
            "invalid_action": False,
            "stop_reason": "done" if done else "",
            "facts": {"complaint": "", "setting": "direct", "sketch": "drawn", "sketch_size": [1024, 768]},
            "page": {"html": html, "boxes": boxes, **size, "title": "", "engine": "", "failure": ""},
        }
        return State({"sketch": np.full((1024, 768, 3), 250, np.uint8), "text": text}, info, steps_left=5, done=done)

    here = state("", {})
    bar, picture = {"nav_bar": [[0, 0, 1, 0.1]]}, {"image": [[0, 0.1, 0.5, 0.9]]}
    pages: dict[str, dict[str, Any]] = {
        "<html><body><nav>Ferries</nav></body></html>": bar,
        '<html><body><nav>Ferries</nav><img src="rick.jpg" width="600"></body></html>': bar | picture,
    }
    verdicts = (Verdict(0.3, "The image is missing."), Verdict(0.8, "The outline agrees with the sketch to 81%."))
    candidates = tuple(
        Candidate(html, key=html, preview=state(html, boxes, done=True), verdict=verdict)
        for (html, boxes), verdict in zip(pages.items(), verdicts, strict=True)
    )
    first = next(iter(pages))
    attempt = replace(state(first, {}, done=True), history=(Turn(here.observation, first, here.info),))
    return Situation((here,), candidates, attempt, SketchRendering())


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


def _agent(kind: Callable[..., LanguageAgent], name: str, *style: str) -> LanguageAgent:
    return kind(ScriptedModel([]), prompts(name), *style)


def _planned(state: State) -> State:
    plan = (Part("plan", "1. look around\n2. do it\n3. finish"),)
    history = (state.history[0]._replace(parts=plan), *state.history[1:])
    return State(state.observation, state.info, history=history, steps_left=state.steps_left)


def _asked(name: str) -> Iterator[tuple[str, Messages]]:
    """Yield every prompt of an environment by name."""
    at = situation(name)
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
    return "".join(f"--- {one['role']}\n{_words(one['content'])}{_beside(one)}\n" for one in messages)


def _beside(message: Mapping[str, Any]) -> str:
    """Return what a message has beside its text: functions, or calls of them."""
    named = ", ".join(one["function"]["name"] for one in message.get("tools", ()))
    calls = [f"{one['function']['name']} {one['function']['arguments']}" for one in message.get("tool_calls", ())]
    return "".join([f"\n(functions: {named})" if named else "", *(f"\n(calls {one})" for one in calls)])


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if part["type"] == "text" else "(the picture)" for part in content)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_every_prompt_reads_as_its_snapshot(name: str) -> None:
    written = {f"{prompt}.txt": _text(messages) for prompt, messages in _prompts(name).items()}
    schema = prompts(name).rendering.environment(situation(name).here)
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
def test_prompts_of_one_episode_begin_alike_up_to_the_newest_turn(name: str) -> None:
    """So a server reads the beginning once. The snapshots show it of the form without a dialogue."""
    agent = _agent(ReActAgent, name)
    for earlier, later in pairwise(agent.messages(state) for state in situation(name).states):
        assert _text(earlier).startswith(_text(later[:-3]).rstrip("\n"))


def test_every_role_has_a_snapshot() -> None:
    shown = set[str]().union(*(_prompts(name).keys() for name in ENVIRONMENTS))
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
