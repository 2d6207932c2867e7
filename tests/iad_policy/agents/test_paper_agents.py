"""The agents of the papers, each for one episode with a scripted model."""

import math
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper
from iad_policy.agents import load_agent
from iad_policy.agents.composite import HEADINGS, CompositeAgent, composite_agent, parts_of
from iad_policy.agents.plan_solve import PlanSolveAgent, steps_of
from iad_policy.agents.react import ReActAgent
from iad_policy.errors import UnknownName
from iad_policy.models import Completion
from iad_policy.models.scripted import ScriptedModel
from iad_policy.requests import Asking, Commit, Propose, Simulate
from iad_policy.types import Candidate, Decision, Part, State, Turn, Usage
from tests.folders import prompts
from tests.iad_policy.playing import play
from tests.iad_policy.toy_lamp import LampEnv

FIRST = """Plan: 1. paint it green
2. leave
Thought: The lamp is grey.
Command: paint[green]
Explanation: It gives the lamp the colour asked for.
Status: CONTINUE"""
LAST = """Thought: The lamp is green.
Command: leave[now]
Explanation: It ends the task.
Status: DONE"""


def told(text: str, value: float = -0.5) -> Completion:
    """An answer with a log-probability for every token; tokens are of three characters, so they cut words."""
    starts = tuple(range(0, len(text), 3))
    return Completion(text, Usage(prompt_tokens=11), (value,) * len(starts), starts=starts)


def episode(agent: Any, **options: Any) -> tuple[list[Decision], list[str], Usage]:
    """Play the lamp with single; return the decisions, what the model was sent, and what it cost."""
    env = LampEnv()
    with IADPolicyWrapper(agent, env, strategy="single", **options) as policy:
        assert play(env, policy, options={"task_id": "green"})[2]["success"] is True
        asked = [each.prompt for one in policy.decisions for each in one.committed.exchanges]
        texts = ["\n".join(message["content"] for message in prompt) for prompt in asked]
        return list(policy.decisions), texts, policy.spent["agent"]


def proposed(agent: Any, state: State) -> Candidate:
    made: Candidate = agent.propose(state, feedback=None, temperature=None, rng=Random(0))
    return made


def test_a_composite_episode_is_a_call_a_step_and_its_history_holds_actions_without_pages(tmp_path: Path) -> None:
    agent = CompositeAgent(ScriptedModel([told(FIRST), told(LAST)]))  # a third question would raise
    keep, (first, second), _ = episode(agent, log=tmp_path)
    start = keep[0].state.observation
    assert [("Plan: <numbered steps" in one, start in one) for one in (first, second)] == [(True, True), (False, False)]
    for part in ("1. paint it green\n2. leave", "The lamp is grey.", "Command: paint[green]", "colour asked for"):
        assert part in second
    (turn,) = keep[1].state.history
    assert (turn.action, [part.name for part in turn.parts]) == ("paint[green]", list(HEADINGS))
    assert [part.name for part in keep[1].committed.parts] == list(HEADINGS[1:])
    assert keep[0].committed.thought == "The lamp is grey."
    again = episode(agent, log=tmp_path)[0]  # from the log
    assert [one.committed.parts for one in again] == [one.committed.parts for one in keep]
    assert again[1].state.history[0].parts == keep[0].committed.parts
    assert again[0].committed.logprob == keep[0].committed.logprob is not None


def test_parts_have_log_probabilities_only_if_tokens_spell_them_and_the_end_belongs_to_the_last() -> None:
    candidate = proposed(CompositeAgent(ScriptedModel([told(FIRST, -0.25)])), State("", {"instruction": "green"}))
    assert candidate.logprob == pytest.approx(-0.25 * math.ceil(len(FIRST) / 3))
    assert candidate.parts[0].text == "1. paint it green\n2. leave"
    for part in candidate.parts:  # a token for three letters of the heading, the text and the line break
        n_tokens = (len(part.name) + len(": ") + len(part.text)) / 3
        assert -(part.logprob or 0) / 0.25 == pytest.approx(n_tokens, abs=1.1)
    unspelled, whole = replace(told(FIRST), starts=None), told(LAST, -1.0)
    ended = replace(whole, logprobs=(*whole.logprobs, -2.0), starts=(*whole.starts, len(LAST)))  # type: ignore[misc]
    first, second, last = (parts_of(one) for one in (Completion(FIRST), unspelled, ended))
    assert [part.logprob for part in (*first, *second)] == [None] * 10
    assert Candidate("", parts=last).logprob == pytest.approx(-math.ceil(len(LAST) / 3) - 2.0)
    text = "**Thought:** go on\nCommand: say[hello]\nExplanation: it says\nThought: invented"  # the first counts
    assert [(part.name, part.text) for part in parts_of(Completion(text))] == [
        ("thought", "go on"), ("command", "say[hello]"), ("explanation", "it says\nThought: invented")
    ]  # fmt: skip


@given(
    texts=st.dictionaries(st.sampled_from(HEADINGS), st.text("abc é\n", max_size=20), min_size=1),
    before=st.sampled_from(["", "Well then.\n", "\n\n"]),
    cuts=st.lists(st.integers(1, 7), min_size=1),
)
def test_however_tokens_cut_an_answer_the_parts_add_up_to_it(
    texts: dict[str, str], before: str, cuts: list[int]
) -> None:
    text = before + "\n".join(f"{name.upper()}: {said}" for name, said in texts.items())
    starts, place = [], 0
    while place < len(text):
        starts.append(place)
        place += cuts[len(starts) % len(cuts)]
    logprobs = tuple(-0.001 * (1 + place % 13) for place in starts)
    parts = parts_of(Completion(text, logprobs=logprobs, starts=tuple(starts)))
    assert {part.name: part.text for part in parts} == {name: said.strip() for name, said in texts.items()}
    assert Candidate("x", parts=parts).logprob == pytest.approx(sum(logprobs))


def test_what_stands_in_for_an_answer_that_is_no_action_was_not_thought() -> None:
    turns: list[Turn] = []

    def look_ahead(here: State) -> Asking[None]:
        (candidate,) = yield from Propose(here)
        turns.extend((yield from Simulate(here, candidate)).history)
        yield from Commit(candidate)

    env = LampEnv()
    agent = CompositeAgent(ScriptedModel(["Thought: I would rather not.\nPlan: none"] * 2))
    with IADPolicyWrapper(agent, env, strategy=look_ahead) as policy:
        policy.act(*env.reset(seed=0))
    assert [(turn.action, turn.thought, turn.parts) for turn in turns] == [("leave[now]", "", ())]


def test_plan_and_solve_plans_once_and_then_carries_out_a_step_a_call() -> None:
    plan = "My plan:\n1. Paint the lamp green.\n2. Look at it."
    acts = "Thought: first.\nAction: paint[green]", "Action: paint[green]", "Action: leave[now]"
    decisions, (planning, *acting), spent = episode(PlanSolveAgent(ScriptedModel(map(told, (plan, *acts)))))
    assert (len(decisions), spent.prompt_tokens, "numbered list of steps" in planning) == (3, 4 * 11, True)
    steps = "step 1 of 2 now: Paint the lamp green.", "step 2 of 2 now: Look at it.", "All steps of the plan are done."
    assert [step in one and plan[9:] in one for step, one in zip(steps, acting, strict=True)] == [True] * 3
    assert decisions[0].committed.parts[0] == Part("plan", plan, -0.5 * math.ceil(len(plan) / 3))
    # A plan made later counts from there.
    history = (Turn("a", "look"), Turn("b", "go", parts=(Part("plan", "1. go\n2. stop"),)))
    agent = PlanSolveAgent(ScriptedModel([]))
    assert "Carry out step 2 of 2 now: stop" in agent.messages(State("c", {}, history=history))[-1]["content"]
    assert "numbered list" in agent.messages(State("c", {}, history=history[:1]))[0]["content"]


@pytest.mark.parametrize(
    ("plan", "steps"),
    [
        ("1. a\n2) b\n- Step 3: c", ["a", "b", "c"]),
        ("Sure:\n\n1. a", ["a"]),
        ("look\nsubmit", ["look", "submit"]),
        (" \n", ["do what the task asks for"]),
    ],
)
def test_a_plan_s_steps_are_its_numbered_lines(plan: str, steps: list[str]) -> None:
    assert list(steps_of(plan)) == steps


@pytest.mark.parametrize(
    ("name", "kind"), [("composite", CompositeAgent), ("react", ReActAgent), ("plan-solve", PlanSolveAgent)]
)
def test_agents_of_papers_are_loaded_by_name(name: str, kind: type[Any]) -> None:
    env = LampEnv()
    agent = load_agent(f"{name}:ollama/qwen3:8b", env, temperature=0.1, max_tokens=99, top_p=0.9)
    assert (type(agent), agent.model.name) == (kind, "ollama/qwen3:8b")
    for part in ("top_p=0.9", f" {name} ", "temperature=0.1 max_tokens=99"):
        assert part in agent.identity
    with pytest.raises(UnknownName, match="near: max_tokens"):
        load_agent(f"{name}:x", env, max_token=1)
    with pytest.raises(ValueError, match="model's name"):
        load_agent(name, env)


def test_agents_of_papers_refuse_what_they_can_not_use() -> None:
    with pytest.raises(TypeError, match="set them in the client"):
        CompositeAgent(ScriptedModel([]), top_p=0.5)
    assert "logprobs=True" in composite_agent(LampEnv(), "x").identity
    assert isinstance(composite_agent(LampEnv(), ScriptedModel([])), CompositeAgent)
    with pytest.raises(TypeError, match="expected litellm:<model>"):
        load_agent("composite:x", gym.make("IAD/Sketch2Code-v0"))
    state = State("", {"available_actions": ("paint[...]", "leave[now]")})
    for answer, got in (("Thought: hm", "Thought: hm"), ("", "an empty answer"), ("Command: dance", "Command: dance")):
        candidate = proposed(CompositeAgent(ScriptedModel([answer]), reask=0), state)
        assert candidate.error.startswith('unreadable answer: expected a line "Command: ..."')
        assert all(part in candidate.error for part in ("such as paint[...], leave", got))
        assert candidate.parts == ()


NOTE = "cat > note <<'EOF'\nStatus: DONE\nExplanation: it's so\nEOF"
LOOP = "for f in a[0-9]*; do\n  grep -c 'x: y' \"$f\"\ndone"


@pytest.mark.parametrize(
    ("kind", "answers", "action", "thought"),
    [
        (  # the words of other parts are its own, and reasoning is no part
            CompositeAgent,
            [f"<think>\nCommand: rm note\n</think>\nThought: I note it.\nCommand: {NOTE}\nStatus: CONTINUE"],
            NOTE,
            "I note it.",
        ),
        (CompositeAgent, [f"Thought: so.\nCommand: ```bash\n{LOOP}\n```\nStatus: CONTINUE"], LOOP, "so."),
        (CompositeAgent, ["Thought: so.\nCommand: submit\nExplanation: it does.\nStatus: DONE"], "submit", "so."),
        (ReActAgent, [f"Thought: so.\nAction: ```bash\n{LOOP}\n```"], LOOP, "Thought: so."),
        (PlanSolveAgent, ["1. look", "I look.\n```bash\nls *\n```"], "ls *", "I look."),
    ],
)
def test_in_the_shell_a_command_is_read_as_every_other(
    kind: Any, answers: list[str], action: str, thought: str
) -> None:
    state = State("", {"available_actions": ("pwd", "cd ..", "submit")})
    candidate = proposed(kind(ScriptedModel(answers), prompts("bash"), syntax="shell"), state)
    assert (candidate.action, candidate.thought, candidate.error) == (action, thought, "")
    assert kind is not PlanSolveAgent or [part.name for part in candidate.parts] == ["plan", "answer"]
