"""Plans refine where the pilot shows that it helps, keep to their spending, and say when they can't tell."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.planning import LEAST_IN_RANGE, N_RANGES, PlanSettings, kinds_of, plan_of, ranges_of
from iad_policy.types.plan import REFINE, SAMPLE, STOP, AdaptivePlan

N = 4


def pilot(use: float, *, seed: int = 0, n_tasks: int = 60, ahead: float = 2.0, refinement_costs: float = 1.0) -> Pilot:
    """Half of the tasks are hard; a refinement is right `use` times as often as a sample."""
    rng = np.random.default_rng(seed)

    def attempt(rate: float, *, is_told: bool = False) -> PilotAttempt:
        is_right = bool(rng.random() < min(1.0, rate * (use if is_told else 1)))
        score = float(rng.normal(ahead if is_right else 0))
        return PilotAttempt(is_right, score, (2, ""), "", is_told, score)

    names = tuple(map(str, range(n_tasks)))
    rates = dict(zip(names, rng.beta(0.4, 0.8, n_tasks), strict=True))
    sampled = {name: [[attempt(rates[name]) for _ in range(N)]] for name in names}
    chains = {
        name: [[sampled[name][0][0], *(attempt(rates[name], is_told=True) for _ in range(N - 1))]] for name in names
    }

    def line(name: str, attempts: Mapping[str, Any], spent: float) -> PilotLine:
        return PilotLine(name, "proxy", {N: dict.fromkeys(names, 0.5)}, {N: dict.fromkeys(names, spent)}, attempts)

    lines = {"bon": line("bon", sampled, N), "iad": line("iad", chains, 1 + (N - 1) * refinement_costs)}
    return Pilot("E", "train", "agent", names, 0, "calls", True, lines)


def letters(plan: AdaptivePlan) -> set[str]:
    return set("".join([*plan.rows.values(), *plan.cheaper.values()]))


@pytest.mark.parametrize(("use", "refines"), [(0.4, False), (1.0, False), (2.5, True)])
def test_it_refines_where_that_was_shown_to_help(use: float, refines: bool) -> None:
    plans = [plan_of(pilot(use, seed=seed), PlanSettings()) for seed in range(6)]
    assert sum(REFINE in letters(plan) for plan in plans) >= 5 if refines else all(plan.only_samples for plan in plans)
    assert all({SAMPLE, STOP} <= letters(plan) for plan in plans)


def test_a_refinement_that_costs_far_more_than_it_gives_is_not_made() -> None:
    assert REFINE not in letters(plan_of(pilot(2.5, refinement_costs=40.0), PlanSettings()))


def test_it_keeps_to_the_mean_spending_and_a_higher_worth_spends_more() -> None:
    for spending in (1.5, 2.5, 4.0):
        assert plan_of(pilot(1.5), PlanSettings(spending=spending)).spent == pytest.approx(spending, abs=1e-3)
    assert plan_of(pilot(1.5), PlanSettings()).spent == pytest.approx(N, abs=1e-3)
    plans = [plan_of(pilot(1.5), PlanSettings(worth=worth)) for worth in (1.0, 10.0, 100.0, 1000.0)]
    assert [plan.spent for plan in plans] == sorted(plan.spent for plan in plans)
    assert [plan.success for plan in plans] == sorted(plan.success for plan in plans)
    assert (plans[0].spent, plans[0].rows) == (1.0, {"1,0": STOP * (len(plans[0].edges) + 1)})
    assert all(plan.share == 1 and not plan.cheaper for plan in plans)


def test_more_is_never_spent_on_a_decision_than_n() -> None:
    plan = plan_of(pilot(2.5), PlanSettings(worth=1e6, n=5))
    assert max(sum(map(int, row.split(","))) for row in plan.rows) == 4
    assert 3 < plan.spent < 5


def test_ranges_rise_and_none_is_thin() -> None:
    tasks = [own[0] for own in pilot(1.0).lines["bon"].attempts.values()]
    edges, attempts = ranges_of(tasks), [one for own in tasks for one in own]
    places = np.searchsorted(edges, [one.alone for one in attempts], side="right")
    is_right = np.array([one.is_right for one in attempts])
    right = [is_right[places == at].mean() for at in sorted(set(places))]
    assert right == sorted(right)
    assert 1 < len(right) <= N_RANGES
    assert min(np.bincount(places)) >= LEAST_IN_RANGE * N
    assert ranges_of([[PilotAttempt(True, 0.5, alone=0.5)] * 20]) == ()


def test_kinds_are_probabilities_and_their_mean_is_the_pilots() -> None:
    own = pilot(1.5, n_tasks=200)
    kinds = kinds_of(own.tasks, own.lines["bon"], own.lines["iad"])
    for cells in (kinds.fresh, *kinds.refined):
        assert cells.sum(axis=(1, 2)) == pytest.approx(np.ones(len(cells)))
    rate = np.mean([one.is_right for given in own.lines["bon"].attempts.values() for one in given[0]])
    assert kinds.fresh[:, :, 1].sum(axis=1).mean() == pytest.approx(rate, abs=0.03)


def test_a_pilot_that_cannot_tell_says_that_the_plan_only_samples_and_why() -> None:
    own = pilot(2.5)
    without = replace(own, lines={"bon": own.lines["bon"]})
    assert plan_of(without, PlanSettings()).only_samples == "the pilot has no iad with this verifier"
    assert "it takes 30 to tell" in plan_of(pilot(2.5, n_tasks=10), PlanSettings()).only_samples
    assert "times as often as samples: no clear gain" in plan_of(pilot(0.4), PlanSettings()).only_samples


@pytest.mark.parametrize(
    ("change", "settings", "said"),
    [
        ({"lines": {}}, {}, r"expected a pilot whose candidates have a score .* got one without bon and a verifier"),
        (
            {"lines": {}, "one_decision": False},
            {},
            r"got one whose tasks take several decisions",
        ),
        ({}, {"worth": 1.0, "spending": 1.0}, r"got both; leave one out"),
        ({}, {"worth": -1.0}, r"expected a worth above 0, got -1.0"),
        ({}, {"n": 0}, r"expected n of 1 or more, got 0"),
    ],
)
def test_what_gives_no_plan_is_refused(change: dict[str, Any], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        plan_of(replace(pilot(1.0, n_tasks=10), **change), PlanSettings(**settings))
