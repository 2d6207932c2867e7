"""The rule-based linker: what it reads, what it writes, and that it knows no more than an agent may."""

from contextlib import closing
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import gymnasium as gym
import pytest
from hypothesis import given
from hypothesis import strategies as st

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird.policy.agent import BirdAgent
from iad_envs.bird.policy.query import Query, joined, read_query
from iad_envs.bird.policy.question import Join, read_question, schema_of, stem
from iad_policy import Candidate, Feedback, IADPolicyWrapper, State, evaluate
from iad_policy.agents import load_agent
from iad_policy.errors import GoldError
from iad_policy.types import PublicInfo, Turn

FOLDER = Path(__file__).resolve().parents[4] / "data" / "bird"
GOLD = frozenset({"progress", "success", "reward_parts"})


def table(name: str, columns: str, **keys: str) -> dict[str, Any]:
    """A table as data: its columns with type and sample values, the key first, and where its foreign keys lead."""
    found = []
    for place, (column, kind, *values) in enumerate(one.split() for one in columns.split(";")):
        said = {"name": column, "type": kind, "is_key": place == 0, "full_name": column.replace("_", " ")}
        found.append({**said, "description": "", "value_description": "", "values": tuple(values)})
    ends = [(column, *end.split(".")) for column, end in keys.items()]
    foreign = [{"table": name, "column": start, "to_table": to, "to_column": end} for start, to, end in ends]
    return {"name": name, "columns": tuple(found), "foreign_keys": tuple(foreign)}


TABLES = (
    table("port", "port_id INTEGER; name TEXT Brill Ulm"),
    table(
        "boat",
        "boat_id INTEGER; name TEXT Ada; length INTEGER; kind TEXT S M; sunk_on DATE; built_on DATE; port_id INTEGER",
        port_id="port.port_id",
    ),
    table(
        "voyage",
        "voyage_id INTEGER; boat_id INTEGER; from_id INTEGER; to_id INTEGER",
        boat_id="boat.boat_id",
        from_id="port.port_id",
        to_id="port.port_id",
    ),
)
SAILING = "sailing refers to kind = 'S'"


def page(question: str = "How many boats are there?", evidence: str = "", **others: Any) -> dict[str, Any]:
    empty = {"kind": "question", "sql": "", "columns": (), "rows": (), "n_rows": 0, "tables": TABLES}
    return {**empty, "question": question, "evidence": evidence, **others}


def state(shown: dict[str, Any], **others: Any) -> State:
    info = PublicInfo({"instruction": shown["question"], "page": shown}, GOLD)
    return State("", info, **{"steps_left": 10, **others})


def proposals(at: State, feedback: Feedback | None = None, *, heat: float = 1.0, n: int = 60) -> list[str]:
    agent = BirdAgent(temperature=heat)
    return [agent.propose(at, feedback=feedback, temperature=None, rng=Random(seed)).action for seed in range(n)]


@pytest.mark.parametrize(
    ("question", "evidence", "sql"),
    [
        ("How many boats are there?", "", "COUNT(*) FROM boat"),
        ("How many sailing boats are there?", SAILING, "COUNT(*) FROM boat WHERE boat.kind = 'S'"),
        ("What is the average length of the sailing boats?", SAILING,
         "AVG(boat.length) FROM boat WHERE boat.kind = 'S'"),
        ("What is the name of the longest boat?", "longest refers to MAX(length)",
         "boat.name FROM boat ORDER BY boat.length DESC LIMIT 1"),
        ("Which kinds have more than 3 boats?", "more than 3 boats refers to COUNT(boat_id) > 3",
         "boat.kind FROM boat GROUP BY boat.kind HAVING COUNT(boat.boat_id) > 3"),
        ("What percentage of the boats is sailing?",
         f"{SAILING}; percentage = DIVIDE(SUM(kind = 'S'), COUNT(kind)) * 100",
         "CAST(SUM(CASE WHEN boat.kind = 'S' THEN 1 ELSE 0 END) AS REAL) * 100 / COUNT(boat.kind) FROM boat"),
        ("How many boats were built between 2001-01-01 and 2001-12-31?", "",
         "COUNT(*) FROM boat WHERE boat.built_on BETWEEN '2001-01-01' AND '2001-12-31'"),
        ("How many boats were built between 2001-01-01 and 2001-12-31?", "time refers to sunk_on",
         "COUNT(*) FROM boat WHERE boat.sunk_on BETWEEN '2001-01-01' AND '2001-12-31'"),
        ("How many voyages did sailing boats make?", SAILING,
         "COUNT(*) FROM voyage INNER JOIN boat ON voyage.boat_id = boat.boat_id WHERE boat.kind = 'S'"),
    ],
)  # fmt: skip
def test_a_cold_linker_writes_what_plain_wordings_ask_for(question: str, evidence: str, sql: str) -> None:
    at = state(page(question, evidence))
    assert set(proposals(at, heat=0.0, n=5)) == {f"submit[SELECT {sql}]"}


def test_questions_evidence_and_conditions_are_read_by_their_parts() -> None:
    evidence = (
        "sailing refers to kind = 'S'; longest refers to MAX(length); harbour refers to port name; "
        "many refers to COUNT(boat_id) > 3; share = DIVIDE(SUM(kind = 'S'), COUNT(boat_id))"
    )
    kinds = [clue.kind for clue in read_question("Which?", evidence).clues]
    assert kinds == ["condition", "extreme", "column", "having", "formula"]
    asked = read_question("When did the boat Ada of Brill leave after 2001-05-06? Give the day.", "")
    assert (asked.names, asked.days) == (("Ada of Brill",), ("2001-05-06",))
    roots = {"boats": "boat", "copies": "copy", "opened": "open", "pass": "pass"}
    assert {word: stem(word) for word in roots} == roots
    where = ("boat.length BETWEEN 3 AND 9", "boat.boat_id NOT IN (SELECT boat_id FROM voyage WHERE to_id = 1 AND 1)")
    query = Query("COUNT(*)", "boat", where=where)
    assert read_query(query.text()) == query
    assert query.tables() == ["boat"]


def test_a_warm_linker_varies_and_the_same_draw_gives_the_same_query() -> None:
    at = state(page("How many sailing boats are there?", SAILING))
    warm = proposals(at)
    assert len(set(warm)) > 10
    assert warm == proposals(at)
    assert {action.partition("[")[0] for action in warm} == {"execute", "submit"}
    for temperature in (-1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="expected a temperature of 0 or more"):
            BirdAgent(temperature=temperature)


def test_it_reads_what_an_agent_may_see_and_nothing_else() -> None:
    at = state(page())
    with pytest.raises(GoldError):
        at.info["success"]
    assert proposals(at) == proposals(state(page(), gold={"reference": {"sql": "SELECT 1"}}))


def test_it_remembers_the_schema_of_the_first_page_and_says_so_without_one() -> None:
    later = page(kind="execute", sql="SELECT 1", tables=(), rows=())
    at = state(later, history=(Turn("", "execute[SELECT 1]", {"page": page()}),))
    assert schema_of(at) == schema_of(state(page()))
    assert all("FROM" in action for action in proposals(at))
    candidate = BirdAgent().propose(state(page(tables=())), feedback=None, temperature=None, rng=Random(0))
    assert "expected a schema" in candidate.error


def test_what_it_looked_at_is_submitted_if_it_says_something_and_replaced_if_not() -> None:
    sql = "SELECT COUNT(*) FROM boat"
    first = (Turn("", f"execute[{sql}]", {"page": page()}),)
    good = state(page(kind="execute", sql=sql, tables=(), rows=((4,),)), history=first)
    assert set(proposals(good)) == {f"submit[{sql}]"}
    for rows in ((), ((0,),), ((None,),)):
        bad = state(page(kind="execute", sql=sql, tables=(), rows=rows), history=first)
        assert all(sql != action.partition("[")[2][:-1] for action in proposals(bad))


def test_a_refined_query_keeps_a_part_of_best_and_is_neither_best_nor_worst() -> None:
    best = "SELECT COUNT(*) FROM boat WHERE boat.kind = 'S'"
    worst = "SELECT COUNT(*) FROM boat"
    shown = {"best": Candidate(f"submit[{best}]"), "worst": Candidate(f"submit[{worst}]")}
    at = state(page("How many sailing boats are there?", SAILING))
    actions = proposals(at, Feedback("Score: 0.1", **shown))
    assert actions == proposals(at, Feedback("Score: 0.9", **shown))
    queries = [action.removeprefix("submit[")[:-1] for action in actions]
    assert not {best, worst} & set(queries)
    parts = ("boat.kind = 'S'", "SELECT COUNT(*)", " FROM boat")
    assert sum(any(part in sql for part in parts) for sql in queries) > 0.8 * len(queries)
    assert len(set(queries)) > 10
    unread = Feedback("", best=Candidate("submit[WITH x AS (SELECT 1) SELECT * FROM x]"))
    assert all(" FROM x" not in action for action in proposals(state(page()), unread))


@given(st.integers(0, 10_000), st.sampled_from(["How many voyages?", "Which port has the most voyages?", "List all."]))
def test_every_query_it_writes_can_be_read_back_and_joins_what_it_names(seed: int, question: str) -> None:
    at = state(page(question, "long refers to length > 10"))
    action = BirdAgent(temperature=2.0).propose(at, feedback=None, temperature=None, rng=Random(seed)).action
    sql = action.partition("[")[2][:-1]
    query = read_query(sql)
    assert query is not None
    assert query.text() == sql
    reached = {query.base, *(end for join in query.joins for end in (join.table, join.to_table))}
    assert set(query.tables()) <= reached


def test_of_two_keys_between_tables_the_preferred_one_is_taken() -> None:
    schema = schema_of(state(page()))
    assert schema is not None
    query = Query("port.name", "voyage")
    for name in ("from_id", "to_id"):
        chosen = joined(query, schema, [Join("voyage", name, "port", "port_id")])
        assert chosen is not None
        assert chosen.text() == f"SELECT port.name FROM voyage INNER JOIN port ON voyage.{name} = port.port_id"


@pytest.mark.parametrize(("n_seeds", "n_tasks"), [(2, 30), pytest.param(5, 100, marks=pytest.mark.slow)])
def test_the_bundled_questions_tell_methods_apart(n_seeds: int, n_tasks: int) -> None:
    given: dict[str, Any] = {"tasks": n_tasks, "data_dir": str(FOLDER), "cache": False}
    records = evaluate("IAD/BIRD-v0", ["single"], agent="linker", seed=list(range(n_seeds)), **given).records["single"]

    def share(difficulty: str = "") -> float:
        return mean(float(one.success or 0.0) for one in records if difficulty in ("", one.difficulty))

    assert len(records) == n_seeds * n_tasks
    assert 0.2 <= share() <= 0.6
    any_of_them = len({one.task_id for one in records if one.success}) / n_tasks
    assert any_of_them >= share() + (0.15 if n_seeds == 5 else 0.01)
    assert n_seeds == 2 or share("challenging") < share("simple")
    by_chance = evaluate("IAD/BIRD-v0", ["single"], agent="random", **given).records["single"]
    assert mean(float(one.success or 0.0) for one in by_chance) < 0.05


@pytest.mark.parametrize("strategy", ["single", "iad"])
def test_in_the_mode_answer_it_submits_once_per_task(strategy: str) -> None:
    with closing(gym.make("IAD/BIRD-v0", data_dir=FOLDER, mode="answer")) as env:
        policy = IADPolicyWrapper("linker", env, strategy=strategy, n=3)
        n_right = 0
        for seed in range(12):
            observation, info = env.reset(seed=seed)
            action = policy.act(observation, info)
            assert all(candidate.action.startswith("submit[") for candidate in policy.decisions[-1].candidates)
            _, _, terminated, truncated, info = env.step(action)
            assert (terminated, truncated, info["invalid_action"]) == (True, False, False)
            n_right += info["success"]
        assert 0 < n_right < 12
        assert load_agent("linker:0.5", env).identity == "linker:0.5"  # type: ignore[attr-defined]
