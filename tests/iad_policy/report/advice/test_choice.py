"""What is taken at which price, by hand; and what the figures say beside it."""

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


SINGLE, TWO, FOUR, WASTE = (RunnableOption(*one) for one in (("single", 1), ("bon", 2), ("bon", 4), ("bon-sc", 4)))
FORECASTS = {SINGLE: forecast(0.4, 1), WASTE: forecast(0.45, 4), TWO: forecast(0.5, 2), FOUR: forecast(0.6, 4)}


def test_the_prices_are_where_the_next_option_pays() -> None:
    found = steps_of(FORECASTS)
    assert [one.option for one in found] == [SINGLE, TWO, FOUR]
    assert [one.above for one in found] == pytest.approx([0.0, 10.0, 20.0])
    assert [one.gain for one in found] == [None, pytest.approx(0.1), pytest.approx(0.1)]
    assert [one.share_gaining for one in found] == [None, 1.0, 1.0]
    # 2.8 standard errors of a difference of .1, where tasks are solved by one of both in half of the cases.
    assert found[1].n_to_tell == pytest.approx(7.85 * 0.5 / 0.1**2, rel=0.01)
    assert [one.option for one in steps_of({FOUR: FORECASTS[FOUR]})] == [FOUR]


@pytest.mark.parametrize(("worth", "option"), [(0, SINGLE), (9, SINGLE), (11, TWO), (19, TWO), (21, FOUR)])
def test_the_choice_at_a_price_is_the_step_of_that_price(worth: float, option: RunnableOption) -> None:
    found = choose(FORECASTS, worth)
    assert (found.option, found.share_best) == (option, 1.0)
    assert found.next != option


@pytest.mark.parametrize(("solved", "is_told"), [(0.0, True), (1.0, False)])
def test_a_pilot_without_a_success_is_told_of_rewards(solved: float, is_told: bool) -> None:
    line = PilotLine("single", "", {1: {"a": 0.0, "b": solved}}, {1: {"a": 1.0, "b": 1.0}})
    pilot = Pilot("E", "train", "me", ("a", "b"), 0, "calls", False, {"single": line})
    console = Console(width=200)
    with console.capture() as shown:
        console.print(AdviceTable(Advice(pilot, 2, evidence_of(pilot), predict(pilot), (), None), "run"))
    assert ("--metric reward" in shown.get()) == is_told


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
    console = Console(width=300)
    with console.capture() as shown:
        console.print(AdviceTable(Advice(pilot, 30, evidence_of(pilot), predict(pilot), (), None), "run"))
    assert f"bon: {said}" in shown.get()
    assert ":v are off by 0.0" in shown.get()


def test_what_can_not_be_told_is_not_sure() -> None:
    close = {SINGLE: forecast(0.5, 1, spread=0.1), TWO: forecast(0.52, 1, spread=0.1)}
    found = choose(close, 100)
    assert 0.4 < found.share_best < 0.8
    assert found.n_to_settle is not None
    assert found.n_to_settle > 500
    assert choose({SINGLE: FORECASTS[SINGLE]}, 5).next is None
    for worth in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="price of 0 or more"):
            choose(FORECASTS, worth)
