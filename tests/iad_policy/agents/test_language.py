"""The language agent, the prompts, and the one more question after an answer that can't be read."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product, repeat
from pathlib import Path
from random import Random
from string import Template
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.sketch2code.policy.language_agent import Sketch2CodeLanguageAgent
from iad_envs.toolcalls.policy.language_agent import ToolCallLanguageAgent
from iad_policy import IADPolicyWrapper
from iad_policy.agents import load_agent, prompt
from iad_policy.agents.choosing import choosing_agent
from iad_policy.agents.composite import CompositeAgent
from iad_policy.agents.language import STYLES, LanguageAgent, Style, language_agent
from iad_policy.agents.plan_solve import PlanSolveAgent
from iad_policy.agents.react import ReActAgent, react_agent
from iad_policy.errors import ModelError, UnknownName
from iad_policy.models import Completion, settings_of
from iad_policy.models.scripted import ScriptedModel
from iad_policy.prompts import CHANGED_PARTS, INCLUDED, PARTS, PLACEHOLDERS, Prompts
from iad_policy.prompts.rendering import N_ACTIONS, N_OLD_TURNS, Rendering, fact_text
from iad_policy.registry.domain import domain_by_id
from iad_policy.trained.features import load_features
from iad_policy.types import Candidate, Feedback, Part, State, Turn, Usage
from iad_policy.types.call_context import Call, use_call
from tests.contract.foreign import Words
from tests.folders import FOLDERS, files, prompts
from tests.iad_policy.toy_lamp import LampEnv

PAGE = State(
    "The results. Price: $4 --- [SEP] item b0",
    {"instruction": "a $5 lamp", "available_actions": ("click[b0]", "search[...]"), "facts": {}},
    history=(Turn("first page", "search[lamp]"),),
    steps_left=3,
)


def proposed(agent: LanguageAgent, state: State = PAGE, feedback: Feedback | None = None) -> Candidate:
    return agent.propose(state, feedback=feedback, temperature=None, rng=Random(0))


KINDS: dict[str, Callable[..., LanguageAgent]] = {
    **{style: partial(LanguageAgent, style=cast(Style, style)) for style in STYLES},
    "react": ReActAgent,
    "composite": CompositeAgent,
    "plan-solve": PlanSolveAgent,
}


def prompt_of(kind: str, state: State = PAGE, feedback: Feedback | None = None) -> str:
    messages = KINDS[kind](ScriptedModel([]), prompts("webshop")).messages(state, feedback)
    return "\n".join(message["content"] for message in messages)


def test_every_prompt_file_belongs_to_a_role_and_fills_all_its_placeholders() -> None:
    for name, path in files().items():
        role, used = path.stem, set(Template(path.read_text(encoding="utf-8")).get_identifiers())
        if role in PARTS - CHANGED_PARTS.keys():
            assert not used, name
            continue
        assert used <= PLACEHOLDERS[role] | PARTS, name
        prompt = Prompts(path.parent).render(role, **{one: f"<<{one}>>" for one in PLACEHOLDERS[role]})
        assert used - PARTS <= set(re.findall(r"<<(\w+)>>", prompt.system + prompt.user)), name
        assert prompt.user, name
    for folder, (role, placeholders) in product(FOLDERS, PLACEHOLDERS.items()):
        prompt = prompts(folder).render(role, **{name: f"<<{name}>>" for name in placeholders})
        assert not INCLUDED.search(prompt.system + prompt.user), role
        assert all(f"{heading}: \n" not in prompt.system for heading in ("Thought", "Action")), role


def test_a_folder_of_your_own_goes_before_the_bundled_one_and_may_change_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "refine.txt").write_text("mine: $feedback, $$5", encoding="utf-8")
    own, shop = Prompts(tmp_path), prompts("webshop")
    assert own.refinement(Feedback("x")) == "mine: x, $5"
    assert own.render("critic", subject="x", **Rendering().values(PAGE)).system
    assert [own.digest([role]) == Prompts().digest([role]) for role in ("refine", "critic")] == [False, True]
    (tmp_path / "rules.txt").write_text("Buy nothing but lamps, and nothing above $$5.", encoding="utf-8")
    own = Prompts(tmp_path, *shop.folders, rendering=domain_by_id("IAD/WebShop-v0").rendering)
    (system, _) = LanguageAgent(ScriptedModel([]), own).messages(PAGE)
    assert system["content"].startswith("Buy nothing but lamps, and nothing above $5.\n\nExample")
    assert [own.digest([role]) == shop.digest([role]) for role in ("actor_cot", "paraphraser")] == [False, True]
    assert type(own.rendering) is type(shop.rendering)
    (other := tmp_path / "webshop").mkdir()
    (other / "refine.txt").write_text("$feedbak", encoding="utf-8")
    for call, said in (
        (lambda: Prompts(other).render("refine", feedback="x"), r"but \$attempts, \$feedback, \$instruct"),
        (lambda: Prompts(tmp_path / "webshp"), "webshop"),
        (lambda: own.render("critc"), "critic"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


@pytest.mark.parametrize("kind", KINDS)
def test_every_agent_is_told_notes_and_feedback_and_composite_ones_no_earlier_page(kind: str) -> None:
    planned = PAGE.history[0]._replace(parts=(Part("plan", "1. search\n2. buy"),))
    state = replace(PAGE, history=(planned,)).noted("try the cheap one")
    text = prompt_of(kind, state, Feedback("Best: click[b0]\nWorst: search[x]\nReview: too dear"))
    for part in ("try the cheap one", "Best: click[b0]\nWorst: search[x]\nReview: too dear", "Go through the kind"):
        assert part in text
    assert ("first page" in text) is (kind != "composite")
    assert "Go through the kind" not in prompt_of(kind, state)


def test_long_histories_pages_and_lists_are_shortened() -> None:
    state = State(
        "x" * 100_000,
        {"available_actions": [f"click[{n}]" for n in range(500)] + ["search[...]"]},
        history=tuple(Turn("y" * 5000, f"click[old {n}]") for n in range(200)),
    )
    text = prompt_of("direct", state)
    assert len(text) < 40_000
    left_out = f"({200 - N_OLD_TURNS} earlier turns are left out)", f"({501 - N_ACTIONS} more)"
    for part in ("search[...]", "click[old 199]", *left_out):
        assert part in text
    assert "click[old 100]" not in text
    assert len(ReActAgent(ScriptedModel([])).messages(state)) == 2 + 2 * N_OLD_TURNS


def test_an_invalid_last_action_and_the_findings_are_told() -> None:
    def facts(found: dict[str, Any], **info: Any) -> str:
        return Rendering().facts(State("page", {"facts": found, **info}))

    assert facts({"complaint": "no such name", "unknown column": "nmae"}, invalid_action=True) == (
        "The last action was not valid here and changed nothing: no such name\nFindings:\n- unknown column: nmae"
    )
    told = {"complaint": "", "created": (), "exit_code": 0, "rooms": ("a", "b"), "is_lit": True, "box": np.zeros(2)}
    assert facts(told) == "Findings:\n- rooms: a, b\n- is_lit: yes"
    assert facts({"complaint": ""}) == ""
    assert Rendering().page(State({"a": np.zeros((2, 3, 4))}, {})).endswith("of shape 2x3x4)")
    nothing: list[Any] = [0, 0.0, False, None, (), "", {"code": 1}, ({"code": 1},), np.zeros(3), np.int64(0)]
    assert [fact_text(value) for value in nothing] == [""] * len(nothing)


def test_the_thought_is_what_stands_before_the_action_and_no_action_says_what_was_expected() -> None:
    candidate = proposed(LanguageAgent(ScriptedModel(["Thought: cheap.\nAction: click[B0]"]), style="cot"))
    assert (candidate.action, candidate.thought, candidate.error) == ("click[b0]", "Thought: cheap.", "")
    begun = "Thought: " + "long " * 100 + "\nAction: search[a cheap la"
    half = f"half an answer, which was cut off at max_tokens: {begun[-200:]!r}"
    for answer, got in (
        (Completion("I would rather not"), "'I would rather not'"),
        (Completion(""), "an empty answer"),
        (Completion(begun, finish_reason="length"), half),
    ):
        candidate = proposed(LanguageAgent(ScriptedModel([answer]), reask=0))
        assert (candidate.action, candidate.thought) == (None, answer.text)
        assert candidate.error.startswith('unreadable answer: expected a line "Action: ..."')
        assert candidate.error.endswith(f"such as click[b0], search[...], got {got}")
    whole = Completion("Action: click[b0]\nThis is the che", finish_reason="length")
    assert proposed(LanguageAgent(ScriptedModel([whole]))).action == "click[b0]"


def test_styles_that_ask_for_the_action_alone_take_it_alone_and_a_space_may_take_numbers_or_texts() -> None:
    listed = replace(PAGE, info={"available_actions": ("north", "south")})
    for style, action in (("direct", "up"), ("few-shot", "up"), ("cot", None)):
        assert proposed(LanguageAgent(ScriptedModel(["up"] * 2), style=cast(Style, style)), listed).action == action
    reasoned = "<think>\nnorth is a wall\n</think>\nup"
    assert proposed(LanguageAgent(ScriptedModel([reasoned]), style="cot"), listed).action == "up"
    agent = LanguageAgent(ScriptedModel(["Action: 2", "7", "left"]), space=gym.spaces.Discrete(4), reask=0)
    assert "whole number from 0 to 3" in agent.messages(PAGE)[0]["content"]
    assert proposed(agent).action == 2
    for got in ("'7'", "'left'"):
        assert f"from 0 to 3, got {got}" in proposed(agent).error
    for space in (Words(), Words(["north", "south"])):  # of a library that is not ours
        agent = LanguageAgent(ScriptedModel(["Action: click[b0]"]), space=space)
        assert "whole number" not in agent.messages(PAGE)[0]["content"]
        assert proposed(agent).action == "click[b0]"


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: language_agent(gym.make("Pendulum-v1"), "x"), TypeError, "texts or Discrete"),
        (lambda: load_agent("litellm", LampEnv()), ValueError, "litellm:gpt-4o-mini"),
        (lambda: LanguageAgent(ScriptedModel([]), style="fancy"), UnknownName, "direct"),  # type: ignore[arg-type]
        (lambda: load_agent("litellm:gpt-4o-mini#fancy", LampEnv()), UnknownName, "few-shot"),
        (lambda: load_agent("litellm:openai/toy", LampEnv(), thinking="on"), ValueError, "thinking=true .*'on'"),
    ],
)
def test_other_action_spaces_missing_names_and_wrong_options_are_refused(call: Any, error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        call()


def test_a_name_may_carry_the_style_and_the_identity_changes_with_whatever_changes_answers() -> None:
    env, own = LampEnv(), Prompts()
    plain, reasoning, direct = (load_agent(f"litellm:ollama/qwen3:8b{style}", env) for style in ("", "#cot", "#direct"))
    assert plain.model is reasoning.model
    assert plain.model.name == "ollama/qwen3:8b"
    assert ("cot" in reasoning.identity, "direct" in direct.identity) == (True, True)
    agents = [
        *(LanguageAgent("a", own), LanguageAgent("b", own), LanguageAgent("a", own, "direct")),
        *(LanguageAgent("a", prompts("webshop")), LanguageAgent("a", own, temperature=0.1)),
    ]
    assert len({agent.identity for agent in agents}) == 5
    assert agents[0].identity == LanguageAgent("a", own).identity


def test_the_agents_own_model_plays_the_roles_that_nobody_else_was_given() -> None:
    def answer(messages: Any) -> str:
        return "Name the colour." if "improve the action" in str(messages) else "Action: search[walking shoes]"

    env = gym.make("IAD/WebShop-v0")
    agent = language_agent(env, ScriptedModel(answer), temperature=0.5)
    policy = IADPolicyWrapper(agent, env, strategy="iad", n=2, feedback="judge")
    policy.act(*env.reset(seed=0))
    told = policy.decisions[-1].candidates[1].feedback
    assert told is not None
    assert told.critique == "Name the colour."
    assert "critic answered by scripted" in policy.decisions[-1].notes
    with use_call(Call()) as call:
        for temperature in (None, 0.0):
            agent.propose(PAGE, feedback=None, temperature=temperature, rng=Random(0))
    assert [one.sampling["temperature"] for one in call.exchanges] == [0.5, 0.0]


def test_where_one_answer_is_asked_for_no_prompt_offers_anything_else() -> None:
    for mode, others in (("interactive", True), ("answer", False)):
        env = gym.make("IAD/BIRD-v0", mode=mode)
        observation, info = env.reset(seed=0)
        made = [*(language_agent(env, ScriptedModel([]), cast(Style, style)) for style in STYLES)]
        for agent in (*made, react_agent(env, ScriptedModel([]))):
            asked = agent.messages(State(observation, info, steps_left=1), Feedback("Best: submit[SELECT 1]"))
            text = "\n".join(one["content"] for one in asked)
            assert ("execute[" in text) is others
            assert others or ("```sql" in text and info["page"]["question"] in text)
        env.close()
    answering, either = prompts("bird/answer"), prompts("bird")
    assert answering.digest(["score"]) != either.digest(["score"]) != Prompts().digest(["score"])


@pytest.mark.parametrize("name", ["litellm", "react", "composite"])
def test_thinking_is_an_option_of_every_agent_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_BASE", "http://localhost/v1")
    given: list[dict[str, Any]] = [{}, {"thinking": True}, {"thinking": False}]
    agents = [load_agent(f"{name}:openai/toy-{name}", LampEnv(), **options) for options in given]
    assert [settings_of(one.model).get("thinking") for one in agents] == [None, True, False]
    assert ["thinking=True" in one.identity for one in agents] == [False, True, False]
    assert len({one.identity for one in agents}) == 3


SAID = "Thought: look\nAction: ls /", "I don't know", "```sh\nwc -l /etc/passwd\n```", "Action: submit"


def test_a_function_with_its_words_is_asked_and_read_as_the_agent_of_this_project() -> None:
    env = gym.make("IAD/InterCodeBash-v0", split="train")
    words = prompt(env)
    asked: list[list[Any]] = [[], []]

    def saying(place: int) -> Callable[[Any], str]:
        def answer(messages: Any) -> str:
            asked[place].append([dict(one) for one in messages])
            return SAID[(len(asked[place]) - 1) % len(SAID)]

        return answer

    def own(observation: Any, info: Any, feedback: Feedback | None = None, state: State | None = None) -> Candidate:
        return words.read(mine(words.messages(observation, info, feedback, state=state)), info, state=state)

    mine, played = saying(1), []
    for agent in (language_agent(env, ScriptedModel(saying(0)), reask=0), own):
        with IADPolicyWrapper(agent, env, strategy="iad", n=2) as policy:
            observation, info = env.reset(seed=0)
            for _ in range(2):
                action = policy.act(observation, info)
                observation, _, done, truncated, info = env.step(action)
                policy.observe(observation, info, done=done or truncated)
            played.append([[(one.action, one.error) for one in each.candidates] for each in policy.decisions])
    assert asked[0] == asked[1]
    assert (played[0], len(asked[1])) == (played[1], 4)
    assert played[0][0][1][1].startswith("unreadable answer: expected")
    by_id = prompt("IAD/InterCodeBash-v0", split="train")
    assert "Count." in by_id.messages("seen", {"available_actions": (), "instruction": "Count."})[-1]["content"]
    env.close()


@pytest.mark.parametrize("name", ["IAD/Booking-v0", "IAD/WebShop-v0"])
def test_a_model_can_choose_among_what_is_offered_by_number(name: str) -> None:
    env = gym.make(name, split="train")
    observation, info = env.reset(seed=0)
    here = State(observation, info)
    asked = choosing_agent(env, ScriptedModel(())).messages(here)[-1]["content"]
    offered = re.findall(r"^\d+\. (.*)$", asked, re.MULTILINE)
    assert len(offered) > 1
    chosen = proposed(choosing_agent(env, ScriptedModel(["I take this one.\nAction: 2"])), here)
    assert (chosen.action, chosen.error, chosen.thought) == (offered[1], "", "I take this one.")
    assert env.step(chosen.action)[4]["invalid_action"] is False
    refused = proposed(choosing_agent(env, ScriptedModel([f"{len(offered) + 1}"]), reask=0), here)
    assert f'expected a line "Action: n" with a number from 1 to {len(offered)}, got' in refused.error
    known = load_features(name).identity
    assert choosing_agent(env, ScriptedModel(())).identity.endswith(f"among {known}")
    env.close()


JUNK = "I'd rather not say."
GREY = State("The lamp is grey.", {"instruction": "green", "available_actions": ("paint[...]", "leave[now]")})


def saying(*answers: str | Exception) -> ScriptedModel:
    """Say texts in turn, the last one for ever; one token each way, and a log-probability that tells them apart."""
    one_each = Usage(prompt_tokens=1, completion_tokens=1)
    said = [
        one if isinstance(one, Exception) else Completion(one, one_each, logprobs=(-float(place),))
        for place, one in enumerate(answers, start=1)
    ]
    return ScriptedModel(chain(said, repeat(said[-1])), name="canned")


def ask(agent: LanguageAgent, state: State = GREY) -> tuple[Candidate, Call]:
    with use_call(Call()) as call:
        return agent.propose(state, feedback=None, temperature=None, rng=Random(0)), call


def test_the_answer_and_what_was_wrong_with_it_are_told_and_both_answers_are_charged_and_kept() -> None:
    answers = "I could do paint[red] or paint[green].", "Thought: green.\nAction: paint[green]"
    candidate, call = ask(LanguageAgent(saying(*answers), temperature=0.3))
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
    candidate, call = ask(LanguageAgent(saying(JUNK, ""), reask=reask))
    assert (candidate.action, len(call.exchanges)) == (None, n_asked)
    assert candidate.error.startswith("unreadable answer: expected a line")
    assert candidate.error.endswith(f"got {JUNK!r}" if n_asked == 1 else "got an empty answer")
    if reask > 1:  # nothing is sent as nothing, which some servers refuse
        assert call.exchanges[-1].prompt[-2]["content"] == "(nothing)"


def test_an_answer_that_can_be_read_or_that_leaves_no_room_is_not_asked_again_and_other_failures_are_raised() -> None:
    agent = LanguageAgent(ScriptedModel(["Action: leave[now]"]))  # asked again it would raise
    assert ask(agent)[0].action == "leave[now]"
    assert agent.read(JUNK, GREY).action is None
    assert agent.read("Action: leave[now]", GREY, finish_reason="length").action == "leave[now]"
    candidate, call = ask(LanguageAgent(saying(JUNK, ModelError("too long", kind="context"))))
    assert (candidate.action, len(call.exchanges), JUNK in candidate.error) == (None, 1, True)
    with pytest.raises(ModelError, match="down"):
        ask(LanguageAgent(saying(JUNK, ModelError("down", kind="server"))))


SKETCH = State(
    {"sketch": np.zeros((8, 8, 3), dtype=np.uint8), "text": ""}, {"facts": {"sketch_size": [8, 8]}, "page": {}}
)
HEARD = {"kind": "user", "messages": [{"role": "user", "content": "Hi"}]}
CHAT = State("", {"page": {**HEARD, "tools": [], "calls": [], "results": []}})
ASKING: dict[str, tuple[Callable[..., LanguageAgent], State, Sequence[str], str]] = {
    "react": (ReActAgent, GREY, (JUNK, "Action: leave[now]"), "leave[now]"),
    "composite": (CompositeAgent, GREY, (JUNK, "Thought: done.\nCommand: leave[now]"), "leave[now]"),
    "plan-solve": (PlanSolveAgent, GREY, ("1. leave", JUNK, "Action: leave[now]"), "leave[now]"),
    "sketch": (Sketch2CodeLanguageAgent, SKETCH, (JUNK, "<html></html>"), "<html></html>"),
    "calls": (ToolCallLanguageAgent, CHAT, ("[f(a=", "[f(a=1)]"), "[f(a=1)]"),
    "calls of the API": (partial(ToolCallLanguageAgent, style="fc"), CHAT, ("[f(a=", "[f(a=1)]"), "[f(a=1)]"),
}


@pytest.mark.parametrize("kind", ASKING)
def test_every_agent_with_a_model_asks_again(kind: str) -> None:
    make, state, answers, action = ASKING[kind]
    candidate, call = ask(make(saying(*answers)), state)
    assert (candidate.action, len(call.exchanges)) == (action, len(answers))
    last = call.exchanges[-1]
    assert ([one["role"] for one in last.prompt][-2:], last.text) == (["assistant", "user"], answers[-1])
    if kind == "composite":
        assert (candidate.thought, [part.name for part in candidate.parts]) == ("done.", ["thought", "command"])


def test_it_is_an_option_and_part_of_the_identity() -> None:
    made = [load_agent("litellm:x", LampEnv(), **options) for options in ({}, {"reask": 0}, {"reask": 2})]
    assert len({one.identity for one in made}) == 3
    assert "reask" not in made[1].identity
    with pytest.raises(ValueError, match="reask of 0 or more, got -1"):
        load_agent("litellm:x", LampEnv(), reask=-1)
