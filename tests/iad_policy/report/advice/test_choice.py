"""What is taken at which price, by hand; and what the figures say beside it."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from iad_policy.report.advice.advice_table import AdviceTable
from iad_policy.report.advice.choice import Advice, choose, steps_of
from iad_policy.report.advice.evidence import evidence_of
from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.prediction import OptionForecast, RunnableOption, predict
from iad_policy.report.statistics import Interval

N_DRAWS = 400
RNG = np.random.default_rng(0)


def forecast(success: float, spent: float, *, spread: float = 0.0) -> OptionForecast:
    rates = success + spread * RNG.standard_normal(N_DRAWS)
    return OptionForecast(
        success, Interval(0, 1), spent, Interval(0, 1), "pilot", rates, np.full(N_DRAWS, spent), np.full(10, success)
    )


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


def printed(pilot: Pilot, predictions: Mapping[RunnableOption, OptionForecast], worth: float | None = None) -> str:
    """What is printed, as one line."""
    choice = None if worth is None else choose(predictions, worth)
    console = Console(width=300)
    with console.capture() as shown:
        console.print(
            AdviceTable(Advice(pilot, 2, evidence_of(pilot), predictions, steps_of(predictions), choice), "run")
        )
    return " ".join(shown.get().split())


def pilot_of(n_tasks: int, *, n_solved: int = 1) -> Pilot:
    tasks = tuple(map(str, range(n_tasks)))
    success = {task: float(place < n_solved) for place, task in enumerate(tasks)}
    line = PilotLine("single", "", {1: success}, {1: dict.fromkeys(tasks, 1.0)})
    return Pilot("E", "train", "me", tasks, 0, "calls", False, dict.fromkeys(("single", "bon", "iad"), line))


@pytest.mark.parametrize("n_solved", [0, 1])
def test_a_pilot_without_a_success_is_told_of_rewards(n_solved: int) -> None:
    pilot = pilot_of(2, n_solved=n_solved)
    assert ("--metric reward" in printed(pilot, predict(pilot))) == (n_solved == 0)


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (1.0, "as chances of success its scores are off by 0.000 on average; those of calibrated:"),
        (4.0, "its scores are no chances of success; those of calibrated:"),
    ],
)
def test_the_verifier_that_has_chances_is_named(right: float, said: str) -> None:
    tasks = tuple(map(str, range(30)))
    pair = [PilotAttempt(True, right, key="r"), PilotAttempt(False, 0.0, key="w")]
    line = PilotLine(
        "bon", "v", {2: dict.fromkeys(tasks, 1.0)}, {2: dict.fromkeys(tasks, 4.0)}, {t: [pair] for t in tasks}
    )
    pilot = Pilot("E", "train", "me", tasks, 0, "calls", True, {"bon": line})
    shown = printed(pilot, predict(pilot))
    assert f"bon: {said}" in shown
    assert "a perfect verifier of 2 attempts adds +0.500; no other adds more" in shown
    assert ":v are off by 0.0" in shown


CLEAR = {SINGLE: forecast(0.4, 1), TWO: forecast(0.55, 2, spread=0.03)}
CLOSE = {TWO: forecast(0.52, 2, spread=0.1), SINGLE: forecast(0.5, 1, spread=0.1), FOUR: forecast(0.1, 4)}
WRONG = {TWO: replace(forecast(0.003, 2, spread=0.01), by_task=np.zeros(10)), SINGLE: forecast(0.0, 1, spread=0.01)}
"""No attempt of the pilot is right: what differs is what one more task could show."""
CANT_TELL = "take single, the cheapest. These {} tasks can't tell it from bon with n = 2."
TELLING = " To tell it from bon with n = 2 takes {} tasks."


@pytest.mark.parametrize(
    ("n_tasks", "predictions", "worth", "said", "has_prices"),
    [
        (60, CLEAR, 100, "take bon with n = 2. No other option is as good on these 60 tasks.", True),
        (60, {SINGLE: CLEAR[SINGLE]}, 100, "take single. No other", True),
        (60, CLOSE, 1000, CANT_TELL.format(60) + TELLING.format("more than 1,000"), True),
        (60, WRONG, 10_000, CANT_TELL.format(60) + TELLING.format("more than 1,000"), True),
        (29, CLOSE, 1000, CANT_TELL.format(29) + " FEW TASKS", False),
        (2, WRONG, 10_000, CANT_TELL.format(2) + " FEW TASKS", False),
    ],
)
def test_what_can_not_be_told_apart_is_named_and_the_cheapest_of_it_taken(
    n_tasks: int, predictions: Mapping[RunnableOption, OptionForecast], worth: float, said: str, has_prices: bool
) -> None:
    shown = printed(pilot_of(n_tasks), predictions, worth)
    assert f"If a success is worth {worth:,} calls: {said}" in shown
    assert ("What to take, by what a success is worth" in shown) == has_prices
    assert ("is said from 30 on" in shown) == (not has_prices)


@pytest.mark.parametrize("worth", [-1.0, float("nan"), float("inf")])
def test_a_price_is_a_number(worth: float) -> None:
    with pytest.raises(ValueError, match="price of 0 or more"):
        choose(FORECASTS, worth)
