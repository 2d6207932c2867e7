"""Tasks in other words: what a paraphrase keeps, who is shown it, and what is done with one that lost something."""

import re
from collections import Counter
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from iad_policy import Candidate, IADPolicyWrapper, State
from iad_policy.agents import load_agent
from iad_policy.errors import GoldError
from iad_policy.registry.domain import domain_by_id
from iad_policy.roles import TemplateRoles
from iad_policy.roles.paraphrase_check import agent_view, differences
from iad_policy.roles.rule_paraphraser import ANYWHERE, OPENINGS, paraphrase
from iad_policy.strategies.building_blocks.paraphrases import split_task
from iad_policy.types import PublicInfo, Turn
from iad_policy.types.call_context import Call, use_call
from iad_policy.verifiers import load_verifier
from tests.contract.rule_based import KEYLESS, made
from tests.contract.toy import Digger, Task

WORDS = st.sampled_from(
    [
        *(phrase for group in (*OPENINGS, *ANYWHERE) for phrase in group),
        *("the", "red", "chair", "and", "its", "legs", "under", "in", "with", "of", "rows", "that", "who"),
        *("Find", "Me", "Count", "It", "I", "?", ".", ";", ":", ","),
    ]
)
NUMBERS = st.one_of(
    st.integers(0, 10**6).map(str),
    st.decimals(0, 9999, places=2).map(str),
    st.integers(1000, 10**6).map(lambda number: f"{number:,}"),
)
AMOUNTS = st.one_of(
    NUMBERS,
    st.tuples(NUMBERS, st.sampled_from(["dollars", "inch", "oz", "count", "pack", "days", "cm"])).map(" ".join),
    NUMBERS.map(lambda number: f"${number}"),
    NUMBERS.map(lambda number: f"{number}%"),
)
QUOTES = st.tuples(st.sampled_from(["'{}'", '"{}"', "`{}`"]), WORDS).map(lambda pair: pair[0].format(pair[1]))
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


@pytest.mark.parametrize("name", [name for name in KEYLESS if "Browser" not in name])
def test_a_task_has_many_wordings_and_each_differs(name: str) -> None:
    env = made(name)
    inner: Any = env.unwrapped
    for task_id in inner.task_ids[:20]:
        _, info = env.reset(options={"task_id": task_id})
        task, fixed = split_task(info["instruction"])
        said = [paraphrase(task, index, task_id) for index in range(4)]
        assert len({task, *said}) == 5
        assert not any(differences(task, one) for one in said)
        assert "\n".join([task, *fixed]) == info["instruction"]
    env.close()


def test_each_call_of_the_paraphraser_draws_another_sample_and_the_same_call_the_same() -> None:
    roles = TemplateRoles()

    def asked(index: int, stream: str = "task:0") -> str:
        with use_call(Call(stream, index)):
            return roles.answer("paraphraser", State("", {}), "Find all files below /srv with more than 3 rows.")

    said = [asked(index) for index in range(5)]
    assert len(set(said)) == 5
    assert said == [asked(index) for index in range(5)]
    assert [asked(index, "task:1") for index in range(5)] != said


@pytest.mark.parametrize(
    ("original", "said", "lost"),
    [
        ("chairs under 30.00 dollars", "seats below $30", []),
        ("chairs under 30.00 dollars", "seats below 30 euros", ["30 $", "30 €"]),
        ("a 12 count box", "a box", ["12 count"]),
        ("a box", "a box of 12", ["12"]),
        ("5 inch screws", "screws of 5 cm", ["5 inch", "5 cm"]),
        ("1,000 rows", "1000 lines", ["1000 row", "1000 line"]),
        ("files with 'main' in /srv", "files in /srv with 'main'", []),
        ("files with 'main' in /srv", "files in /srv with main", ["'main'"]),
        ("count the .py files", "count the python files", [".py"]),
        ("the men's and the women's shoes", "shoes for men and women", []),
        ("anything", "", ["everything"]),
    ],
)
def test_what_a_paraphrase_lost_or_added_is_named(original: str, said: str, lost: list[str]) -> None:
    assert differences(original, said) == lost


def test_lines_under_a_label_are_not_paraphrased() -> None:
    fixed = ["Evidence: a flight is a row", "of trips"]
    assert split_task("\n".join(["How many flights?", *fixed])) == ("How many flights?", fixed)
    assert split_task("Note: just this") == ("Note: just this", [])
    assert split_task("") == ("", [])


def test_the_agent_sees_the_wording_wherever_the_task_stands_and_nothing_else_changes() -> None:
    info = PublicInfo(
        {
            "instruction": "How many?\nEvidence: none",
            "page": {"question": "How many?", "evidence": "none", "rows": ((1,),)},
            "available_actions": ("say How many?",),
            "reward": 1.0,
        },
        frozenset({"reward"}),
    )
    seen = {"text": "Question: How many?\nEvidence: none\n> ", "picture": 7}
    state = State(seen, info, history=(Turn("How many? (again)", "How many?", info),), id="x")
    told = agent_view(state.worded("How many? Tell me: how many?\nEvidence: none"))
    assert told.observation == {"text": "Question: How many? Tell me: how many?\nEvidence: none\n> ", "picture": 7}
    assert told.info["instruction"] == "How many? Tell me: how many?\nEvidence: none"
    assert told.info["page"] == {"question": "How many? Tell me: how many?", "evidence": "none", "rows": ((1,),)}
    assert told.info["available_actions"] == ("say How many?",)
    assert told.history[0][:2] == ("How many? Tell me: how many? (again)", "How many?")
    assert told.history[0].info["instruction"] == told.info["instruction"]
    assert told.id == state.id
    with pytest.raises(GoldError):
        told.info.get("reward")
    assert agent_view(state) is state
    assert agent_view(State("a room", {}).worded("Other words")).observation == "a room"


@pytest.mark.parametrize("name", [name for name in KEYLESS if "Browser" not in name])
def test_agents_of_all_environments_act_on_a_paraphrase_and_the_verifier_sees_the_real_task(name: str) -> None:
    shown: list[State] = []
    verified: list[State] = []
    env = made(name)

    class Listening:
        def __init__(self, agent: Any) -> None:
            self._agent = agent
            self.information = agent.information  # of an agent that knows gold

        def propose(self, state: State, **given: Any) -> Candidate:
            shown.append(state)
            candidate: Candidate = self._agent.propose(state, **given)
            return candidate

    class Watching:
        information, needs_preview = "proxy", True

        def __init__(self, verifier: Any) -> None:
            self._verifier = verifier

        def verify(self, state: State, candidates: Any) -> Any:
            verified.extend([state, *(candidate.preview for candidate in candidates)])
            return self._verifier.verify(state, candidates)

    agent = Listening(load_agent(domain_by_id(name).agent, env))
    options: dict[str, Any] = {"verifier": Watching(load_verifier("proxy", env)), "strategy": "q-guided", "n": 3}
    with IADPolicyWrapper(agent, env, **options) as policy:  # type: ignore[arg-type]  # a verifier as tests make them
        observation, info = env.reset(seed=1)
        policy.act(observation, info)
        (decision,) = policy.decisions
    original = info["instruction"]
    assert [state.info["instruction"] == original for state in shown] == [True, False, False]
    assert len({state.info["instruction"] for state in shown}) == 3
    text = shown[1].observation["text"] if isinstance(observation, dict) else shown[1].observation
    assert original not in text.replace(
        shown[1].info["instruction"], ""
    )  # a paraphrase may have it with a word before it
    unchanged = observation["text"] if isinstance(observation, dict) else observation
    assert (shown[1].info["instruction"] in text) == (original in unchanged)  # where the page has it, it is replaced
    assert {state.info["instruction"] for state in verified} == {original}
    assert all(not candidate.error for candidate in decision.candidates)
    assert "paraphraser answered by template" in decision.notes
    env.close()


def test_a_paraphrase_that_lost_a_number_gives_way_to_the_tasks_own_words_and_the_decision_says_so() -> None:
    class Forgetful(TemplateRoles):
        source = "a model"

        def answer(self, role: str, state: State, subject: Any) -> str:
            return f"Find the {subject.split()[-1]}" if "3" in subject else "dig there"

    class Holes(Task):
        @property
        def instruction(self) -> str:
            return f"Dig 3 holes at the {self.landmark}"

    class Numbered(Digger):
        def __init__(self) -> None:
            super().__init__()
            self._tasks = {landmark: Holes(landmark) for landmark in self._tasks}

    shown: list[str] = []

    def agent(observation: str, info: Any) -> str:
        shown.append(info["instruction"])
        return "go north"

    env = Numbered()
    options: dict[str, Any] = {"roles": Forgetful(), "verifier": load_verifier("oracle", env), "n": 2}
    with IADPolicyWrapper(agent, env, strategy="q-guided", **options) as policy:
        observation, info = env.reset(seed=0)
        policy.act(observation, info)
        assert shown == [info["instruction"]] * 2
        (note,) = [note for note in policy.decisions[0].notes if "dropped" in note]
        assert note == "a paraphrase was dropped, the task's own words are kept: it differs in 3"
