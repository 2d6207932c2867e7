"""Roles with players of their own, and the tasks in other words that one of them gives."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_policy import Ask, IADPolicyWrapper, Propose, State, per_step
from iad_policy.agents import load_agent
from iad_policy.errors import GoldError, SimulationError, UnknownName
from iad_policy.evaluation import evaluate
from iad_policy.models.scripted import ScriptedModel
from iad_policy.registry.domain import domain_by_id
from iad_policy.roles import AssignedRoles, TemplateRoles, component_for, load_roles
from iad_policy.roles.language_model import ModelRoles
from iad_policy.roles.paraphrase_check import agent_view, differences
from iad_policy.roles.rule_paraphraser import ANYWHERE, OPENINGS, paraphrase
from iad_policy.run.components import load_components
from iad_policy.run.config import Arm, RunConfig
from iad_policy.run.runner import Runner
from iad_policy.strategies.building_blocks.paraphrases import split_task
from iad_policy.types import PublicInfo, Turn
from iad_policy.types.call_context import Call, use_call
from iad_policy.verifiers import load_verifier
from tests.contract.components import Hunch, Wanderer, decide
from tests.contract.rule_based import KEYLESS, made
from tests.contract.toy import Digger


def scripted(text: str, name: str) -> ModelRoles:
    return ModelRoles(ScriptedModel(lambda messages: text, name=name))


def test_every_role_is_answered_by_its_own_player_and_charged_by_itself() -> None:
    players = {"evaluator": scripted("Verdict: pass", "wise"), "summariser": scripted("do it again", "terse")}
    asked = ("evaluator", "summariser", "reflector")

    @per_step
    def ask_all(here: State) -> Any:
        (candidate,) = yield from Propose(here, 1)
        for role in asked:
            yield from Ask(role, here, [candidate])
        return candidate

    decision = decide(strategy=ask_all, roles=players)
    said = [(one.role, one.text[:13]) for one in decision.role_answers]
    assert said == list(zip(asked, ("Verdict: pass", "do it again", "That attempt "), strict=True))
    assert [decision.budget[role].asks for role in asked] == [1, 1, 1]
    assert decision.budget["evaluator"].tokens > 0 == decision.budget["reflector"].tokens
    assert {"evaluator answered by wise", "reflector answered by template"} <= set(decision.notes)


def loaded(roles: Any, env: Any = None) -> Any:
    env = env or Digger()
    return load_roles(roles, env, load_agent(Wanderer(), env), None)


def test_roles_are_named_by_all_who_play_and_those_of_a_strategy_go_before_those_of_all() -> None:
    roles = loaded({"judge": "template"})
    assert (roles.source, roles.identity) == ("template, judge template", "template; judge: template")
    kinds = (AssignedRoles, TemplateRoles, TemplateRoles)
    assert tuple(map(type, (roles, component_for(roles, "judge"), loaded(None)))) == kinds
    mine, its = scripted("x", "mine"), scripted("y", "its")
    other = AssignedRoles({"critic": mine, "iad-fb.critic": its}, TemplateRoles())
    assert other.identity != roles.identity
    assert other.answer("critic", State("", {}), []) == "x"
    assert [component_for(other.of(name), "critic") for name in ("iad-fb", "self-refine")] == [its, mine]
    with pytest.raises(UnknownName, match=r"strategy of this run.*artis, single"):
        config(roles={"iad-fb.critic": "template"})


@pytest.mark.parametrize(
    ("env", "role", "player", "known"),
    [
        *((None, "jester", "template", "critic, evaluator"), (None, "judge", "wise", "litellm:<model>")),
        ("IAD/BIRD-v0", "critic", "reference", "got IAD/BIRD-v0, which does not.*critic=template"),
        ("IAD/Sketch2Code-v0", "evaluator", "reference", "role that reference can play.*known: critic"),
        ("IAD/Sketch2Code-v0", "critic", "referee", "reference"),
    ],
)
def test_unknown_roles_and_players_are_refused(env: Any, role: str, player: str, known: str) -> None:
    with pytest.raises(ValueError, match=known):
        loaded({role: player}, env and gym.make(env))


class Seer(TemplateRoles):
    """Sees gold, and says what it saw."""

    information, source = "oracle", "seer"

    def answer(self, role: str, state: State, subject: Any) -> str:
        gold = None if subject.preview is None else subject.preview.gold
        return "nothing" if gold is None else f"progress {gold['progress']:g}"


@pytest.mark.parametrize(("label", "said"), [("oracle", "progress"), ("", "nothing")])
def test_a_role_sees_gold_only_as_an_oracle_and_the_log_says_so(label: str, said: str, tmp_path: Path) -> None:
    seer = Seer()
    seer.information = label
    decision = decide(strategy="self-refine", n=2, roles={"critic": seer}, log=tmp_path, verifier="none")
    assert [answer.text.startswith(said) for answer in decision.role_answers] == [True]
    (line,) = [one for one in (tmp_path / "answers.jsonl").read_text().splitlines() if '"source":"seer"' in one]
    assert ('"information":"oracle"' in line) == (label == "oracle")
    with pytest.raises(SimulationError, match="the perfect simulator with Seer"):
        IADPolicyWrapper(Wanderer(), Digger(), roles={"critic": Seer()}, simulator="noisy:0.9")


def config(**changes: Any) -> RunConfig:
    return RunConfig("Toy/Digger-v0", "random", strategies=("single", "artis"), cache=False, **changes)


def test_simulator_and_roles_are_in_an_episodes_key() -> None:
    def key(**changes: Any) -> str:
        runner = Runner(config(strategy_args={"verify": False}, **changes), Digger, load_components)
        return runner.key(Arm("random", "artis", 3), "oak", 0)

    wise: dict[str, Any] = {"roles": {"evaluator": "litellm:wise"}}
    assert len({key(), key(simulator="noisy:0.8"), key(simulator="noisy:0.9"), key(**wise)}) == 4
    assert key() == key(simulator="perfect")


def test_a_run_says_who_simulates_and_counts_what_the_evaluator_passed(tmp_path: Path) -> None:
    given: dict[str, Any] = {"simulator": "noisy:0.9", "roles": {"summariser": "template"}, "out": tmp_path}
    results = evaluate(Digger, ["single", "artis"], 9, agent=Wanderer(errors=0), verifier=Hunch(), **given)
    rows, records = results.figures(100).summaries, results.records["artis"]
    assert all(one.n_evaluations == 3 for one in records)
    rate = sum(one.n_passed for one in records) / sum(one.n_evaluations for one in records)
    assert [rows[one].evaluation_pass_rate for one in ("artis", "single")] == [pytest.approx(rate), None]
    assert rows["artis"].by_role["evaluator"]["asks"] == 3
    assert rows["artis"].by_role["simulator"]["simulations"] > 0
    assert "summariser template; simulator noisy:0.9" in results.table(width=200)


PLAIN = "the red chair and its legs under in with of rows that who Find Me Count It I ? . ; : ,"
WORDS = st.sampled_from([*(one for group in (*OPENINGS, *ANYWHERE) for one in group), *PLAIN.split()])
NUMBERS = st.one_of(
    st.integers(0, 10**6).map(str), st.decimals(0, 9999, places=2).map(str), st.integers(1000, 10**6).map("{:,}".format)
)
UNITS = ["{}", "${}", "{}%", *(f"{{}} {unit}" for unit in ("dollars", "inch", "oz", "count", "pack", "days", "cm"))]
AMOUNTS = st.builds(str.format, st.sampled_from(UNITS), NUMBERS)
QUOTES = st.builds(str.format, st.sampled_from(["'{}'", '"{}"', "`{}`"]), WORDS)
PATHS = st.sampled_from(["/var/log/find/list.txt", "*.py", "/make", "usage.md", ".conf", "held_on", "a@b.org"])
TASKS = st.lists(st.one_of(WORDS, AMOUNTS, QUOTES, PATHS), min_size=1, max_size=14).map(" ".join)


@example("show me show me show me i am looking for 'show me'", 0, "")
@example("i am looking for shoes that i need", 3, "")
@example("find me 'i'm looking for'", 0, "")
@example("show me 'i'd like'", 1, "")
@given(TASKS, st.integers(0, 5), st.text(max_size=3))
def test_a_paraphrase_keeps_numbers_prices_quoted_texts_and_paths(task: str, index: int, stream: str) -> None:
    said = paraphrase(task, index, stream)
    # An apostrophe within a word (I'd) opens no quotation.
    for pattern in (r"\$?\d[\d,.]*%?", r"(?<!\w)'[^']+'(?!\w)|\"[^\"]+\"|`[^`]+`", r"\S*[/*_@]\S*|\w*\.[a-z]{2,4}\b"):
        assert Counter(re.findall(pattern, said)) == Counter(re.findall(pattern, task)), pattern
    assert differences(task, said) == []


named = pytest.mark.parametrize("name", [name for name in KEYLESS if "Browser" not in name])


@named
def test_a_task_has_many_wordings_and_each_differs(name: str) -> None:
    env: Any = made(name)
    for task_id in env.unwrapped.task_ids[:8]:
        _, info = env.reset(options={"task_id": task_id})
        task, fixed = split_task(info["instruction"])
        said = [paraphrase(task, index, task_id) for index in range(4)]
        assert len({task, *said}) == 5
        assert not any(differences(task, one) for one in said)
        assert "\n".join([task, *fixed]) == info["instruction"]
    env.close()


def test_each_call_of_the_paraphraser_draws_another_sample_and_lines_under_a_label_stay() -> None:
    roles = TemplateRoles()

    def asked(stream: str, index: int) -> str:
        with use_call(Call(stream, index)):
            return roles.answer("paraphraser", State("", {}), "Find all files below /srv with more than 3 rows.")

    one, again, other = ([asked(stream, index) for index in range(5)] for stream in ("task:0", "task:0", "task:1"))
    assert one == again != other
    assert len(set(one)) == 5
    for task, stays in (("Files that show me a lamp", True), ("show me a lamp", False)):  # an opening opens a sentence
        assert all("show me" in paraphrase(task, index, "") for index in range(9)) is stays
    fixed = ["Evidence: a flight is a row", "of trips"]
    assert split_task("\n".join(["How many flights?", *fixed])) == ("How many flights?", fixed)
    assert [split_task(one) for one in ("Note: just this", "")] == [("Note: just this", []), ("", [])]


@pytest.mark.parametrize(
    ("original", "said", "lost"),
    [
        *(("anything", "", ["everything"]), ("count the .py files", "count the python files", [".py"])),
        *(("a 12 count box", "a box", ["12 count"]), ("a box", "a box of 12", ["12"])),
        *(("under 30.00 dollars", "below $30", []), ("under 30 dollars", "below 30 euros", ["30 $", "30 €"])),
        *(("5 inch screws", "screws of 5 cm", ["5 inch", "5 cm"]), ("the men's and women's", "men and women", [])),
        ("1,000 rows", "1000 lines", ["1000 row", "1000 line"]),
        *(("'main' in /srv", one, lost) for one, lost in (("in /srv 'main'", []), ("in /srv main", ["'main'"]))),
    ],
)
def test_what_a_paraphrase_lost_or_added_is_named(original: str, said: str, lost: list[str]) -> None:
    assert differences(original, said) == lost


def test_the_agent_sees_the_wording_wherever_the_task_stands_and_nothing_else_changes() -> None:
    page = {"question": "How many?", "evidence": "none", "rows": ((1,),)}
    shown = {"instruction": "How many?\nEvidence: none", "page": page, "available_actions": ("say How many?",)}
    info = PublicInfo({**shown, "reward": 1.0}, frozenset({"reward"}))
    seen = {"text": "Question: How many?\nEvidence: none\n> ", "picture": 7}
    state = State(seen, info, history=(Turn("How many? (again)", "How many?", info),), id="x")
    other = "How many? Tell me: how many?"
    told = agent_view(state.worded(f"{other}\nEvidence: none"))
    assert told.observation == {"text": f"Question: {other}\nEvidence: none\n> ", "picture": 7}
    worded = {"instruction": f"{other}\nEvidence: none", "page": {**page, "question": other}}
    assert {key: told.info[key] for key in shown} == {**shown, **worded}
    assert told.history[0][:2] == (f"{other} (again)", "How many?")
    assert told.history[0].info["instruction"] == told.info["instruction"]
    assert told.id == state.id
    with pytest.raises(GoldError):
        told.info.get("reward")
    assert agent_view(state) is state
    assert agent_view(State("a room", {}).worded("Other words")).observation == "a room"


@named
def test_an_agent_acts_on_a_paraphrase_and_the_verifier_sees_the_real_task(name: str) -> None:
    shown, verified, env = list[State](), list[State](), made(name)
    inner, proxy = load_agent(domain_by_id(name).agent or "solution:0.4", env), load_verifier("proxy", env)

    class Listening:
        information = inner.information  # of an agent that knows gold

        def propose(self, state: State, **given: Any) -> Any:
            shown.append(state)
            return inner.propose(state, **given)

    class Watching:
        information, needs_preview = "proxy", True

        def verify(self, state: State, candidates: Any) -> Any:
            verified.extend([state, *(candidate.preview for candidate in candidates)])
            return proxy.verify(state, candidates)

    decision = decide(env, agent=Listening(), verifier=Watching(), strategy="q-guided", n=3)
    observation, original = decision.state.observation, decision.state.info["instruction"]
    said = [state.info["instruction"] for state in shown]
    assert [one == original for one in said] == [True, False, False]
    assert len(set(said)) == 3
    text, unchanged = (one["text"] if isinstance(one, dict) else one for one in (shown[1].observation, observation))
    assert original not in text.replace(said[1], "")  # a paraphrase may have it with a word before it
    assert (said[1] in text) == (original in unchanged)  # where the page has it, it is replaced
    assert {state.info["instruction"] for state in verified} == {original}
    assert all(not candidate.error for candidate in decision.candidates)
    assert "paraphraser answered by template" in decision.notes
    env.close()


def test_a_paraphrase_that_lost_a_number_gives_way_to_the_tasks_own_words_and_the_decision_says_so() -> None:
    shown: list[str] = []

    def agent(observation: str, info: Any) -> str:
        shown.append(info["instruction"])
        return "search[lamp]"

    how: dict[str, Any] = {"agent": agent, "roles": scripted("Find a lamp", "forgetful"), "verifier": "proxy", "n": 2}
    decision = decide(gym.make("IAD/WebShop-v0"), strategy="q-guided", **how)
    assert shown == [decision.state.info["instruction"]] * 2
    (note,) = [note for note in decision.notes if "dropped" in note]
    assert "$" in note
