"""Recorded actions are replayed in the environment, and what fails at one attempt does not touch the others."""

import math
from typing import Any

import gymnasium as gym
import pytest

from iad_envs.core import Score, Snapshot
from iad_policy.ledger.predictions.formats import ActionsOnly
from iad_policy.ledger.predictions.prediction_files import RecordedAttempt
from iad_policy.report.predictions.scored_files import NO_GOLD, replayed, replays
from iad_policy.report.predictions.scoring import UNFINISHED
from tests.iad_policy.toy_lamp import Lamp, LampEnv

FORM = ActionsOnly(LampEnv())


def attempt(task: str, *actions: Any) -> RecordedAttempt:
    return RecordedAttempt(task, actions, f"file, {task}")


class FragileLamp(LampEnv):
    """Breaks where it is painted green, has no gold for blue, and counts how often it is made and closed."""

    made: list["FragileLamp"]
    closed: list["FragileLamp"]

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)

    def step(self, action: str) -> Any:
        if action == "paint[green]":
            raise RuntimeError("no green")
        return super().step(action)

    def _score(self, task: Lamp, now: Snapshot, memory: Any) -> Score:
        score = super()._score(task, now, memory)
        return score._replace(reward=math.nan, progress=math.nan) if task.task_id == "blue" else score

    def close(self) -> None:
        self.closed.append(self)


@pytest.fixture
def fragile() -> type[FragileLamp]:
    return type("Fragile", (FragileLamp,), {"made": [], "closed": []})


def test_an_attempt_gets_what_an_agent_with_these_actions_would() -> None:
    env = LampEnv()
    one = replayed(env, attempt("red", "paint[blue]", "sing", "paint[red]", "leave[now]", "paint[blue]"), FORM)
    assert (one.success, one.verdict, one.n_unused, one.error) == (1.0, "done", 1, "")
    assert one.scores == {"reward": 1.0, "grounding": 4 / 5, "progress": 1.0}
    assert replayed(env, attempt("red", "leave[now]"), FORM).success == 0.0
    assert replayed(env, attempt("red", 5, None, "leave[now]"), FORM).scores["grounding"] == 2 / 4
    limited = replayed(LampEnv(max_steps=2), attempt("red", *["paint[blue]"] * 4), FORM)
    assert (limited.verdict, limited.n_unused) == ("max_steps", 2)


def test_too_few_actions_count_with_what_they_reached() -> None:
    one, nothing = replayed(LampEnv(), attempt("red", "paint[red]"), FORM), replayed(LampEnv(), attempt("red"), FORM)
    assert (one.verdict, one.scores["progress"], one.scores["reward"]) == (UNFINISHED, 1.0, 0.0)
    assert (nothing.verdict, nothing.success, nothing.scores["grounding"]) == (UNFINISHED, 0.0, 1.0)


def test_an_environment_without_ids_success_and_progress_is_replayed_by_its_seed() -> None:
    env = gym.make("CartPole-v1")
    attempts = [RecordedAttempt("any", (0,) * 100, "file", seed=seed) for seed in (1, 1, 2)]
    one, same, other = (replayed(env, attempt, ActionsOnly(env)) for attempt in attempts)
    assert one == same
    assert (one.n_unused, one.scores) != (other.n_unused, other.scores)
    assert (one.success, one.verdict) == (None, "terminated")
    assert set(one.scores) == {"reward", "grounding"}


def test_what_fails_at_one_attempt_does_not_touch_the_others(fragile: type[FragileLamp]) -> None:
    attempts = [attempt("red", "leave[now]"), attempt("red", "paint[green]"), attempt("red", "paint[red]")]
    found = dict(replays(attempts, FORM, fragile, 1))
    assert [found[place].error for place in range(3)] == ["", "crash", ""]
    assert found[1].message == "RuntimeError: no green"
    assert (len(fragile.made), sorted(map(id, fragile.made))) == (2, sorted(map(id, fragile.closed)))
    no_gold = replayed(fragile(), attempt("blue", "leave[now]"), FORM)
    assert (no_gold.error, no_gold.success, no_gold.scores) == (NO_GOLD, None, {})


def test_several_workers_return_every_attempt_at_its_place() -> None:
    attempts = [attempt("red", "paint[red]" if place % 3 else "paint[blue]", "leave[now]") for place in range(30)]
    for workers in (1, 4):
        found = dict(replays(attempts, FORM, LampEnv, workers))
        assert [found[place].success for place in range(30)] == [float(place % 3 > 0) for place in range(30)]
