"""A database in words, the replay agent, the proxy verifier, chains and the vote by result."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird.policy.calibration import WEIGHTS
from iad_envs.bird.policy.rendering import AnswerRendering, DatabaseRendering
from iad_envs.bird.policy.verifier import EMPTY, BirdVerifier, read_preview
from iad_policy import IADPolicyWrapper
from iad_policy.ledger.replay import Replay, read_systems, replay_agent
from iad_policy.prompts.feedback import feedback_text
from iad_policy.roles.paraphrase_check import agent_view
from iad_policy.simulators.llm import Unpredicted
from iad_policy.strategies.building_blocks.voting import majority
from iad_policy.types import Candidate, Feedback, ShownAttempt, ShownTokens, State, Turn
from iad_policy.types.call_context import Call, use_call
from tests.folders import prompts
from tests.iad_envs.bird.small_bird import make_folder

WORDS = DatabaseRendering()


@cache
def played(*actions: str, **options: Any) -> State:
    env = gym.make("IAD/BIRD-v0", **options)
    observation, info = env.reset(options={"task_id": "12"})
    history: list[Turn] = []
    for action in actions:
        history.append(Turn(observation, action, info))
        observation, _, _, _, info = env.step(action)
    env.close()
    return State(observation, info, history=tuple(history), steps_left=10 - len(actions))


def test_the_schema_has_the_form_that_was_asked_for_and_is_told_at_every_step() -> None:
    for schema in ("ddl", "ddl+samples", "m-schema"):
        state = played(schema=schema)
        head, _, body = WORDS.environment(state).partition("\n")
        assert head == "Database: clinic_lab (SQLite)"
        if schema == "ddl+samples":  # in the observation each column of a joint key is one
            assert "PRIMARY KEY (request_id, assay_code)," in body
            assert all(block.count("PRIMARY KEY") <= 1 for block in body.split(";\n"))
        else:
            assert body in state.observation
    first, later = played(), played("execute[SELECT COUNT(*) FROM assay]", "execute[SELECT 2]")
    assert WORDS.environment(first) == WORDS.environment(later)
    values = WORDS.values(later)
    question = "Question: What is the average value of cholesterol?"
    assert values["task"] == f"{question}\nEvidence: cholesterol refers to assay name"
    assert values["observation"] == "execute: 1 row\n2\n2"
    query = "execute[SELECT COUNT(*) FROM assay]"
    assert values["history"].startswith(f"So far:\n1. {query}\n   execute: 1 row\n   COUNT(*)\n")
    assert "\n".join(values.values()).count("CREATE TABLE assay") == 1
    for state in (played("sing"), played("execute[SELECT 2]", "sing")):
        assert "The last action was not valid here and changed nothing: expected execute[SQL]" in WORDS.facts(state)
        assert WORDS.environment(state) == WORDS.environment(first)
    # Where a result is predicted, the schema comes from an earlier turn.
    info = {**first.info, "page": Unpredicted(), "facts": Unpredicted(), "available_actions": ()}
    turn = Turn(first.observation, "execute[SELECT 1]", first.info)
    predicted = State("execute: 1 row\n1\n1", info, history=(turn,))
    assert WORDS.environment(predicted) == WORDS.environment(first)
    assert WORDS.page(predicted) == predicted.observation


def test_findings_are_sentences_and_facts_of_the_environment_s_own_are_not_told() -> None:
    state = played("execute[SELECT AVG(value) FROM result WHERE assay_code = 'cholesterol']")
    findings = "Findings:\n- the result holds only NULL\n- 'cholesterol' is no value of result.assay_code"
    assert WORDS.facts(state) == findings
    text = "\n".join(WORDS.values(state).values())
    assert not any(noise in text for noise in ("has_gold", "severity", "execute:6", "kind:", "('"))
    assert WORDS.facts(played()) == ""
    # A query that only explores is not held against the question.
    sql = "SELECT * FROM patient WHERE name = 'Nobody'"
    explored, answered = played(f"execute[{sql}]"), played(f"submit[{sql}]")
    assert WORDS.facts(explored) == "Findings:\n- the result has no rows\n- 'Nobody' is no value of patient.name"
    assert WORDS.facts(explored) in WORDS.facts(answered)
    assert "the question" in WORDS.facts(answered)
    later = played(f"execute[{sql}]", "sing", "execute[SELECT 2]")
    assert WORDS.turns(later)[1].count("\n") == 1, "after an invalid action, nothing is told of the query before"


def test_only_the_offered_actions_are_named_and_a_paraphrase_stays_in_its_place() -> None:
    state = played()
    assert WORDS.actions(state) == "Possible now: execute[SQL] or submit[SQL]"
    last = replace(state, steps_left=1)
    assert WORDS.steps_left(last) == "Actions left: 1. Without submit[SQL] as the last one, nothing counts."
    answering = replace(last, info={**state.info, "available_actions": ("submit[...]",)})
    assert (WORDS.actions(answering), WORDS.steps_left(answering)) == ("", "")
    wording = "Cholesterol: what is its mean value?\nEvidence: cholesterol refers to assay name"
    state = agent_view(played("execute[SELECT 2]").worded(wording))
    values = WORDS.values(state)
    assert "What is the average" not in "\n".join(values.values())
    assert values["observation"] == "execute: 1 row\n2\n2"


def test_attempts_are_shown_in_the_form_of_an_answer() -> None:
    two_lines = r"SELECT a\1" "\nFROM b -- submit[x]"
    actions = ("submit[SELECT 1]", f"submit[{two_lines}]", f"submit[SELECT {'1, ' * 500}1]")
    row = State("submit: 1 row\n1\n1", {}, key="1")
    first, *others = [ShownAttempt(Candidate(action, key=action)) for action in actions]
    feedback = Feedback(attempts=(replace(first, outcome=row), *others), shown=ShownTokens(action=10))
    assert AnswerRendering().told(feedback) == (
        "Tried 1:\n```sql\nSELECT 1\n```\nResult: 1 row\n1\n1\n"
        f"Tried 2:\n```sql\n{two_lines}\n```\nTried 3: submit[SELECT 1, 1, 1, 1, 1, 1, 1, 1, 1,..."
    )
    best = ShownAttempt(Candidate("submit[SELECT 1]"), "best")
    assert AnswerRendering().told(Feedback(attempts=(best,))) == "Best:\n```sql\nSELECT 1\n```"
    told = feedback_text(feedback, AnswerRendering())
    assert told.startswith("Tried 1: submit[SELECT 1]\nResult: submit: 1 row"), "the log has actions as they are"
    assert WORDS.told(replace(feedback, text=told)) == told
    assert isinstance(prompts("bird/answer").rendering, AnswerRendering)
    assert type(prompts("bird").rendering) is DatabaseRendering


RIGHT = "SELECT COUNT(*) FROM shop JOIN city ON shop.city_id = city.id WHERE city.name = 'Bern'"
AGAIN = "SELECT COUNT(*) FROM shop WHERE city_id = 1"
WRONG = "SELECT COUNT(*) FROM shop WHERE name = 'Bern'"
OTHER = "SELECT COUNT(*) + 1 FROM shop JOIN city ON shop.city_id = city.id WHERE city.name = 'Bern'"
SUSPECT = "SELECT COUNT(*) FROM shop WHERE 'Bern' <> '' AND staff > 2"
SEVERAL = "SELECT staff FROM shop WHERE name <> 'Bern'"
NOTHING = "SELECT id FROM shop WHERE name = 'Bern'"
BROKEN = "SELECT COUNT(*) FROM shops"
PREDICTIONS = {"a": RIGHT, "b": AGAIN, "c": WRONG, "d": BROKEN, "e": WRONG + " AND 1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_folder(tmp_path_factory.mktemp("bird"))
    (folder / "predictions").mkdir()
    for name, sql in PREDICTIONS.items():
        (folder / "predictions" / f"{name}.json").write_text(json.dumps({"7": sql}), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def env(folder: Path) -> Iterator[gym.Env[Any, Any]]:
    env = gym.make("IAD/BIRD-v0", data_dir=folder)
    yield env
    env.close()


def here(env: gym.Env[Any, Any], task_id: str = "7") -> State:
    observation, info = env.reset(options={"task_id": task_id})
    return State(observation, info)


def previewed(env: gym.Env[Any, Any], *queries: str) -> list[Candidate]:
    inner: Any = env.unwrapped
    found = []
    for place, sql in enumerate(queries):
        action = sql if sql.startswith(("execute", "nonsense")) else f"submit[{sql}]"
        outcome = inner.simulate(inner.snapshot(), action)
        preview = State(outcome.observation, outcome.info, done=outcome.done, key=outcome.key, failure=outcome.failure)
        found.append(Candidate(action, key=action, preview=preview, id=str(place)))
    return found


def draw(agent: Replay, state: State, index: int, feedback: Feedback | None = None) -> Candidate:
    with use_call(Call("stream", index, index)):
        return agent.propose(state, feedback=feedback, temperature=None, rng=Random(index))


def test_replay_gives_each_systems_answer_once_and_says_what_is_missing(env: Any, folder: Path, tmp_path: Path) -> None:
    agent, state = replay_agent(env), here(env)
    drawn = [draw(agent, state, index).action for index in range(5)]
    assert sorted(drawn) == sorted(f"submit[{sql}]" for sql in PREDICTIONS.values())
    assert [draw(agent, state, index).action for index in range(6)] == [*drawn, drawn[0]]
    best, worst = Candidate(f"submit[{RIGHT}]"), Candidate(f"submit[{WRONG}]")
    told = [draw(agent, state, index, Feedback(best=best, worst=worst)).action for index in range(10)]
    assert not {best.action, worst.action} & set(told)
    assert "expected a prediction for task 9" in draw(replay_agent(env), here(env, "9"), 0).error
    predictions = folder / "predictions"
    identity = replay_agent(env, predictions).identity
    other = shutil.copytree(predictions, tmp_path / "predictions")
    (other / "a.json").write_text(json.dumps({"7": WRONG}), encoding="utf-8")
    assert replay_agent(env, predictions).identity == identity != replay_agent(env, other).identity
    assert list(read_systems(env, predictions / "c.json")) == ["c"]
    assert list(read_systems(env, str(predictions))) == list(PREDICTIONS)
    with pytest.raises(FileNotFoundError, match=r"expected a file of predictions, got .*nothing"):
        replay_agent(env, folder / "nothing")
    with pytest.raises(FileNotFoundError, match=r"pass --agent replay:PATH"):
        replay_agent(gym.make("CartPole-v1"))
    (tmp_path / "none.json").write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"expected predictions .* got none \(.*none.json, line 1"):
        replay_agent(env, tmp_path / "none.json")


def scores(env: gym.Env[Any, Any], *queries: str, state: State | None = None) -> list[float]:
    state = state or here(env)
    return [verdict.score for verdict in BirdVerifier().verify(state, previewed(env, *queries))]


def test_the_verifier_orders_right_odd_empty_and_failed(env: gym.Env[Any, Any]) -> None:
    state = here(env)
    candidates = previewed(env, RIGHT, SUSPECT, NOTHING, BROKEN)
    verdicts = BirdVerifier(agreement=0.0).verify(state, candidates)
    found = [verdict.score for verdict in verdicts]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 4
    assert (found[-1], all(0.0 <= score <= 1.0 for score in found)) == (0.0, True)
    assert [verdict.passed for verdict in verdicts] == [True, False, False, False]
    assert "the query does not" in verdicts[1].critique
    assert "no such table" in verdicts[3].critique
    # A critique starts with what speaks most against a query. One that only looks need not fit the question.
    weights = [[WEIGHTS.get(one["code"], 0.0) for one in read_preview(member).findings] for member in candidates]
    assert weights == list(map(sorted, weights))
    looks = ("execute[SELECT name FROM city]", "execute[SELECT nam FROM city]")
    wrong, look, failed, several = BirdVerifier().verify(state, previewed(env, WRONG, *looks, SEVERAL))
    assert wrong.details["single_zero"] <= wrong.details["literal_not_found"] < 0.0
    assert all(said in wrong.critique for said in ("the result is a single zero.", "'Bern' is no value of shop.name"))
    assert look.critique == ""
    assert failed.critique.startswith("no such column: nam; near: city.name")
    assert "asks for one number" in several.critique
    with pytest.raises(ValueError, match="expected a preview"):
        BirdVerifier().verify(state, [Candidate("SELECT 1")])


def test_agreement_counts_whoever_is_shown_in_whatever_order(env: gym.Env[Any, Any]) -> None:
    state = here(env)
    candidates = previewed(env, RIGHT, AGAIN, OTHER)
    verifier = BirdVerifier()
    one, again, other = (verdict.score for verdict in verifier.verify(state, candidates))
    assert one == again > other
    assert verifier.verify(state, candidates[:2])[0].score > one > verifier.verify(state, candidates[::2])[0].score
    for order in permutations(range(3)):
        turned = verifier.verify(state, [candidates[place] for place in order])
        assert [verdict.score for verdict in turned] == [(one, again, other)[place] for place in order]
    assert scores(env, RIGHT, OTHER, RIGHT)[::2] == [one, one], "a repetition is a vote, as is a query that looks"
    assert scores(env, RIGHT, f"execute[{AGAIN}]")[0] == scores(env, RIGHT, AGAIN)[0]
    # A vote counts by what speaks against the voter, and less from one that was refined.
    assert scores(env, RIGHT, AGAIN)[0] > scores(env, RIGHT, SUSPECT)[0] > scores(env, RIGHT)[0]
    assert scores(env, RIGHT, BROKEN, NOTHING) == [scores(env, RIGHT)[0], 0.0, EMPTY]
    suspect, clean = scores(env, SUSPECT, OTHER)
    assert clean > suspect
    first, again_first = candidates[:2]
    refined = replace(again_first, feedback=Feedback("", best=first))
    sets = [first], [first, refined], [first, again_first]
    alone, with_refined, with_sample = (verifier.verify(state, shown)[0].score for shown in sets)
    assert alone < with_refined < with_sample
    assert verifier.verify(state, [refined, first])[0].score == with_sample


def test_looking_is_better_than_submitting_a_failure_and_looking_twice_is_worth_less(env: gym.Env[Any, Any]) -> None:
    looks = ["execute[SELECT name FROM city]", "execute[SELECT nam FROM city]", "nonsense"]
    good, *found = scores(env, RIGHT, *looks, NOTHING, BROKEN)
    assert [good, *found] == sorted([good, *found], reverse=True)
    assert len(set(found)) == 5
    last = replace(here(env), steps_left=1)
    assert scores(env, looks[0], WRONG, state=last)[0] == 0.0
    assert scores(env, looks[0], NOTHING, state=last) == [0.0, EMPTY]
    start = here(env)
    first, second = "execute[SELECT name FROM city]", "execute[SELECT id FROM city]"
    observation, *_, info = env.step(first)
    then, *_, later = env.step(second)
    turns = (Turn(start.observation, first, start.info), Turn(observation, second, info))
    asked = ("execute[SELECT name FROM shop]", first, second, BROKEN)
    new, *repeated, failing = scores(env, *asked, state=State(then, later, history=turns))
    assert new > repeated[0] == repeated[1] > failing


def test_the_majority_is_counted_by_result_and_chains_each_give_their_best(env: gym.Env[Any, Any]) -> None:
    here(env)
    candidates = previewed(env, BROKEN, BROKEN, BROKEN, WRONG, RIGHT, AGAIN)
    assert majority(candidates).action == f"submit[{RIGHT}]"
    empties = previewed(env, "SELECT 1 WHERE 0", "SELECT 2 WHERE 0", RIGHT)
    assert majority(empties).action == f"submit[{RIGHT}]"
    assert majority(previewed(env, BROKEN, "SELECT 1 WHERE 0")).action == "submit[SELECT 1 WHERE 0]"
    assert majority([Candidate(None, error="x"), Candidate("SELECT 1")]).action == "SELECT 1"
    for n, k, samples in ((5, 2, 2), (2, 10, 2)):
        with IADPolicyWrapper("replay", env, strategy="chains", n=n, k=k, feedback="best-worst") as policy:
            policy.act(*env.reset(options={"task_id": "7"}))
            (decision,) = policy.decisions
        assert decision.usage.proposals == n
        assert sum(candidate.feedback is None for candidate in decision.candidates) == samples
    policy = IADPolicyWrapper("replay", env, strategy="chains", k=0)
    with policy, pytest.raises(ValueError, match="k, the num"):
        policy.act(*env.reset(options={"task_id": "7"}))
