"""The policy side of function calls: agent, verifier, mistakes, rehearsals, learning, and what is kept of a run."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.toolcalls.policy.features import FEATURES, CallFeatures
from iad_envs.toolcalls.policy.language_agent import CHATS, as_tool
from iad_envs.toolcalls.policy.mistakes import wrong_response
from iad_envs.toolcalls.policy.rendering import ToolCallRendering
from iad_envs.toolcalls.policy.verifier import KEPT, CallVerifier
from iad_envs.toolcalls.responses import read_response
from iad_policy import evaluate
from iad_policy.agents.language import language_agent
from iad_policy.errors import UnknownName
from iad_policy.learn.simulators import record_outcomes
from iad_policy.ledger.run import Run
from iad_policy.models.scripted import ScriptedModel
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.agentboard import write_agentboard
from iad_policy.report.viewer.shown import ShownTable, episode_json, run_json
from iad_policy.simulators import load_simulator
from iad_policy.simulators.llm import Unpredicted
from iad_policy.simulators.recorded import PROVOKED, read
from iad_policy.trained.backends.numeric import numeric
from iad_policy.trained.features import load_features
from iad_policy.types import AWAITING, Candidate, State, Turn
from iad_policy.types.outcome_types import type_of
from iad_policy.world import adapt
from tests.contract.environments import solution_of
from tests.iad_envs.episode import Episode

WORDS, BFCL = ToolCallRendering(), "IAD/BFCL-v0"


class Talk(Episode):
    """A conversation of ACEBench, if its id begins with `agent`, `normal` or `special`, else of BFCL."""

    def __init__(self, task_id: str) -> None:
        kind = task_id.partition("_")[0]
        name, group = "BFCL", {"multi": "multi_turn"}.get(kind, "single_turn")
        if kind in ("agent", "normal", "special"):
            name, group = "ACEBench", kind
        env: Any = gym.make(f"IAD/{name}-v0", category=group, split=None).unwrapped
        super().__init__(env, CallVerifier(), task_id, steps_left=200)

    @property
    def reference(self) -> Any:
        return solution_of(self.env)


def read_by_all(here: State, before: State, action: str) -> None:
    """Have everybody read a state to which an action has led from the one before; nobody raises an exception."""
    numbers = CallFeatures()
    assert np.isfinite(numbers.rows(here, [*numbers.actions(here), action])).all()
    candidate = Candidate(action, preview=here)
    for at in (before, here):
        (verdict,) = CallVerifier().verify(at, [candidate])
        assert 0.0 <= verdict.score <= 1.0
    words = [*WORDS.values(here).values(), WORDS.candidate(candidate), WORDS.attempt(before, here), WORDS.raw(here)]
    assert all(isinstance(one, str) for one in words)
    for style in CHATS:
        messages = chat(style).messages(here)
        assert messages[0]["role"] == "system"
        assert all(isinstance(one["content"], str) for one in messages)


@cache
def chat(style: Any) -> Any:
    return language_agent(gym.make(BFCL), ScriptedModel([]), style)


NOTE, SEEDS, LOAN, REMIND = "multi_turn_base_1", "multi_turn_base_13", "multi_turn_miss_param_14", "agent_multi_step_0"
MOVE = "[move_note(title='choir', folder='garden')]"
FAILS = "[move_note(title='choir', folder='no such folder')]"
FERRY = "ferry_line.departures(harbour='Port Tiverley', day='2026-08-29')"
SOW = "[sow_seeds(bed_id='BD-58', species='fennel', count=19)]"
CAKE = "[bakery_order_cake(cake='walnut cake', day='2026-05-05')]"
LIST = "[list_reminders(day='2026-04-02')]"
RESERVE = "[reserve_book(book_id='BK-7', member_id='MB-9')]"
REPAIR = "[tailor.repair_price(damage='frayed cuff', pieces=3, speed='express')]"


def test_it_needs_a_preview_and_what_is_found_takes_its_share_and_is_said() -> None:
    talk = Talk(NOTE)
    with pytest.raises(ValueError, match=r"a preview of 'reply\[Hm\]'"):
        CallVerifier().verify(talk.state, [Candidate("reply[Hm]")])
    for action in ("Well, let me think.", "[move_note('choir')]", "[f(", ""):  # invalid
        found = talk.verdict(action)
        assert (found.score, "expected" in found.critique) == (0.0, True), action
    for action, code in {
        FAILS: "tool_error", "[move_notes(title='choir', folder='garden')]": "unknown_function",
        "[move_note(title='choir')]": "missing_argument", "[search_notes(words='accordion')]": "ungrounded_argument",
        "[move_note(title='choir', folder='garden', now=True)]": "unknown_argument",
        "[move_note(title='choir', folder=['garden'])]": "wrong_type",
    }.items():  # fmt: skip
        facts: Any = talk.tried(action).preview.info["facts"]  # type: ignore[union-attr]
        (message,) = [one["message"] for one in facts["findings"] if one["code"] == code]
        found = talk.verdict(action)
        assert (found.score <= KEPT[code], message in found.critique) == (True, True), action


@pytest.mark.parametrize(("task_id", "before", "better", "worse"), [
    # Values of the request that are still unused lead on; what was made already doesn't.
    (NOTE, (), MOVE, "[show_folder()]"),
    (NOTE, (), MOVE, "[tag_note(title='choir', tag='x')]"),
    (NOTE, (), "[show_folder()]", "reply[Hm.]"),
    (NOTE, (MOVE,), "reply[Done.]", MOVE),
    (NOTE, (MOVE,), "reply[Done.]", "[show_folder()]"),
    # One that looks up what the next one needs comes before the end of the turn.
    (SEEDS, ("[find_beds(zone='south house')]",), SOW, "reply[Done.]"),
    (SEEDS, (), "[find_beds(zone='south house')]", SOW),
    # Words are worth what was done: claims of work that no call did are worth the least.
    (NOTE, (), "reply[Which folder do you mean?]", "reply[Hm.]"),
    (NOTE, (), "reply[Hm.]", "reply[I have moved the note.]"),
    (NOTE, (FAILS,), "reply[I can't find that folder.]", "reply[It is in the garden now.]"),
    (NOTE, (FAILS,), MOVE, "reply[I can't find that folder.]"),
    (NOTE, (FAILS,), MOVE, FAILS),
    # A value that nobody has said is asked for.
    (LOAN, ("reply[80 miles.]",), "reply[Who, and which book?]", RESERVE),
    ("special_incomplete_0", (), "reply[Missing necessary parameters (day).]", CAKE),
    # A single question wants all of its calls.
    ("parallel_1", (), f"[{FERRY}, ferry_line.departures(harbour='Aldmoor Quay', day='2026-08-03')]", f"[{FERRY}]"),
    ("multiple_2", (), REPAIR, f"draft{REPAIR}"),
    ("multiple_2", (), REPAIR, REPAIR.replace("3", "5")),
    ("multiple_2", (), "[tailor.repair_price(damage='frayed cuff', pieces=3)]", "reply[None of them does that.]"),
    ("multiple_2", (), "reply[None of them does that. I can't.]", "reply[It costs 30.]"),
    # After a call that failed and one that worked, the first one is tried again.
    (REMIND, (LIST, "[log_in_phone(pin='2596')]"), LIST, "reply[I can't list them.]"),
    # In a task without a user nobody answers, and nothing ends well before anything is done.
    (REMIND, (), "[log_in_phone(pin='2596')]", "reply[Shall I?]"),
    (REMIND, (), "[check_phone()]", "reply[finish conversation]"),
])  # fmt: skip
def test_the_better_response_scores_higher(task_id: str, before: tuple[str, ...], better: str, worse: str) -> None:
    talk = Talk(task_id).did(*before)
    assert talk.verdict(better).score > talk.verdict(worse).score


def test_replies_in_vain_score_the_least() -> None:
    assert Talk(NOTE).verdict("reply[The note has been moved.]").score == 0.05
    assert Talk(REMIND).verdict("reply[Which day?]").score == 0.05
    assert Talk(REMIND).verdict("reply[finish conversation]").score == 0.05
    talk = Talk("agent_multi_turn_0")
    assert talk.verdict("reply[Which one?]").score == 0.4
    assert talk.did("reply[Which one?]").verdict("reply[Which one?]").score == 0.05
    assert talk.verdict("reply[Well.]").score == 0.2
    talk = Talk(SEEDS).did("[find_beds(zone='south house')]")
    assert "names 19, which no call uses" in talk.verdict("reply[Done.]").critique


def test_gold_scores_higher_than_the_mistakes_of_the_solution_agent() -> None:
    won = lost = 0
    for task_id in (*(f"multi_turn_base_{number}" for number in (1, 2, 3, 9, 13, 14, 18, 21)), "agent_multi_step_0"):
        talk, rng = Talk(task_id), Random(task_id)
        for gold in talk.reference:
            score = talk.verdict(gold).score
            for wrong in {wrong_response(talk.state, gold, rng) for _ in range(6)}:
                other = talk.verdict(wrong).score
                won, lost = won + (score > other), lost + (score < other)
            talk.did(gold)
    assert won > 4 * lost


def calls_of(action: str) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, dict(call.arguments)) for call in read_response(action, dots=True).calls]


def drawn(task_id: str, right: str, n: int = 200) -> set[str]:
    state, rng = Talk(task_id).state, Random(0)
    found = {wrong_response(state, right, rng) for _ in range(n)}
    assert all(read_response(action, dots=True).kind != "unreadable" for action in found)
    return found


def kind_of(calls: list[tuple[str, dict[str, Any]]]) -> str:
    if len(calls) != 1:
        return "a call made twice" if calls else "words"
    ((name, arguments),) = calls
    if name != "sow_seeds":
        return "another function"
    return "another value" if len(arguments) == 3 else "a dropped argument"


def test_calls_go_wrong_in_every_way_with_values_of_their_types_and_words_as_a_call() -> None:
    found = [calls_of(action) for action in drawn(SEEDS, SOW)]
    kinds = {"another value", "a dropped argument", "another function", "a call made twice", "words"}
    assert {kind_of(calls) for calls in found} == kinds
    for ((_, arguments),) in (calls for calls in found if kind_of(calls) == "another value"):
        assert [type(arguments[name]) for name in ("bed_id", "species", "count")] == [str, str, int]
    pair = f"{SOW[:-1]}, {SOW[1:]}"
    assert calls_of(SOW) in map(calls_of, drawn(SEEDS, pair))
    offered = {one["name"] for one in Talk(NOTE).state.info["page"]["tools"]}
    for action in drawn(NOTE, "reply[]", 50):
        ((name, arguments),) = calls_of(action)
        assert name in offered
        assert all(value in ("something", 3, True, [], {}) or isinstance(value, str) for value in arguments.values())


@pytest.mark.parametrize("category", ["multi_turn", "single_turn", "agent", "normal", "special"])
def test_gold_solves_and_gold_with_mistakes_does_not(category: str) -> None:
    env_id = BFCL if category.endswith("_turn") else "IAD/ACEBench-v0"
    shares = []
    for rate in (0, 1):
        shown = evaluate(env_id, ["single"], 8, agent=f"solution:{rate}", env_args={"category": category})
        (records,) = shown.records.values()
        shares.append(mean(one.success for one in records))
    assert shares[0] == 1.0 > 0.2 >= shares[1]  # to "relevance" any call is right
    assert domain_by_id(env_id).agent.startswith("solution:")


RUNS = {BFCL: "multi_turn_base", "IAD/ACEBench-v0": "agent_multi_turn"}


@pytest.mark.parametrize("env_id", RUNS)
def test_a_run_is_shown_with_what_the_verifier_says_and_is_among_agentboards_tools(env_id: str, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    evaluate(env_id, ["single", "bon"], n=4, tasks=5, out=folder, env_args={"category": RUNS[env_id]})
    run = Run(folder)
    write_agentboard([run], tmp_path)
    lines = (tmp_path / "bon" / "all_results.txt").read_text(encoding="utf-8").splitlines()
    name = run_json(run)["env"][4:-3].lower()
    assert [json.loads(line)["task_name"] for line in lines] == [name, "tool_summary", "all_summary"]
    keys, table = [key for key, record in run.records.items() if record.strategy == "bon"], ShownTable()
    episodes = [episode_json(run, key, table) for key in keys]
    shown = json.dumps([*episodes, table.texts], ensure_ascii=False)
    for text in ("Functions:", "Results:", "User: ", "Nothing speaks against it.", "reply["):
        assert text in shown
    states = [step["before"] for episode in episodes for step in episode["steps"]]
    assert all(state["said"][0][0] == "User" for state in states)
    assert {len(row) for state in states for row in state.get("calls", ())} == {2}
    # The documents of functions are kept once, and a page is whole when it is read.
    blobs = [path.read_text() for path in (run.folder / "blobs").glob("*.json")]
    assert len(blobs) == len(set(blobs)) > 0
    assert '"description"' not in (run.folder / "answers.jsonl").read_text()
    for step in (step for key in run.records for step in run.episode(key).steps):
        assert step.decision.state.info["page"]["tools"][0]["description"]


def test_stand_ins_lead_to_outcomes_of_several_kinds_anywhere() -> None:
    for talk in (Talk(SEEDS), Talk(SEEDS).did("reply[Done.]"), Talk("multiple_2")):
        ends = [talk.tried(action).preview for action in domain_by_id(BFCL).stand_ins]
        kinds = {type_of(end.info, end.done) for end in ends if end is not None}
        assert {"invalid", "unknown_function", "end" if talk.env.category == "single_turn" else "success"} <= kinds


NUMBERS = CallFeatures()


def named(state: State, action: str) -> dict[str, float]:
    (row,) = NUMBERS.rows(state, [action])
    return {name: value for name, value in zip(FEATURES, row, strict=True) if value}


def test_values_are_bounded_and_every_feature_tells_something_somewhere() -> None:
    assert load_features("IAD/BFCL-v0").names == FEATURES
    more = (
        *(MOVE, "[nothing_such(a=1)]", "[move_note(title='choir', now=1)]", "[f(", "[]", "reply[I've moved it.]"),
        *("reply[Which one?]", "[move_note(title='choir', folder=[])]", "[tailor.repair_price(speed='at once')]"),
        "[find_books(words='moon'), move_note(title='choir', folder='garden')]",
    )
    rows = []
    notes = [Talk(NOTE).did(*before) for before in ((), (MOVE,), (FAILS,))]
    for state in (*(talk.state for talk in notes), Talk("multiple_2").state):
        found = NUMBERS.rows(state, [*NUMBERS.actions(state), *more])
        assert found.shape == (1 + len(more), len(FEATURES))
        rows.append(found)
    whole = np.concatenate(rows)
    assert np.isfinite(whole).all()
    assert 0.0 <= whole.min() <= whole.max() <= 1.0
    assert [name for name, is_set in zip(FEATURES, whole.any(axis=0), strict=True) if not is_set] == []


def test_a_response_is_told_by_what_it_uses_and_what_was_done() -> None:
    talk = Talk(NOTE)
    assert named(talk.state, MOVE) == {"calls": 0.25, "used": 1.0, "unused": 1.0}
    wrong = named(talk.state, "[count_seeds(species='accordion')]")
    assert {"calls", "ungrounded_argument", "unused"} == set(wrong)
    talk.did(MOVE)
    assert named(talk.state, "reply[Done.]") == {"reply": 1.0, "made": 0.25, "worked": 0.25}
    assert "repeated_call" in named(talk.state, MOVE)
    with pytest.raises(ValueError, match=r"features offer actions to choose from, got IAD/BFCL-v0.*--backend hf"):
        numeric("linear", "IAD/BFCL-v0", "policy")


def test_outcomes_are_of_the_types_of_their_findings_and_read_by_everybody(tmp_path: Path) -> None:
    outcomes = tmp_path / "outcomes.jsonl"
    record_outcomes(BFCL, outcomes, agents=("solution:0.3",), tasks=4)
    found = list(read(outcomes))
    kinds = {(type_of(one.info, one.done), one.source) for one in found}
    wanted = {("success", "agent"), ("tool_error", "agent"), ("invalid", PROVOKED), ("unknown_function", PROVOKED)}
    assert wanted <= kinds
    assert any(one.info["stop_reason"] == AWAITING for one in found)
    talk = Talk(SEEDS)
    world, here = adapt(talk.env), replace(talk.state, id="here")
    world.begin(here.observation)
    simulator = load_simulator(f"retrieval:{outcomes}", talk.env)
    for action in ("[nothing_such(a=1)]", "[find_books(words='x')]", "no action", "[]", "reply[Done.]"):
        for draw in range(3):
            outcome = simulator.simulate(world, simulator.begin(world, here), action, draw)
            further = simulator.simulate(world, outcome.token, "[read_note(title='x')]", draw)
            for one in (outcome, further):
                read_by_all(one.token, here, action)


def moments() -> Iterator[State]:
    """States of every kind: as a turn begins, with results, after an error and after an unreadable action, drafted."""
    talk = Talk(SEEDS)
    yield talk.state
    yield talk.tried("reply[Done.]").preview  # type: ignore[misc]
    for action in (talk.reference[0], "[nothing_such(a=1)]", "no action", "reply[Done.]", talk.reference[1]):
        yield talk.did(action).state
    question = Talk("multiple_2")
    yield question.state
    yield question.did(f"draft{question.reference[0]}").state


def partial_infos(info: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    info = dict(info)
    for part in ("page", "facts"):
        whole = dict(info[part])
        yield {name: value for name, value in info.items() if name != part}
        yield {**info, part: None}
        yield {**info, part: {}}
        for name in whole:
            yield {**info, part: {other: value for other, value in whole.items() if other != name}}
            yield {**info, part: {name: whole[name]}}
    yield {"task_id": "x", "instruction": "Do it."}


def test_a_page_or_facts_that_lack_something_are_read_all_the_same() -> None:
    for moment in moments():
        action = str(moment.history[-1].action) if moment.history else "[f(a=1)]"
        before = State(moment.observation, moment.info)
        for info in partial_infos(moment.info):
            read_by_all(replace(moment, info=info), before, action)
            earlier = Turn(moment.observation, action, info)
            read_by_all(replace(moment, history=(*moment.history, earlier)), replace(moment, info=info), action)


@pytest.mark.parametrize("style", CHATS)
def test_what_a_language_model_predicts_is_read_by_a_language_model(style: str) -> None:
    talk = Talk(SEEDS)
    first = talk.state
    info = {**first.info, "page": Unpredicted(), "facts": Unpredicted(), "available_actions": ()}
    here = State("It has been moved.", info, history=(Turn(first.observation, talk.reference[0], first.info),))
    messages = chat(style).messages(here)
    assert any("It has been moved." in one["content"] for one in messages)
    assert "It has been moved." in WORDS.candidate(Candidate(talk.reference[0], preview=here))
    assert "It has been moved." in WORDS.values(here)["observation"]
    further = replace(here, history=(*here.history, Turn(here.observation, "[g()]", here.info)))
    assert chat(style).messages(further)


LOANS, LATE = "multi_turn_base_54", "multi_turn_miss_func_48"


def walked(task_id: str, *actions: str) -> State:
    """The state after actions, whose thoughts nobody reads again."""
    state = Talk(task_id).did(*actions).state
    return replace(state, history=tuple(turn._replace(thought="a thought") for turn in state.history))


def agent(*answers: Any, style: Any = None, env_id: str = BFCL, **arguments: Any) -> Any:
    return language_agent(gym.make(env_id, **arguments), ScriptedModel(list(answers)), style)


def proposed(one: Any, state: State) -> Any:
    return one.propose(state, feedback=None, temperature=None, rng=Random(0))


def test_the_chat_and_the_models_own_interface_have_what_was_said_called_and_returned() -> None:
    call = "[list_loans(member_id='MB-18')]"
    messages = agent().messages(walked(LOANS, call, "reply[There is one.]"))
    assert [one["role"] for one in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    system, first, called, returned, said, now = (one["content"] for one in messages)
    assert '"name": "lend_book"' in system
    assert (first, called, said) == ("List the loans of MB-18.", call, "reply[There is one.]")
    assert returned.startswith("[{'role': 'tool', 'name': 'list_loans', 'content': '{\"loans\": ")
    assert now.startswith("Osric Pemberton wants to borrow")
    assert "a thought" not in json.dumps(messages)
    for style in ("direct", "cot", "few-shot"):  # as in other environments
        system, user = (one["content"] for one in agent(style=style).messages(walked(LOANS, call)))
        assert ("Now you see:" in user, "[function_name(parameter='value')]" in system) == (True, True)
    system, _, called, returned = agent(style="fc").messages(walked(LOANS, "[list_loans(member_id='MB-18')]"))
    assert "lend_book" not in system["content"]
    tools = {one["function"]["name"]: one["function"] for one in system["tools"]}
    assert tools["lend_book"]["parameters"]["type"] == "object"
    (call,) = called["tool_calls"]
    function = call["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("list_loans", {"member_id": "MB-18"})
    assert (returned["role"], returned["tool_call_id"]) == ("tool", call["id"])
    assert "LN-93" in returned["content"]


def test_functions_are_told_when_they_come_and_names_are_written_without_dots_and_read_back() -> None:
    before, after = walked(LATE), walked(LATE, "reply[I can't.]")
    first, last = agent().messages(before), agent().messages(after)
    assert '"name": "return_book"' not in json.dumps(first).replace('\\"', '"')
    assert first[0] == last[0]  # so that a server can keep what it has read
    assert '"name": "return_book"' in last[-1]["content"]
    own = [one["function"]["name"] for one in agent(style="fc").messages(after)[0]["tools"]]
    assert "return_book" in own
    types = {"n": {"type": "float"}, "x": {"type": "any"}}
    written = as_tool({"name": "shop.find", "parameters": {"type": "dict", "properties": types}})["function"]
    assert (written["name"], written["parameters"]["properties"]) == ("shop_find", {"n": {"type": "number"}, "x": {}})
    state = walked("simple_python_39")
    name = state.info["page"]["tools"][0]["name"]
    assert "." in name
    answer = f'<tool_call>{{"name": "{name.replace(".", "_")}", "arguments": {{}}}}</tool_call>'
    candidate = proposed(agent(answer, style="fc", category="simple_python"), state)
    assert json.loads(candidate.action) == [{"name": name, "arguments": {}}]


def test_an_answer_becomes_an_action_or_an_error_that_says_what_was_expected() -> None:
    call, state = "[list_loans(member_id='MB-18')]", walked(LOANS)
    for answer, action, thought in (
        (call, call, ""), (f"<think>\nHm.\n</think>\n{call}", call, "Hm."),
        ("Which member?", "reply[Which member?]", ""), ("<think>\nHm.", None, ""), ("[list_loans(m=", None, ""),
    ):  # fmt: skip
        candidate = proposed(agent(answer, answer), state)
        assert (candidate.action, candidate.thought if action else "") == (action, thought)
        expected = "" if action else "unreadable answer: expected a list of calls such as "
        assert candidate.error[: len(expected) or None] == expected


def test_a_dialogue_with_known_facts_begins_in_the_system_text_and_neighbouring_messages_are_one() -> None:
    state = walked("normal_preference_0")
    system, *others = agent(env_id="IAD/ACEBench-v0", category="normal_preference").messages(state)
    assert state.info["page"]["messages"][0]["content"] in system["content"]
    assert "Missing necessary parameters" in system["content"]
    assert all(message["role"] != "system" for message in others)
    for number in range(4):
        task_id = f"normal_multi_turn_user_adjust_{number}_1"
        roles = [one["role"] for one in agent(env_id="IAD/ACEBench-v0").messages(walked(task_id))]
        assert all(left != right for left, right in pairwise(roles)), task_id
    with pytest.raises(UnknownName, match="style"):
        language_agent(gym.make("IAD/WebShop-v0"), ScriptedModel([]), "fc")  # type: ignore[arg-type]
