"""Predictions hold at the rate that they state, on worlds whose truth is known."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.prediction import BETWEEN, MODEL, PILOT, TREND, RunnableOption, predict
from tests.iad_policy.report.advice.synthetic_pilots import WORLDS, Replicate, replicate


def coverage(world: str, seeds: Sequence[int], ns: Sequence[int]) -> dict[RunnableOption, list[Replicate]]:
    found: defaultdict[RunnableOption, list[Replicate]] = defaultdict(list)
    for seed in seeds:
        for option, one in replicate(world, seed, ns=ns).items():
            found[option].append(one)
    return found


@pytest.mark.parametrize("world", ["wide", "hard"])
def test_half_of_the_tasks_predict_the_other_half(world: str) -> None:
    """Of all predictions together, within the pilot's n and beyond."""
    found = coverage(world, range(8), (2, 4, 16))
    shares = [one.is_covered for own in found.values() for one in own]
    assert np.mean(shares) > 0.85
    for own in found.values():
        assert abs(np.mean([one.forecast.success - one.came for one in own])) < 0.1


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("world", sorted(WORLDS))
def test_500_replicates_are_covered_at_the_nominal_rate(world: str) -> None:
    """95 % within the pilot's n, less what 500 replicates may show by chance; less beyond, as no world is the model."""
    found = coverage(world, range(500), (2, 4, 16))
    for option, own in found.items():
        share = np.mean([one.is_covered for one in own])
        assert share >= (0.92 if own[0].forecast.source == PILOT else 0.87), (option, share)


def pilot(
    success: dict[str, dict[int, list[float]]],
    *,
    attempts: dict[str, dict[str, list[list[PilotAttempt]]]] | None = None,
) -> Pilot:
    n_tasks = len(next(iter(next(iter(success.values())).values())))
    tasks = tuple(f"t{place}" for place in range(n_tasks))
    lines = {
        name: PilotLine(
            name,
            "",
            {n: dict(zip(tasks, own, strict=True)) for n, own in by_n.items()},
            {n: dict.fromkeys(tasks, 2.0 * n) for n in by_n},
            (attempts or {}).get(name, {}),
            starts_at_reference=name != "search",
        )
        for name, by_n in success.items()
    }
    return Pilot("E", "train", "a", tasks, 0, "calls", attempts is not None, lines)


def test_episodes_of_several_decisions_are_read_between_their_n_and_followed_beyond() -> None:
    given = pilot({"single": {1: [0.0] * 60 + [1.0] * 40}, "tree": {4: [0.0] * 20 + [1.0] * 80}})
    found = predict(given, ns=(2, 8, 16))
    assert [one.source for option, one in found.items() if option.line == "tree"] == [BETWEEN, PILOT, TREND, TREND]
    assert found[RunnableOption("tree", 2)].success == pytest.approx(0.6, abs=0.02)
    last, beyond = found[RunnableOption("tree", 4)], found[RunnableOption("tree", 8)]
    # From no further change to the same change again, which is that of the log odds per doubling of n.
    again = 1 / (1 + np.exp(-(np.log(4) + (np.log(4) + np.log(1.5)) / 2)))
    assert last.success < beyond.success < again
    assert np.std(beyond.rates) > 1.1 * np.std(last.rates)
    assert found[RunnableOption("tree", 16)].spent == pytest.approx(32)


def test_grades_have_narrower_intervals_than_successes_and_are_not_modelled_beyond_the_pilot() -> None:
    grades = [0.5 + 0.1 * (place % 3) for place in range(60)]
    own = {f"t{place}": [[PilotAttempt(value, 1.0, key="a"), PilotAttempt(value - 0.2, 0.0, key="b")]]
           for place, value in enumerate(grades)}  # fmt: skip
    given = pilot({"bon": {2: grades}}, attempts={"bon": own})
    of_success, of_reward = (predict(replace(given, metric=metric), ns=(1, 2, 4)) for metric in ("success", "reward"))
    one, two, four = (of_reward[RunnableOption("bon", n)] for n in (1, 2, 4))
    assert [one.source, two.source, four.source] == [PILOT, PILOT, TREND]
    assert (one.success, two.success) == (pytest.approx(0.5, abs=0.01), pytest.approx(0.6, abs=0.01))
    assert two.success < four.success < 0.7
    width = two.success_95.high - two.success_95.low
    binary = of_success[RunnableOption("bon", 2)].success_95
    assert width < 0.6 * (binary.high - binary.low)
    assert two.grain < 0.1 < 1.0 == of_success[RunnableOption("bon", 2)].grain


def test_nothing_is_said_of_an_n_that_no_row_leads_to() -> None:
    assert list(predict(pilot({"tree": {4: [0.0, 1.0]}}))) == [RunnableOption("tree", 4)], "one n, no reference"
    found = predict(pilot({"single": {1: [0.0, 1.0]}, "search": {4: [0.0, 1.0]}}))  # its n counts something else
    assert list(found) == [RunnableOption("single", 1), RunnableOption("search", 4)]
    found = predict(pilot({"tree": {4: [0.0, 1.0], 8: [1.0, 1.0]}}), ns=(2, 6))
    assert list(found) == [RunnableOption("tree", n) for n in (4, 6, 8)]
    attempts = {f"t{place}": [[PilotAttempt(True, 1.0, key="r")] if place < 5 else []] for place in range(10)}
    once = predict(pilot({"bon": {1: [1.0] * 5 + [0.0] * 5}}, attempts={"bon": attempts}), ns=(1, 2))
    assert list(once) == [RunnableOption("bon", 1)], "one attempt shows no change"
    assert once[RunnableOption("bon", 1)].success == pytest.approx(0.5, abs=0.02), "without an attempt it has failed"
    for given, said in (({"ns": (2, 1000)}, "n of at most 256, got 1000"), ({"n_tasks": 0}, "1 further task or more")):
        with pytest.raises(ValueError, match=said):
            predict(pilot({"single": {1: [0.0, 1.0]}}), **given)


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_attempts_that_are_all_right_equally_often_follow_their_rate_beyond_the_pilot(rate: float) -> None:
    """A verifier that knows solves a task with 1 - (1 - rate)^n, which is near the upper end of the model."""
    rng = np.random.default_rng(1)
    right, wrong = PilotAttempt(True, 1.0, key="r"), PilotAttempt(False, 0.0, key="w")
    tasks = [f"t{place}" for place in range(2000)]
    attempts = {task: [[right if rng.random() < rate else wrong for _ in range(4)]] for task in tasks}
    found = predict(pilot({"bon": {4: [0.0] * 2000}}, attempts={"bon": attempts}), ns=(2, 4, 8, 16))
    for n, option in ((2, found[RunnableOption("bon", 2)]), (4, found[RunnableOption("bon", 4)])):
        assert option.success == pytest.approx(1 - (1 - rate) ** n, abs=0.03)
        assert option.source == PILOT
    for n, option in ((8, found[RunnableOption("bon", 8)]), (16, found[RunnableOption("bon", 16)])):
        low, high = np.quantile(option.rates, [0.0, 1.0])
        assert low < 1 - (1 - rate) ** n - 0.03 < high
        assert high == pytest.approx(1 - (1 - rate) ** n, abs=0.07)
        assert option.source == MODEL


def test_a_lucky_first_sample_is_no_advantage_of_a_chain() -> None:
    """By chance every first sample was right, though half of all are: a chain that keeps them is not better."""
    right, wrong = PilotAttempt(True, 1.0, key="r"), PilotAttempt(False, 0.0, key="w")
    tasks = [f"t{place}" for place in range(40)]
    luck = [place % 4 != 0 for place in range(40)]
    own = {task: [[right, wrong] if lucky else [wrong, right]] for task, lucky in zip(tasks, luck, strict=True)}
    chains = {task: [[one[0][0], wrong]] for task, one in own.items()}
    firsts = {task: [one[0][:1]] for task, one in own.items()}
    success = {
        "single": {1: [float(one) for one in luck]},
        "bon": {2: [1.0] * 40},
        "iad": {2: [float(one) for one in luck]},
    }
    found = predict(pilot(success, attempts={"single": firsts, "bon": own, "iad": chains}), ns=(2,))
    assert found[RunnableOption("single", 1)].success == pytest.approx(0.5, abs=0.02)
    assert found[RunnableOption("iad", 2)].success == pytest.approx(0.5, abs=0.02)
    assert found[RunnableOption("bon", 2)].success > 0.95


def test_intervals_hold_what_the_pilot_and_so_many_further_tasks_do_not_show() -> None:
    found = predict(pilot({"single": {1: [0.0] * 10}}), n_tasks=10)[RunnableOption("single", 1)]
    assert found.success_95.low == 0.0
    assert found.success_95.high >= 0.2, "no success in a small pilot is not predicted for sure"
    given = pilot({"single": {1: [0.0, 1.0] * 50}})
    widths = [np.ptp(predict(given, n_tasks=n)[RunnableOption("single", 1)].success_95) for n in (20, 2000)]
    assert widths[0] > 1.5 * widths[1] > 0.1  # what the pilot does not know is left


def test_one_task_won_and_none_lost_is_no_certainty() -> None:
    """One more of each kind is in the draws: as often as a vote of 1 to 0 for the better one, .82 to .88."""
    given = pilot({"single": {1: [0.0] * 12}, "tree": {4: [1.0] + [0.0] * 11}})
    found = predict(given, ns=(4,))
    gain = found[RunnableOption("tree", 4)].rates - found[RunnableOption("single", 1)].rates
    assert 0.8 < np.mean(gain > 0) < 0.93
    many = predict(pilot({"single": {1: [0.0] * 12}, "tree": {4: [1.0] * 6 + [0.0] * 6}}), ns=(4,))
    assert np.mean(many[RunnableOption("tree", 4)].rates > many[RunnableOption("single", 1)].rates) > 0.98


def test_one_proposal_of_a_verified_row_is_verified_too() -> None:
    """In calls, best-of-n takes 2n; the reference takes one, and no verdict."""
    given = pilot({"single": {1: [0.0, 1.0]}, "bon": {4: [1.0, 1.0]}})
    single, bon = given.lines.values()
    single = replace(single, spent={1: dict.fromkeys(given.tasks, 1.0)})
    bon = replace(bon, spent={4: dict.fromkeys(given.tasks, 8.0)}, checking={4: dict.fromkeys(given.tasks, 4.0)})
    found = predict(replace(given, lines={"single": single, "bon": bon}), ns=(1, 2, 8))
    assert [one.spent for one in found.values()] == pytest.approx([1, 2, 4, 8, 16])


def test_easy_tasks_stay_easy_beyond_the_pilot() -> None:
    """Else two options would seem to disagree on far more tasks than they do."""
    right, wrong = PilotAttempt(True, 1.0, key="r"), PilotAttempt(False, 0.0, key="w")
    tasks = [f"t{place}" for place in range(20)]
    attempts = {task: [[right, right] if place < 10 else [wrong, wrong]] for place, task in enumerate(tasks)}
    found = predict(pilot({"bon": {2: [1.0] * 10 + [0.0] * 10}}, attempts={"bon": attempts}), ns=(8,))
    beyond = found[RunnableOption("bon", 8)]
    assert beyond.source == MODEL
    assert beyond.by_task.mean() == pytest.approx(beyond.success)
    assert beyond.by_task[:10].min() > 0.8 > 0.4 > beyond.by_task[10:].max()
