"""The rule-based agent of the booking site: what it solves, what it reads, and what it makes of feedback."""

from random import Random

from iad_envs.booking.env import BookingEnv
from iad_envs.booking.policy.agent import QUESTION, BookingAgent, choices_of
from iad_policy import Candidate, Feedback, State
from iad_policy.types import ShownAttempt
from tests.iad_envs.booking.policy.visits import Visit, tasks_with, wandering


def proposal(at: State, seed: int = 0, feedback: Feedback | None = None, temperature: float | None = None) -> str:
    found = BookingAgent().propose(at, feedback=feedback, temperature=temperature, rng=Random(seed)).action
    assert isinstance(found, str)
    return found


def test_a_cold_booker_solves_almost_all_and_a_warm_one_some_and_all_that_it_does_is_valid() -> None:
    task_ids = BookingEnv().task_ids[::3]
    solved: dict[float, dict[str, bool]] = {0.0: {}, 1.0: {}}
    for temperature, found in solved.items():
        for task_id in task_ids:
            visit, rng = Visit(task_id), Random(task_id)
            agent = BookingAgent(temperature=temperature)
            while not visit.state.done:
                visit.did(agent.propose(visit.state, feedback=None, temperature=None, rng=rng).action)
            found[task_id] = visit.gold["success"]
            turns = [*visit.state.history[1:], visit.state]
            assert not any(turn.info["invalid_action"] for turn in turns), task_id
    shares = [sum(found.values()) / len(found) for found in solved.values()]
    assert shares[0] >= 0.95
    assert 0.2 <= shares[1] <= 0.6
    easy, hard = (
        [solved[1.0][name] for name in task_ids if BookingEnv().tasks[name].difficulty == difficulty]
        for difficulty in ("easy", "hard")
    )
    assert sum(hard) / len(hard) < sum(easy) / len(easy)


def test_a_seed_has_one_action_and_seeds_have_several() -> None:
    visit = Visit("test-120").did_until("CLICK [slot-")
    drawn = [proposal(visit.state, seed, temperature=1.0) for seed in range(20)]
    assert drawn == [proposal(visit.state, seed, temperature=1.0) for seed in range(20)]
    assert len(set(drawn)) > 1
    assert len({proposal(visit.state, seed, temperature=0.0) for seed in range(20)}) == 1


def test_it_takes_the_next_fit_action_after_those_that_were_tried() -> None:
    visit = Visit("test-120").did_until("CLICK [slot-")
    tried: list[Candidate] = []
    for _ in choices_of(visit.state):
        told = tuple(map(ShownAttempt, tried))
        feedback = Feedback(attempts=told, best=tried[0], worst=tried[-1]) if tried else None
        action = proposal(visit.state, len(tried), feedback, 1.0)
        assert action not in [one.action for one in tried]
        tried.append(Candidate(action))
    feedback = Feedback("", best=tried[1], worst=tried[0], attempts=tuple(map(ShownAttempt, tried)))
    assert proposal(visit.state, 0, feedback) == tried[1].action  # there is no other
    alone = Feedback("", best=tried[0], worst=tried[1])  # best and worst alone aren't repeated either
    assert {proposal(visit.state, seed, alone, 1.0) for seed in range(30)}.isdisjoint(
        [tried[0].action, tried[1].action]
    )


def test_it_asks_once_where_the_seating_is_open_and_follows_the_answer() -> None:
    visit = Visit(tasks_with("hidden_seating")[0]).did_until("ASK")
    assert proposal(visit.state, temperature=0.0) == QUESTION
    visit.did(QUESTION)
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
