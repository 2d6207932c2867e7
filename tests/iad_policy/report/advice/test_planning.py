"""Plans refine where the pilot shows that it helps, keep to their spending, and say when they can't tell."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from iad_policy.report.advice.advice_table import PlanTable
from iad_policy.report.advice.paths import paths_of
from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.planning import LEAST_IN_RANGE, N_RANGES, PlanSettings, plan_of, ranges_of
from iad_policy.types.plan import REFINE, SAMPLE, STOP, AdaptivePlan
from tests.iad_policy.report.snapshots import printed, require_snapshot

N = 4


def pilot(use: float, *, seed: int = 0, n_tasks: int = 60, ahead: float = 2.0, refinement_costs: float = 1.0) -> Pilot:
    """Half of the tasks are hard; a refinement is right `use` times as often as a sample."""
    rng = np.random.default_rng(seed)

    def attempt(rate: float, *, is_told: bool = False) -> PilotAttempt:
        is_right = bool(rng.random() < min(1.0, rate * (use if is_told else 1)))
        score = float(rng.normal(ahead if is_right else 0))
        return PilotAttempt(is_right, score, (2, ""), "", is_told)

    names = tuple(map(str, range(n_tasks)))
    rates = dict(zip(names, rng.beta(0.4, 0.8, n_tasks), strict=True))
    sampled = {name: [[attempt(rates[name]) for _ in range(N)]] for name in names}
    told = {name: [attempt(rates[name], is_told=True) for _ in range(N - 1)] for name in names}
    chains = {name: [[sampled[name][0][0], *told[name]]] for name in names}

    def line(name: str, attempts: Mapping[str, Any], spent: float) -> PilotLine:
        return PilotLine(name, "proxy", {N: dict.fromkeys(names, 0.5)}, {N: dict.fromkeys(names, spent)}, attempts)

    lines = {"bon": line("bon", sampled, N), "iad": line("iad", chains, 1 + (N - 1) * refinement_costs)}
    paths = {name: list(paths_of(sampled[name][0], chains[name][0], scores_of, name=name)) for name in names}
    return Pilot("E", "train", "agent", names, 0, "calls", True, lines, paths=paths)


def scores_of(attempts: Sequence[PilotAttempt]) -> list[float]:
    return [one.score for one in attempts]


def letters(plan: AdaptivePlan) -> set[str]:
    return set("".join([*plan.rows.values(), *plan.cheaper.values()]))


def test_the_plans_of_small_pilots_are_those_that_were_looked_at() -> None:
    """Refining that helps, that does not, and that costs too much; and what a decision may spend, or is worth."""
    cases: list[tuple[str, Pilot, PlanSettings]] = [
        ("it helps", pilot(2.5), PlanSettings(n=N, spending=3.0)),
        ("it does not help", pilot(0.4), PlanSettings(n=N, spending=3.0)),
        ("it costs too much", pilot(2.5, refinement_costs=40.0), PlanSettings(worth=20.0)),
        ("little is worth it", pilot(2.5), PlanSettings(worth=1.0)),
        ("more is worth it", pilot(2.5), PlanSettings(worth=10.0)),
        ("all is worth it, but no more than n", pilot(2.5), PlanSettings(worth=1e6, n=5)),
        ("as much is spent as the pilot's bon", pilot(1.0, ahead=0.0), PlanSettings()),
        ("no iad", replace(own := pilot(2.5), lines={"bon": own.lines["bon"]}), PlanSettings(worth=10.0)),
        ("few tasks", pilot(2.5, n_tasks=10), PlanSettings(worth=10.0)),
    ]
    plans = {name: plan_of(given, settings) for name, given, settings in cases}
    shown = [f"=== {name}\n{plan.as_toml()}\n{printed(PlanTable(plan, 'plan.toml'))}" for name, plan in plans.items()]
    require_snapshot("plans.txt", "\n".join(shown))
    refining = ["it helps", "more is worth it", "all is worth it, but no more than n"]
    assert [name for name, plan in plans.items() if REFINE in letters(plan)] == refining
    assert plans["it helps"].spent == pytest.approx(3.0, abs=0.4)
    spent = [plans[name].spent for name in plans if "is worth it" in name]
    assert spent == sorted(spent)
    assert (spent[0], letters(plans["little is worth it"])) == (1.0, {STOP})


@pytest.mark.slow
@pytest.mark.parametrize(("use", "refines"), [(0.4, False), (1.0, False), (2.5, True)])
def test_it_refines_where_that_was_shown_to_help(use: float, refines: bool) -> None:
    """With as many proposals as there are samples, where each refinement takes a sample's place."""
    plans = [plan_of(pilot(use, seed=seed), PlanSettings(n=N, spending=3.0)) for seed in range(6)]
    assert sum(REFINE in letters(plan) for plan in plans) >= 5 if refines else all(plan.only_samples for plan in plans)
    assert all({SAMPLE, STOP} <= letters(plan) for plan in plans if REFINE not in letters(plan))


def test_ranges_rise_and_none_is_thin() -> None:
    given = pilot(1.0).lines["bon"].attempts.values()
    tasks = [[{(1, 0): (one.score, one.is_right)} for one in own[0]] for own in given]
    edges, found = ranges_of(tasks), [path[1, 0] for own in tasks for path in own]
    places = np.searchsorted(edges, [score for score, _ in found], side="right")
    is_right = np.array([right for _, right in found])
    right = [is_right[places == at].mean() for at in sorted(set(places))]
    assert right == sorted(right)
    assert 1 < len(right) <= N_RANGES
    assert min(np.bincount(places)) >= LEAST_IN_RANGE * N
    assert ranges_of([[{(1, 0): (0.5, True)}] * 20]) == ()


def test_a_path_shows_the_incumbent_that_a_decision_would_have_had() -> None:
    """Judged by votes, which change what was best before."""
    names = "aabbb"
    right = {"a": False, "b": True}
    samples = [PilotAttempt(right[key], key=key) for key in names[:3]]
    chain = [samples[0], *(PilotAttempt(right[key], key=key, is_told=True) for key in names[3:])]

    def votes(attempts: Sequence[PilotAttempt]) -> list[float]:
        return [sum(one.key == other.key for other in attempts) / len(attempts) for one in attempts]

    paths = list(paths_of(samples, chain, votes))
    of_chain = [path for path in paths if (1, 2) in path]
    assert all(path[1, 0] == (1.0, False) and path[1, 2] == (2 / 3, True) for path in of_chain)
    assert {path[2, 0] for path in of_chain} == {(1.0, False), (0.5, False)}, "a tie goes to the first"
    assert all(path[3, 0] == (2 / 3, False) and path[3, 2] == (3 / 5, True) for path in of_chain)
    others = [path for path in paths if (1, 2) not in path]
    assert {path[1, 0] for path in others} == {(1.0, False), (1.0, True)}, "another sample comes first"


@pytest.mark.slow
def test_what_a_plan_gives_is_measured_on_tasks_that_it_was_not_made_of() -> None:
    """Scores that tell nothing: the tables follow noise, which others don't have."""
    pilots = [pilot(1.0, seed=seed, ahead=0.0) for seed in range(8)]
    plans = [plan_of(one, PlanSettings(spending=3.0)) for one in pilots]
    told = [one.is_right for each in pilots for own in each.lines["bon"].attempts.values() for one in own[0]]
    assert np.mean([plan.success for plan in plans]) == pytest.approx(np.mean(told), abs=0.03)


def episodes(gain: float, *, n_tasks: int = 60) -> Pilot:
    """A pilot of tasks that take several decisions, in which `iad` with n = 4 solves so many more than `bon`."""
    names = tuple(map(str, range(n_tasks)))

    def line(name: str, more: float) -> PilotLine:
        rates = {n: 0.3 + more + 0.02 * n for n in (2, 4)}
        solved = {n: {task: float(int(task) < n_tasks * rate) for task in names} for n, rate in rates.items()}
        return PilotLine(name, "proxy", solved, {n: dict.fromkeys(names, 5.0 * n) for n in (2, 4)})

    return Pilot("E", "dev", "agent", names, 0, "calls", False, {"bon": line("bon", 0.0), "iad": line("iad", gain)})


def test_of_whole_episodes_a_plan_is_the_row_that_pays_and_refines_only_where_that_is_clear() -> None:
    found = plan_of(episodes(0.3), PlanSettings())
    assert (found.n, found.edges, letters(found), found.only_samples) == (4, (), {REFINE}, "")
    assert set(found.rows) == {"1,0", "1,1", "1,2", "2,0", "2,1", "3,0"}
    assert (found.success, found.spent) == (pytest.approx(0.68, abs=0.02), 20.0)
    none = plan_of(episodes(0.0), PlanSettings())
    assert letters(none) == {SAMPLE}
    assert "refining gains +0.000: no clear gain" in none.only_samples
    assert plan_of(episodes(0.3), PlanSettings(spending=10.0)).n == 2
    assert plan_of(episodes(0.3), PlanSettings(worth=1.0)).n == 2
    alone = replace(episodes(0.3), lines={"bon": episodes(0.3).lines["bon"]})
    assert plan_of(alone, PlanSettings()).only_samples == "the pilot has no iad with this verifier"
    for few in (1, 20):
        small = plan_of(episodes(0.3, n_tasks=few), PlanSettings())
        assert small.only_samples == f"the pilot has {few} tasks; it takes 30 to tell"


@pytest.mark.parametrize(
    ("change", "settings", "said"),
    [
        ({"lines": {}}, {}, "bon and a verifier"),
        ({"paths": {}}, {}, "bon and a verifier"),
        ({"lines": {}, "one_decision": False}, {}, "bon and a verifier"),
        ({"one_decision": False}, {"n": 2}, "n of 4 or more, .* got 2"),
        ({}, {"worth": 1.0, "spending": 1.0}, "got both"),
        ({}, {"worth": 0.0}, "worth above 0, got 0"),
        ({}, {"spending": float("inf")}, "spending above 0, got inf"),
        ({}, {"n": 0}, "n of 1 or more, got 0"),
    ],
)
def test_what_gives_no_plan_is_refused(change: dict[str, Any], settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        plan_of(replace(pilot(1.0, n_tasks=10), **change), PlanSettings(**settings))
