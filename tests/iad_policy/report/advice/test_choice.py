"""What is taken at which price, by hand; and what the figures say beside it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iad_policy.report.advice.advice_table import AdviceTable
from iad_policy.report.advice.choice import Advice, choose, steps_of
from iad_policy.report.advice.evidence import evidence_of
from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.prediction import OptionForecast, RunnableOption, predict
from iad_policy.report.statistics import Interval
from tests.iad_policy.report.snapshots import printed, require_snapshot

N_DRAWS = 400
RNG = np.random.default_rng(0)


def forecast(success: float, spent: float, *, spread: float = 0.0) -> OptionForecast:
    rates = success + spread * RNG.standard_normal(N_DRAWS)
    known: Any = success, Interval(0, 1), spent, Interval(0, 1), "pilot", rates
    return OptionForecast(*known, np.full(N_DRAWS, spent), np.full(10, success))


SINGLE, TWO, FOUR, WASTE, LIKE_TWO = (
    RunnableOption(*one) for one in (("single", 1), ("bon", 2), ("bon", 4), ("bon-sc", 4), ("iad", 2))
)
FORECASTS = {SINGLE: forecast(0.4, 1), WASTE: forecast(0.45, 4), TWO: forecast(0.5, 2), FOUR: forecast(0.6, 4)}


def test_the_prices_are_where_the_next_option_pays() -> None:
    found = steps_of(FORECASTS)
    assert [one.option for one in found] == [SINGLE, TWO, FOUR]
    assert [one.above for one in found] == pytest.approx([0.0, 10.0, 20.0])
    assert [one.gain for one in found] == [None, pytest.approx(0.1), pytest.approx(0.1)]
    assert [one.share_gaining for one in found] == [None, 1.0, 1.0]
    # 2.8 standard errors of a difference of .1, where tasks are solved by one of both in half of the cases.
    assert found[1].n_to_tell == pytest.approx(7.85 * 0.5 / 0.1**2, rel=0.01)
    assert [one.as_good for one in found] == [(), (), ()]
    alike = {**FORECASTS, LIKE_TWO: forecast(0.5, 2.1)}
    assert [one.as_good for one in steps_of(alike)] == [(), (LIKE_TWO,), ()]
    assert [one.option for one in steps_of({FOUR: FORECASTS[FOUR]})] == [FOUR]


@pytest.mark.parametrize(("worth", "option"), [(0, SINGLE), (9, SINGLE), (11, TWO), (19, TWO), (21, FOUR)])
def test_the_choice_at_a_price_is_the_step_of_that_price(worth: float, option: RunnableOption) -> None:
    found = choose(FORECASTS, worth)
    assert (found.option, found.best, found.as_good) == (option, option, (option,))
    for wrong in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="price of 0 or more"):
            choose(FORECASTS, wrong)


def pilot_of(n_tasks: int, *, n_solved: int = 1) -> Pilot:
    tasks = tuple(map(str, range(n_tasks)))
    success = {task: float(place < n_solved) for place, task in enumerate(tasks)}
    line = PilotLine("single", "", {1: success}, {1: dict.fromkeys(tasks, 1.0)})
    return Pilot("E", "train", "me", tasks, 0, "calls", False, dict.fromkeys(("single", "bon", "iad"), line))


def scored(right: float) -> Pilot:
    """A pilot of one decision, whose verifier gives right attempts a score."""
    tasks = tuple(map(str, range(30)))
    pair = [PilotAttempt(True, right, key="r"), PilotAttempt(False, 0.0, key="w")]
    solved, spent, attempts = dict.fromkeys(tasks, 1.0), dict.fromkeys(tasks, 4.0), {task: [pair] for task in tasks}
    line = PilotLine("bon", "v", {2: solved}, {2: spent}, attempts)
    return Pilot("E", "train", "me", tasks, 0, "calls", True, {"bon": line})


CLEAR = {SINGLE: forecast(0.4, 1), TWO: forecast(0.55, 2, spread=0.03)}
CLOSE = {TWO: forecast(0.52, 2, spread=0.1), SINGLE: forecast(0.5, 1, spread=0.1), FOUR: forecast(0.1, 4)}
WRONG = {TWO: replace(forecast(0.003, 2, spread=0.01), by_task=np.zeros(10)), SINGLE: forecast(0.0, 1, spread=0.01)}
"""No attempt of the pilot is right: what differs is what one more task could show."""


def test_the_advice_is_what_was_looked_at() -> None:
    """What can't be told apart is named, and the cheapest of it taken; few tasks are no reason for prices."""
    cases: dict[str, tuple[Pilot, Mapping[RunnableOption, OptionForecast] | None, float | None]] = {
        "a success": (pilot_of(2), None, None),
        "no success: rewards": (pilot_of(2, n_solved=0), None, None),
        "scores are chances": (scored(1.0), None, None),
        "scores are no chances": (scored(4.0), None, None),
        "one is better": (pilot_of(60), CLEAR, 100),
        "there is one": (pilot_of(60), {SINGLE: CLEAR[SINGLE]}, 100),
        "two are close": (pilot_of(60), CLOSE, 1000),
        "none is right": (pilot_of(60), WRONG, 10_000),
        "two are close, and few tasks": (pilot_of(29), CLOSE, 1000),
        "none is right, and few tasks": (pilot_of(2), WRONG, 10_000),
    }
    shown = []
    for name, (pilot, known, worth) in cases.items():
        found = predict(pilot) if known is None else known
        choice = None if worth is None else choose(found, worth)
        advice = Advice(pilot, 2, evidence_of(pilot), found, steps_of(found), choice)
        shown.append(f"=== {name}\n{printed(AdviceTable(advice, 'run'))}")
    require_snapshot("advice.txt", "\n".join(shown))
