"""The replay agent, the proxy verifier, chains and the vote by result, on a small data folder and in between."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird.policy.calibration import WEIGHTS
from iad_envs.bird.policy.verifier import EMPTY, BirdVerifier, read_preview
from iad_policy import Candidate, Feedback, IADPolicyWrapper, State
from iad_policy.ledger.replay import Replay, read_systems, replay_agent
from iad_policy.strategies.building_blocks.voting import majority
from iad_policy.types import Turn
from iad_policy.types.call_context import Call, use_call
from tests.iad_envs.bird.small_bird import make_folder

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


def test_replay_gives_every_systems_answer_once_in_a_lasting_order_and_something_else_after_feedback(
    env: gym.Env[Any, Any],
) -> None:
    agent, state = replay_agent(env), here(env)
    drawn = [draw(agent, state, index).action for index in range(5)]
    assert sorted(drawn) == sorted(f"submit[{sql}]" for sql in PREDICTIONS.values())
    assert [draw(agent, state, index).action for index in range(6)] == [*drawn, drawn[0]]
    best, worst = Candidate(f"submit[{RIGHT}]"), Candidate(f"submit[{WRONG}]")
    told = [draw(agent, state, index, Feedback(best=best, worst=worst)).action for index in range(10)]
    assert not {best.action, worst.action} & set(told)
    assert "expected a prediction for task 9" in draw(replay_agent(env), here(env, "9"), 0).error


def test_replay_reads_a_file_or_a_folder_is_named_by_it_and_says_what_is_missing(
    env: gym.Env[Any, Any], folder: Path, tmp_path: Path
) -> None:
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
    alone, with_refined, with_sample = (
        verifier.verify(state, shown)[0].score for shown in ([first], [first, refined], [first, again_first])
    )
    assert alone < with_refined < with_sample
    assert verifier.verify(state, [refined, first])[0].score == with_sample


def test_looking_again_is_better_than_submitting_what_is_known_to_fail(env: gym.Env[Any, Any]) -> None:
    looks = ["execute[SELECT name FROM city]", "execute[SELECT nam FROM city]", "nonsense"]
    good, *found = scores(env, RIGHT, *looks, NOTHING, BROKEN)
    assert [good, *found] == sorted([good, *found], reverse=True)
    assert len(set(found)) == 5
    last = replace(here(env), steps_left=1)
    assert scores(env, looks[0], WRONG, state=last)[0] == 0.0
    assert scores(env, looks[0], NOTHING, state=last) == [0.0, EMPTY]


def test_a_query_that_was_executed_before_is_worth_less(env: gym.Env[Any, Any]) -> None:
    start = here(env)
    first, second = "execute[SELECT name FROM city]", "execute[SELECT id FROM city]"
    observation, *_, info = env.step(first)
    then, *_, later = env.step(second)
    turns = (Turn(start.observation, first, start.info), Turn(observation, second, info))
    asked = ("execute[SELECT name FROM shop]", first, second, BROKEN)
    new, *repeated, failing = scores(env, *asked, state=State(then, later, history=turns))
    assert new > repeated[0] == repeated[1] > failing


def test_the_majority_is_counted_by_result_without_failures(env: gym.Env[Any, Any]) -> None:
    here(env)
    candidates = previewed(env, BROKEN, BROKEN, BROKEN, WRONG, RIGHT, AGAIN)
    assert majority(candidates).action == f"submit[{RIGHT}]"
    empties = previewed(env, "SELECT 1 WHERE 0", "SELECT 2 WHERE 0", RIGHT)
    assert majority(empties).action == f"submit[{RIGHT}]"
    assert majority(previewed(env, BROKEN, "SELECT 1 WHERE 0")).action == "submit[SELECT 1 WHERE 0]"
    assert majority([Candidate(None, error="x"), Candidate("SELECT 1")]).action == "SELECT 1"


def test_chains_share_the_proposals_and_each_gives_its_best(env: gym.Env[Any, Any]) -> None:
    for n, k, samples in ((5, 2, 2), (2, 10, 2)):
        with IADPolicyWrapper("replay", env, strategy="chains", n=n, k=k, feedback="best-worst") as policy:
            policy.act(*env.reset(options={"task_id": "7"}))
            (decision,) = policy.decisions
        assert decision.usage.proposals == n
        assert sum(candidate.feedback is None for candidate in decision.candidates) == samples
    policy = IADPolicyWrapper("replay", env, strategy="chains", k=0)
    with policy, pytest.raises(ValueError, match="k, the num"):
        policy.act(*env.reset(options={"task_id": "7"}))
