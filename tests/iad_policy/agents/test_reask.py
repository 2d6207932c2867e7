"""An answer that can't be read is asked again once: in the same proposal, charged, logged, cached and replayed."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from random import Random

import numpy as np
import pytest

from iad_envs.sketch2code.policy.language_agent import Sketch2CodeLanguageAgent
from iad_envs.toolcalls.policy.language_agent import ToolCallLanguageAgent
from iad_policy.agents import load_agent
from iad_policy.agents.composite import CompositeAgent
from iad_policy.agents.language import LanguageAgent
from iad_policy.agents.plan_solve import PlanSolveAgent
from iad_policy.agents.react import ReActAgent
from iad_policy.errors import ModelError
from iad_policy.ledger.run import Run
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.models import Completion
from iad_policy.models.scripted import ScriptedModel
from iad_policy.papers import experiments
from iad_policy.roles import TemplateRoles
from iad_policy.run.config import FREE
from iad_policy.run.presets import applied
from iad_policy.run.runner import Runner
from iad_policy.runtime.components import Components
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.call_context import Call, use_call
from tests.iad_policy.evaluation_toy import DialsEnv, Liker, config
from tests.iad_policy.toy_lamp import LampEnv

JUNK = "I'd rather not say."
HERE = State("The lamp is grey.", {"instruction": "green", "available_actions": ("paint[...]", "leave[now]")})


def saying(*answers: str | Exception) -> ScriptedModel:
    """Say texts in turn, the last one for ever; one token each way, and a log-probability that tells them apart."""
    one_each = Usage(prompt_tokens=1, completion_tokens=1)
    said = [
        one if isinstance(one, Exception) else Completion(one, one_each, logprobs=(-float(place),))
        for place, one in enumerate(answers, start=1)
    ]
    return ScriptedModel(chain(said, repeat(said[-1])), name="canned")


def proposed(agent: LanguageAgent, state: State = HERE) -> tuple[Candidate, Call]:
    with use_call(Call()) as call:
        return agent.propose(state, feedback=None, temperature=None, rng=Random(0)), call


def test_the_answer_and_what_was_wrong_with_it_are_told_and_both_answers_are_charged_and_kept() -> None:
    answers = "I could do paint[red] or paint[green].", "Thought: green.\nAction: paint[green]"
    candidate, call = proposed(LanguageAgent(saying(*answers), temperature=0.3))
    assert (candidate.action, candidate.error, candidate.thought) == ("paint[green]", "", "Thought: green.")
    assert candidate.logprobs == (-2.0,)  # of the answer that has the action
    assert call.usage == Usage(prompt_tokens=2, completion_tokens=2)
    first, second = call.exchanges
    assert (first.text, second.text) == answers
    assert first.sampling == second.sampling == {"model": "canned", "temperature": 0.3, "max_tokens": 1024}
    *before, said, complaint = second.prompt
    assert tuple(before) == tuple(first.prompt)
    assert said == {"role": "assistant", "content": answers[0]}
    assert complaint["role"] == "user"
    for part in ('expected a line "Action: ..."', "paint[...], leave[now]", "got 2 actions in one sentence"):
        assert part in complaint["content"]


@pytest.mark.parametrize(("reask", "n_asked"), [(0, 1), (1, 2), (3, 4)])
def test_an_answer_that_stays_unreadable_is_the_last_one_s_error(reask: int, n_asked: int) -> None:
    candidate, call = proposed(LanguageAgent(saying(JUNK, ""), reask=reask))
    assert (candidate.action, len(call.exchanges)) == (None, n_asked)
    assert candidate.error.startswith("unreadable answer: expected a line")
    assert candidate.error.endswith(f"got {JUNK!r}" if n_asked == 1 else "got an empty answer")
    if reask > 1:  # nothing is sent as nothing, which some servers refuse
        assert call.exchanges[-1].prompt[-2]["content"] == "(nothing)"


def test_an_answer_that_can_be_read_or_that_leaves_no_room_is_not_asked_again_and_other_failures_are_raised() -> None:
    agent = LanguageAgent(ScriptedModel(["Action: leave[now]"]))  # asked again it would raise
    assert proposed(agent)[0].action == "leave[now]"
    assert agent.read(JUNK, HERE).action is None
    assert agent.read("Action: leave[now]", HERE, finish_reason="length").action == "leave[now]"
    candidate, call = proposed(LanguageAgent(saying(JUNK, ModelError("too long", kind="context"))))
    assert (candidate.action, len(call.exchanges), JUNK in candidate.error) == (None, 1, True)
    with pytest.raises(ModelError, match="down"):
        proposed(LanguageAgent(saying(JUNK, ModelError("down", kind="server"))))


SKETCH = State(
    {"sketch": np.zeros((8, 8, 3), dtype=np.uint8), "text": ""}, {"facts": {"sketch_size": [8, 8]}, "page": {}}
)
SAID = {"kind": "user", "messages": [{"role": "user", "content": "Hi"}]}
CHAT = State("", {"page": {**SAID, "tools": [], "calls": [], "results": []}})
KINDS: dict[str, tuple[Callable[..., LanguageAgent], State, Sequence[str], str]] = {
    "react": (ReActAgent, HERE, (JUNK, "Action: leave[now]"), "leave[now]"),
    "composite": (CompositeAgent, HERE, (JUNK, "Thought: done.\nCommand: leave[now]"), "leave[now]"),
    "plan-solve": (PlanSolveAgent, HERE, ("1. leave", JUNK, "Action: leave[now]"), "leave[now]"),
    "sketch": (Sketch2CodeLanguageAgent, SKETCH, (JUNK, "<html></html>"), "<html></html>"),
    "calls": (ToolCallLanguageAgent, CHAT, ("[f(a=", "[f(a=1)]"), "[f(a=1)]"),
    "calls of the API": (partial(ToolCallLanguageAgent, style="fc"), CHAT, ("[f(a=", "[f(a=1)]"), "[f(a=1)]"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_agent_with_a_model_asks_again(kind: str) -> None:
    make, state, answers, action = KINDS[kind]
    candidate, call = proposed(make(saying(*answers)), state)
    assert (candidate.action, len(call.exchanges)) == (action, len(answers))
    last = call.exchanges[-1]
    assert ([one["role"] for one in last.prompt][-2:], last.text) == (["assistant", "user"], answers[-1])
    if kind == "composite":
        assert (candidate.thought, [part.name for part in candidate.parts]) == ("done.", ["thought", "command"])


def test_a_run_that_is_resumed_replays_both_answers_and_asks_nobody(tmp_path: Path) -> None:
    def played(model: ScriptedModel) -> list[tuple[str, list[str], int]]:
        here = Components(LanguageAgent(model), Liker(), TemplateRoles())
        made = Runner(config(strategies=("bon",), n=2, tasks=1), partial(DialsEnv, max_steps=1), lambda *_: here)
        with RunFolder(tmp_path, made.recorded_config(), free=FREE) as kept:
            assert list(made.episodes(kept))
        run = Run(tmp_path)
        (key,) = run.records
        made_here = [one for step in run.episode(key).steps for one in step.decision.candidates]
        return [(one.action, [each.text for each in one.exchanges], one.usage.tokens) for one in made_here]

    first = played(saying(JUNK, "Action: turn[1]", "Action: turn[2]"))
    assert first == [("turn[1]", [JUNK, "Action: turn[1]"], 4), ("turn[2]", ["Action: turn[2]"], 2)]
    (tmp_path / "episodes.jsonl").write_text("")  # as if it was killed before its end
    assert played(saying(AssertionError("nothing is left to ask"))) == first


def test_it_is_an_option_and_part_of_the_identity_and_off_in_every_paper_s_preset() -> None:
    made = [load_agent("litellm:x", LampEnv(), **options) for options in ({}, {"reask": 0}, {"reask": 2})]
    assert len({one.identity for one in made}) == 3
    assert "reask" not in made[1].identity
    with pytest.raises(ValueError, match="reask of 0 or more, got -1"):
        load_agent("litellm:x", LampEnv(), reask=-1)
    for name, preset in experiments().items():
        given = {"strategies": preset.strategies, "agent": "litellm:x"}
        assert applied(name, preset, given, takes_sampling=True)[0]["agent_args"]["reask"] == 0
        assert "reask" not in applied(name, preset, given, takes_sampling=False)[0].get("agent_args", {})
        own = applied(name, preset, {**given, "agent_args": {"reask": 1}}, takes_sampling=True)
        assert own[0]["agent_args"]["reask"] == 1
