"""Attempts are scored, recorded actions by a replay. Their figures: who counts, votes, and the usual statistics."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import pytest
from rich.text import Text

from iad_envs.core import Score, Snapshot
from iad_policy.ledger.predictions.formats import ActionsOnly
from iad_policy.ledger.predictions.prediction_files import PredictionFile, RecordedAttempt
from iad_policy.report.predictions.score_table import ScoreTable
from iad_policy.report.predictions.scored_files import NO_GOLD, replayed, replays
from iad_policy.report.predictions.scoring import UNFINISHED, ScoredAttempt, ScoredFile, ScoringRules, figures_of
from iad_policy.report.statistics import bootstrap_mean, mcnemar_exact, pass_at_k, wilson
from tests.iad_policy.report.snapshots import printed, require_snapshot
from tests.iad_policy.toy_lamp import Lamp, LampEnv

TASKS = {"a": "easy", "b": "easy", "c": "hard", "d": "hard"}


class Voting(ActionsOnly):
    """Votes by result, and names success otherwise."""

    headings: Mapping[str, str] = {"success": "right", "progress": "progress"}

    def majority_right(self, results: Sequence[str], is_right: Sequence[bool]) -> float:  # type: ignore[override]
        ((winner, n), *others) = Counter(results).most_common()
        return float(is_right[results.index(winner)]) if not others or others[0][1] < n else 0.5


FORM = Voting(LampEnv())


def scored(task: str, success: float, **more: Any) -> ScoredAttempt:
    recorded = RecordedAttempt(task, ("x",), f"file, {task}", arm=more.pop("arm", ""))
    scores = {"progress": success / 2, "reward": success}
    return ScoredAttempt(recorded, success, **({"scores": scores, "verdict": "done"} | more))


def file(arm: str, *attempts: ScoredAttempt, **more: Any) -> ScoredFile:
    read = PredictionFile(Path(f"{arm}.jsonl"), [one.attempt for one in attempts], **more)
    return ScoredFile(read, arm, attempts)


def shown(scores: Any, headings: Mapping[str, str] = Voting.headings) -> str:
    return printed(ScoreTable(scores, Text("Lamps, 4 tasks"), headings, ["A note."]))


def test_a_task_without_a_prediction_is_wrong_or_left_out() -> None:
    files = [file("mine", scored("a", 1.0), scored("b", 1.0), scored("c", 0.0))]
    wrong, left_out = (figures_of(files, FORM, TASKS, ScoringRules(rule)) for rule in ("wrong", "left-out"))
    one, other = wrong.arms["mine"], left_out.arms["mine"]
    assert one.figures.success == (0.5, wilson(2, 4), 4)
    assert other.figures.success == (pytest.approx(2 / 3), wilson(2, 3), 3)
    assert one.missing == other.missing == ["d"]
    assert one.scores["progress"].value == 0.25
    assert one.scores["progress"].interval_95 == bootstrap_mean([0.5, 0.5, 0.0, 0.0])
    levels = [(name, level.n, level.success) for name, level in one.by_difficulty.items()]
    assert levels == [("easy", 2, 1.0), ("hard", 2, 0.0)]
    assert other.by_difficulty["hard"].n == 1
    lines = {line["task_id"]: line for line in wrong.lines()}
    assert (lines["d"]["success"], lines["d"]["n_missing"], lines["d"]["attempts"]) == (0.0, 1, [])
    assert {line["task_id"]: line["success"] for line in left_out.lines()}["d"] is None


def test_an_attempt_that_could_not_be_scored_is_neither_wrong_nor_missing() -> None:
    failed = ScoredAttempt(RecordedAttempt("b", (), "file, line 2"), error="crash", message="it broke")
    one: Any = figures_of([file("mine", scored("a", 1.0), failed)], FORM, {"a": "", "b": ""}).arms["mine"]
    assert (one.figures.success.value, one.n_missing, one.errors, one.by_difficulty) == (1.0, 0, {"crash": 1}, {})


def test_files_are_samples_and_each_is_expected_to_have_every_task() -> None:
    files = [
        file("all", scored("a", 1.0, result="x"), scored("b", 0.0, result="y")),
        file("all", scored("a", 1.0, result="x"), scored("b", 1.0, result="z")),
        file("all", scored("a", 0.0, result="w")),
    ]
    one = figures_of(files, FORM, {"a": "", "b": ""}, ScoringRules(ks=(1, 2, 3))).arms["all"]
    assert (one.n_attempts, one.n_missing, one.missing) == (5, 1, [])
    assert one.figures.pass_at[2].value == (pass_at_k(3, 2, 2) + pass_at_k(3, 1, 2)) / 2
    assert one.figures.pass_hat[2].value == (1 / 3 + 0) / 2
    assert one.majority_at[1].value == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert one.majority_at[3].value == (1.0 + 0.5) / 2
    left_out = figures_of(files, FORM, {"a": "", "b": ""}, ScoringRules("left-out", ks=(2, 3))).arms["all"]
    assert left_out.figures.pass_at[3].n_tasks == 1
    assert left_out.majority_at[2].n_tasks == 2
    # A missing task of a file with several attempts is wrong in all of them.
    attempts = [scored("a", 1.0, result="x"), scored("a", 1.0, result="x"), scored("b", 0.0), scored("b", 1.0)]
    one = figures_of([file("mine", *attempts)], FORM, {"a": "", "b": "", "c": "", "d": ""}).arms["mine"]
    assert (one.n_missing, one.figures.n_tasks, one.figures.n_samples) == (2, 4, 8)
    assert (one.figures.pass_at[2].value, one.figures.pass_at[2].n_tasks) == (0.5, 4)
    assert one.figures.pass_hat[2].value == 0.25
    assert one.majority_at[2].n_tasks == 4


def test_votes_of_many_groups_are_drawn_and_the_same_every_time() -> None:
    files = [file("all", scored("a", float(place % 3 == 0), result=str(place % 3))) for place in range(12)]
    found = [figures_of(files, FORM, {"a": ""}, ScoringRules(ks=(6,))).arms["all"].majority_at[6] for _ in range(2)]
    assert found[0] == found[1]
    assert 0.2 < found[0].value < 0.5


def test_arms_are_compared_on_the_same_tasks() -> None:
    one = file("one", *(scored(task, 1.0) for task in TASKS))
    two = file("two", scored("a", 0.0), scored("b", 0.0), scored("c", 1.0), scored("d", 0.0))
    found = figures_of([one, two], FORM, TASKS)
    difference: Any = found.comparison.differences["two"]
    assert (difference.baseline, difference.success.value, difference.success.p) == ("one", -0.75, mcnemar_exact(0, 3))
    assert difference.metrics["progress"].value == -0.375
    left_out = figures_of([one, file("two", scored("a", 0.0))], FORM, TASKS, ScoringRules("left-out"))
    assert left_out.comparison.differences["two"].n_unpaired == 3
    # Lines may name their arms.
    attempts = [scored(task, 1.0, arm=arm) for task in TASKS for arm in ("x", "y")]
    found = figures_of([file("file", *attempts)], FORM, TASKS)
    assert {name: own.n_missing for name, own in found.arms.items()} == {"x": 0, "y": 0}


def test_the_tables_and_the_json_are_those_that_were_looked_at() -> None:
    """What is missing, failed, unfinished, unused, unknown or unread; files as samples; a vote; and rewards alone."""
    three = [scored("a", 1.0), scored("b", 1.0), scored("c", 0.0, verdict=UNFINISHED, n_unused=2)]
    failed = ScoredAttempt(RecordedAttempt("d", (), "file, line 2"), error="crash", message="it broke")
    read = {"unknown": ["x"] * 20, "problems": ["file, line 3: no JSON"] * 12, "notes": ["Note 1"]}
    samples = [file("all", scored("a", 1.0, result="x"), scored("b", place / 2, result=str(place))) for place in (0, 2)]
    rewarded = [ScoredAttempt(scored(task, 1.0).attempt, None, {"reward": 2.0}) for task in ("0", "1")]
    two = file("two", *(scored(task, float(task == "c")) for task in TASKS))
    cases = {
        "wrong": figures_of([file("mine", *three)], FORM, TASKS),
        "left out": figures_of([file("mine", *three), two], FORM, TASKS, ScoringRules("left-out")),
        "troubles": figures_of([file("mine", *three, failed, **read), file("empty")], FORM, TASKS),
        "samples": figures_of(samples, FORM, {"a": "", "b": "", "c": ""}, ScoringRules(ks=(1, 2))),
        "compared": figures_of([file("one", *(scored(task, 1.0) for task in TASKS)), two], FORM, TASKS),
    }
    texts = [f"=== {name}\n{shown(found)}" for name, found in cases.items()]
    alone = figures_of([file("mine", *rewarded)], ActionsOnly(LampEnv()), {})
    assert (alone.arms["mine"].figures.success, alone.comparison.score) == (None, "reward")
    texts.append(f"=== rewards\n{shown(alone, ActionsOnly.headings)}")
    require_snapshot("score_table.txt", "\n".join(texts))
    require_snapshot("scores.json", cases["troubles"].as_json())


def test_without_a_score_the_reasons_are_named() -> None:
    broken = ScoredAttempt(scored("a", 1.0).attempt, error="crash", message="it broke")
    with pytest.raises(ValueError, match=r"no JSON; mine\.jsonl: no task 'x'; file, a: it broke"):
        figures_of([file("mine", broken, problems=["file, line 1: no JSON"], unknown=["x"])], FORM, TASKS)


def attempt(task: str, *actions: Any) -> RecordedAttempt:
    return RecordedAttempt(task, actions, f"file, {task}")


class FragileLamp(LampEnv):
    """Breaks where it is painted green, has no gold for blue, and counts how often it is made and closed."""

    made: ClassVar[list[Any]] = []
    closed: ClassVar[list[Any]] = []

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


def test_what_fails_at_one_attempt_does_not_touch_the_others() -> None:
    attempts = [attempt("red", "leave[now]"), attempt("red", "paint[green]"), attempt("red", "paint[red]")]
    found = dict(replays(attempts, FORM, FragileLamp, 1))
    assert [found[place].error for place in range(3)] == ["", "crash", ""]
    assert found[1].message == "RuntimeError: no green"
    assert (len(FragileLamp.made), sorted(map(id, FragileLamp.made))) == (2, sorted(map(id, FragileLamp.closed)))
    no_gold = replayed(FragileLamp(), attempt("blue", "leave[now]"), FORM)
    assert (no_gold.error, no_gold.success, no_gold.scores) == (NO_GOLD, None, {})


def test_several_workers_return_every_attempt_at_its_place() -> None:
    attempts = [attempt("red", "paint[red]" if place % 3 else "paint[blue]", "leave[now]") for place in range(30)]
    for workers in (1, 4):
        found = dict(replays(attempts, FORM, LampEnv, workers))
        assert [found[place].success for place in range(30)] == [float(place % 3 > 0) for place in range(30)]
