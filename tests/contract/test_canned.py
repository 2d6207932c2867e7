"""Strategies are generators without I/O: a dictionary of canned answers drives them, without driver or environment."""

import math
from dataclasses import replace
from typing import Any

import pytest

from iad_policy import Propose, State, Verdict, Verify
from iad_policy.strategies import load_strategy
from tests.contract.canned import HERE, canned, drive, seen_by
from tests.contract.components import STRATEGIES

DELTA = {"strategy": "iad", "delta": 1.0}


@pytest.mark.parametrize(
    ("how", "committed_of"),
    [
        ("single", {("a",): "a"}),
        ("bon", {("a", "ccc", "bb"): "ccc", ("aa", "bb", "c"): "aa", ("", "", "a"): "a"}),
        ("bon-sc", {("a", "b", "b"): "b", ("b", "a", "c"): "b", ("", "", "a"): "a", ("", "", ""): ""}),
        ("iad", {("a", "bbb", "cc"): "bbb", ("aa", "bb", "a"): "aa", ("", "a", "b"): "a"}),
        ("iad-delta", {("a", "bb", "c"): "bb"}),
        (DELTA, {("a", "bb", "cccc"): "cccc", ("a", "bb", "cc"): "a"}),
        ("iad-best-worst-judge", {("a", "bb", "c"): "bb"}),
        ("iad-judge", {("a", "bb", "ccc"): "ccc"}),
    ],
)
def test_canned_answers_drive_a_strategy_without_a_driver(how: Any, committed_of: dict[tuple[str, ...], str]) -> None:
    strategy = load_strategy(**{"n": 3, **(STRATEGIES[how] if isinstance(how, str) else how)})
    assert {said: drive(strategy(HERE), canned(*said)) for said in committed_of} == {
        said: [committed] for said, committed in committed_of.items()
    }


def test_a_lifted_strategy_starts_each_decision_afresh_until_the_episode_is_done() -> None:
    strategy = load_strategy("single")
    assert drive(strategy(HERE), canned("a", "b", "c"), n_commits=3) == ["a", "b", "c"]
    assert list(strategy(State("end", {}, done=True))) == []


def test_iad_shows_the_verifier_all_that_it_tried_and_the_agent_best_and_worst() -> None:
    answers, hints = seen_by(canned("a", "bbb", "cc"), Propose)
    answers, verified = seen_by(answers, Verify)
    drive(load_strategy("iad", n=3)(HERE), answers)
    assert [[one.action for one in request.candidates] for request in verified] == [
        ["a"],
        ["a", "bbb"],
        ["a", "bbb", "cc"],
    ]
    found = [
        (hint.best and hint.best.action, hint.worst and hint.worst.action)
        for hint in (one.feedback for one in hints[1:])
    ]
    assert (hints[0].feedback, found) == (None, [("a", None), ("bbb", "a")])


def test_a_verdict_that_is_revised_counts_in_its_last_form() -> None:
    rounds = iter([{"a": 0.9}, {"a": 0.1, "b": 0.2}, {"a": 0.8, "b": 0.3, "c": 0.4}])

    def verify(request: Verify) -> Any:
        scores = next(rounds)
        return [replace(one, verdict=Verdict(scores[one.action])) for one in request.candidates]

    assert drive(load_strategy("iad", n=3)(HERE), {**canned("a", "b", "c"), Verify: verify}) == ["a"]


def test_a_usable_candidate_beats_an_unusable_one_though_its_verification_failed() -> None:
    for name in ("iad", "bon"):
        answers = canned("", "a", "")
        answers[Verify] = lambda request: [replace(c, verdict=Verdict(-math.inf)) for c in request.candidates]
        assert drive(load_strategy(name, n=3)(HERE), answers) == ["a"]
