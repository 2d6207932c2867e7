"""The rule-based agent of the booking site: what it solves, what it reads, and what it makes of feedback."""

import json
import shutil
from functools import cache
from pathlib import Path
from random import Random

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.booking.policy.agent import QUESTION, BookingAgent, choices_of
from iad_policy import Candidate, Feedback, IADPolicyWrapper, State
from iad_policy.types import ShownAttempt
from tests.iad_envs.booking.policy.visits import FINISHED, Visit, tasks_with, wandering

DATA = Path(__file__).parents[4] / "data" / "booking"


def proposal(at: State, seed: int = 0, feedback: Feedback | None = None, temperature: float | None = None) -> str:
    found = BookingAgent().propose(at, feedback=feedback, temperature=temperature, rng=Random(seed)).action
    assert isinstance(found, str)
    return found


@cache
def played(temperature: float) -> dict[str, Visit]:
    """One episode of each test task."""
    found = {}
    for task_id in gym.make("IAD/Booking-v0").unwrapped.task_ids[::3]:  # type: ignore[attr-defined]
        visit, rng = Visit(task_id), Random(task_id)
        agent = BookingAgent(temperature=temperature)
        while not visit.state.done:
            visit.did(agent.propose(visit.state, feedback=None, temperature=None, rng=rng).action)
        found[task_id] = visit
    return found


def solved(temperature: float, difficulty: str = "") -> float:
    found = [bool(one.gold["success"]) for one in played(temperature).values() if difficulty in one.task.difficulty]
    return sum(found) / len(found)


def test_a_cold_booker_solves_almost_all_and_a_warm_one_some_and_chance_none() -> None:
    assert solved(0.0) >= 0.95
    assert 0.2 <= solved(1.0) <= 0.6
    assert solved(1.0, "hard") < solved(1.0, "easy")
    env = gym.make("IAD/Booking-v0")
    with IADPolicyWrapper("random", env, strategy="single") as policy:
        successes = []
        for task_id in env.unwrapped.task_ids[::8]:  # type: ignore[attr-defined]
            observation, info = env.reset(options={"task_id": task_id})
            while not info["stop_reason"]:
                observation, _, _, _, info = env.step(policy.act(observation, info))
            successes.append(info["success"])
    assert sum(successes) / len(successes) < 0.05


def test_all_that_it_does_is_valid() -> None:
    turns = [turn for visit in played(1.0).values() for turn in (*visit.state.history[1:], visit.state)]
    assert len(turns) > 600
    assert [turn.info["facts"]["complaint"] for turn in turns if turn.info["invalid_action"]] == []


def test_a_seed_has_one_action_and_seeds_have_several() -> None:
    for task_id in ("test-000", "test-120"):
        visit = Visit(task_id).did_until("CLICK [slot-")
        drawn = [proposal(visit.state, seed, temperature=1.0) for seed in range(20)]
        assert drawn == [proposal(visit.state, seed, temperature=1.0) for seed in range(20)]
        assert len(set(drawn)) > 1
        assert len({proposal(visit.state, seed, temperature=0.0) for seed in range(20)}) == 1


def test_it_takes_the_next_fit_action_after_those_that_were_tried() -> None:
    for task_id in ("test-000", "test-120", "test-199"):
        visit = Visit(task_id).did_until("CLICK [slot-")
        tried: list[Candidate] = []
        for _ in choices_of(visit.state):
            best = tried[0] if tried else None
            told = tuple(map(ShownAttempt, tried))
            feedback = Feedback(attempts=told, best=best, worst=tried[-1]) if tried and best else None
            action = proposal(visit.state, len(tried), feedback, 1.0)
            assert action not in [one.action for one in tried]
            tried.append(Candidate(action))
        feedback = Feedback("", best=tried[1], worst=tried[0], attempts=tuple(map(ShownAttempt, tried)))
        assert proposal(visit.state, 0, feedback) == tried[1].action  # there is no other


def test_best_and_worst_alone_are_not_repeated() -> None:
    visit = Visit("test-000").did_until("CLICK [complete]")
    feedback = Feedback("", best=Candidate(FINISHED), worst=Candidate("CLICK [home]"))
    state = Visit("test-000").state
    assert proposal(visit.state) == FINISHED
    choices = choices_of(state)
    first = max(choices, key=choices.__getitem__)
    second = Feedback("", best=Candidate(first), worst=Candidate("CLICK [nothing]"))
    assert {proposal(state, seed, second, 1.0) for seed in range(30)}.isdisjoint({first})
    assert proposal(visit.state, 0, feedback) != FINISHED or len(choices_of(visit.state)) == 1


def test_it_asks_once_where_the_seating_is_open_and_follows_the_answer() -> None:
    for task_id in tasks_with("hidden_seating")[:3]:
        visit = Visit(task_id).did_until("ASK")
        assert proposal(visit.state, temperature=0.0) == QUESTION
        visit.did(QUESTION)
        assert visit.page["answer"]
        assert proposal(visit.state, temperature=0.0) == f"CLICK [seat-{visit.task.seating}]"


def test_it_holds_the_new_table_before_it_cancels_the_old_one() -> None:
    visit = Visit(tasks_with("move")[0])
    while not visit.state.done:
        action = proposal(visit.state, temperature=0.0)
        assert action != "CLICK [cancel-yes]" or visit.page["hold"]
        visit.did(action)
    assert [one["is_cancelled"] for one in visit.page["reservations"]] == [True, False]


def test_a_wrong_detail_is_emptied_before_the_right_one_is_typed() -> None:
    visit = Visit("test-000").did_until("TYPE [phone]").did("TYPE [phone] [555-9]")
    seen = {proposal(visit.state, seed, temperature=0.5) for seed in range(30)}
    assert "CLEAR [phone]" in seen
    assert not any(action.startswith("TYPE [phone]") for action in seen)


def test_wherever_it_finds_itself_it_has_an_idea() -> None:
    rng = Random(2)
    for task_id in ("test-003", "test-199"):
        visit = Visit(task_id)
        for _ in wandering(visit, rng):
            choices = choices_of(visit.state)
            assert choices
            assert all(0.0 < fit < 2.0 for fit in choices.values())
            for action in choices:
                preview = visit.tried(action).preview
                assert preview is not None
                assert not preview.info["invalid_action"], (action, preview.info["facts"]["complaint"])


@pytest.fixture(scope="module")
def other_gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled tasks with gold that says something else."""
    folder = tmp_path_factory.mktemp("booking")
    shutil.copy(DATA / "world.json", folder)
    lines = []
    for line in (DATA / "tasks.jsonl").read_text(encoding="utf-8").splitlines():
        task = json.loads(line)
        wrong = {"day": "2026-06-29", "time": "03:33", "party": 8, "seating": "booth", "gold_slots": ["03:33"]}
        wrong["restaurant"] = "juniper-bellmere"
        if not task["own"]:  # the site knows the user of a reservation
            wrong["user"] = {"first_name": "No", "last_name": "One", "phone": "0000000", "email": "no@example.org"}
        lines.append(json.dumps({**task, **wrong}))
    (folder / "tasks.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("task_id", ["test-000", "test-090", "test-199"])
def test_with_other_gold_it_and_the_verifier_do_the_same(other_gold: Path, task_id: str) -> None:
    one, other, rng = Visit(task_id), Visit(task_id, other_gold), Random(task_id)
    assert one.task.gold_slots != other.task.gold_slots
    while not one.state.done:
        seed = rng.randrange(1000)
        action = proposal(one.state, seed, None, 1.0)
        assert proposal(other.state, seed, None, 1.0) == action
        for tried in choices_of(one.state):
            assert one.verdict(tried) == other.verdict(tried)
        one.did(action)
        other.did(action)
    assert other.state.observation == one.state.observation
