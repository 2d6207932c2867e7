"""A strategy's row by hand, and what the tables of a run print of it."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

from iad_policy.ledger.episode_record import EpisodeRecord, number
from iad_policy.report.compare import differences
from iad_policy.report.figures import Figures, Heading
from iad_policy.report.metrics import progress_curve, summarise
from iad_policy.report.results import Results
from iad_policy.report.statistics import wilson
from iad_policy.report.table import RunTable, ShortTable
from iad_policy.run.config import RunConfig
from tests.iad_policy.report.snapshots import printed, require_snapshot


def episode(task: str, success: float | None = 1.0, **changes: Any) -> EpisodeRecord:
    base = EpisodeRecord("k", "Dials", task, "iad", 0, success=success, progress=success, reward=success or 0.0)
    return replace(base, **changes)


def of_rows() -> Results:
    """Three strategies with several n and seeds, at equal spending, on tasks of three difficulties."""
    given: dict[str, Any] = {"n": (1, 2, 4), "tasks": 9, "seed": (0, 1), "match": "proposals"}
    config = RunConfig("Dials", "guesser", "proxy", ("single", "bon-sc", "iad"), **given)
    results, rng = Results(Heading(config, "proxy", 9, {"name": "toy", "digest": "ab"})), Random(0)
    for arm in config.arms:
        for place, seed in product(range(9), config.seed):
            solved = float(rng.random() < 0.2 + 0.1 * arm.n)
            spent = {"proposals": arm.n * rng.randint(2, 4), "prompt_tokens": 90 * arm.n, "completion_tokens": 7}
            usage = {"agent": {**spent, "usd": 0.25, "n_cached": place % 2, "seconds": 61.0}}
            if arm.strategy != "single":
                usage |= {"verifier": {"verifications": arm.n, "seconds": 0.5}, "critic": {"asks": 1, "usd": 0.001}}
            more = {"difficulty": ("easy", "hard", "")[place % 3], "why": "" if solved else f"dial {place % 4}"}
            more |= {"n_steps": 3, "stop_reason": "done", "verifier": arm.verifier}
            more |= {"final_score": round(0.3 * rng.random() + 0.5 * solved, 1)}
            record = episode(f"t{place}", solved, agent="guesser", n=arm.n, strategy=arm.strategy, **more)
            curve = (0.0, solved / 2, solved)
            results.add(replace(record, seed=seed, usage=usage, progress_by_step=curve, grounding=0.75))
    return results


def of_troubles() -> Results:
    """Rewards alone, errors, budgets, prices and tokens that are not known, and what must not be overlooked."""
    config = RunConfig("Dials", "guesser", ("proxy", "oracle"), ("single", "bon", "iad"), n=2, budget={"run.usd": 3})
    informations = {"proxy": "proxy", "oracle": "oracle"}
    heading = Heading(config, "proxy", 4, {}, ("guesser",), "reward >= 0.5", {"agent": 2}, informations, ("judge",))
    results = Results(replace(heading, n_codes={"guesser": 2}))
    troubles: list[dict[str, Any]] = [
        {"usage": {"agent": {"proposals": 3, "prompt_tokens": 1000, "n_unpriced": 2}}},
        {"usage": {"agent": {"proposals": 2, "n_unmetered": 2}}, "n_cut_off": 2, "n_dropped": 1},
        {"error_kind": "crash", "usage": {"agent": {"proposals": 3, "completion_tokens": 1234, "usd": 0.5}}},
        {"cut": "run.usd", "stop_reason": "budget"},
        {"cut": "episode.proposals", "stop_reason": "budget", "n_evaluations": 4, "n_passed": 1},
        {"n_unreadable": 1, "n_failed_verdicts": 2, "failed_verdict": "timeout", "usage": {"agent": {"proposals": 4}}},
        {"simulated_by": "fork", "usage": {"agent": {"proposals": 4, "usd": 0.25, "n_unpriced": 1}}},
    ]
    for arm in config.arms:
        for place, trouble in enumerate(troubles[: 3 if arm.strategy == "single" else 7]):
            own: dict[str, Any] = {"agent": "guesser", "strategy": arm.strategy, "verifier": arm.verifier, "n": arm.n}
            results.add(episode(f"t{place}", None, reward=place / 4, **own, **trouble))
    return results


def of_many_reasons() -> Results:
    """More reasons for failures than are listed, the most frequent first, in one row of several n."""
    config = RunConfig("Dials", "guesser", strategies=("bon", "iad"), n=(2, 3), match="tokens")
    results = Results(Heading(config, "", 30, {}))
    for place in range(24):
        why = f"dial {place if place > 2 else 2}"
        results.add(episode(f"t{place:02}", 0.0, why=why, agent="guesser", n=3))
    results.add(episode("t00", 0.0, why="dial 2", agent="guesser", strategy="bon", n=3))
    results.add(episode("e", None, why="not finished", error_kind="contract", agent="guesser", n=3))
    return results


@pytest.mark.parametrize("made", [of_rows, of_troubles, of_many_reasons], ids=lambda made: made.__name__[3:])
def test_the_tables_and_the_summary_are_those_that_were_looked_at(made: Callable[[], Results]) -> None:
    results, name = made(), made.__name__[3:]
    figures = results.figures(500)
    short = printed(ShortTable(results.heading, figures))
    require_snapshot(f"table_{name}.txt", f"{results.table(120, figures)}\n=== in short\n{short}")
    require_snapshot(f"summary_{name}.json", results.as_json(figures))


def test_a_record_survives_its_line_and_what_is_no_number_is_none() -> None:
    record = episode("a", usage={"agent": {"proposals": 3}}, actions=("x", 1), progress_by_step=(0.0, None, 1.0))
    assert EpisodeRecord.of(record.as_json() | {"a_later_field": 1}) == record
    assert EpisodeRecord.of({"key": "k", "env": "e", "task_id": "t", "strategy": "iad", "seed": 0}).n == 1
    assert [number(value) for value in (None, float("nan"), float("inf"), 1)] == [None, None, None, 1.0]


def test_a_summary_is_the_means_by_hand() -> None:
    easy = episode("a", 1.0, difficulty="easy", grounding=1.0, usage={"agent": {"proposals": 2, "prompt_tokens": 10}})
    hard = episode("b", 0.0, difficulty="hard", grounding=0.5, progress=0.5, usage={"verifier": {"verifications": 4}})
    cut = episode("c", 0.0, difficulty="easy", grounding=0.0, stop_reason="budget", cut="episode.proposals")
    one = summarise([easy, hard, cut])
    assert (one.success, one.progress, one.grounding) == pytest.approx((1 / 3, 0.5, 0.5))
    assert (one.success_easy, one.success_hard, one.progress_hard) == (0.5, 0.0, 0.5)
    assert (one.n_episodes, one.n_easy, one.n_hard, one.n_budget, one.n_errored) == (3, 2, 1, 1, 0)
    spent = [one.spent[axis] for axis in ("proposals", "verifications", "tokens")]
    assert spent == pytest.approx([2 / 3, 4 / 3, 10 / 3])
    assert one.as_json()["proposals"] == one.spent["proposals"]
    assert "spent" not in one.as_json()
    nothing = summarise([])
    assert (nothing.success, nothing.progress_95, nothing.n_episodes, nothing.progress_by_step) == (None, None, 0, ())
    rewarded = summarise([episode("0", None, reward=12.0), episode("1", None, reward=8.0)])
    assert (rewarded.success, rewarded.success_95, rewarded.progress, rewarded.reward) == (None, None, None, 10.0)


def test_errored_episodes_are_left_out_and_kept_with_their_kinds_and_spending() -> None:
    one = summarise([episode("a", 1.0), episode("b", 0.0, error_kind="timeout", stop_reason="error")])
    assert (one.success, one.n_episodes, one.n_errored) == (1.0, 1, 1)
    cut = summarise([episode("a", 1.0), episode("b", 0.0, cut="run.proposals", stop_reason="budget")])
    assert (cut.success, cut.n_episodes, cut.n_budget, cut.errors) == (1.0, 1, 1, {"budget of the run": 1})
    usages = [{"agent": {"proposals": n}, "pilot": {"proposals": 8}} for n in (5, 2, 10)]
    failed, *scored = (episode("a", n_unreadable=place, usage=usage) for place, usage in enumerate(usages))
    failed = replace(failed, error_kind="crash", n_unreadable=5)
    assert (summarise([failed, *scored]).unreadable, summarise([failed]).unreadable) == (pytest.approx(0.25), None)
    heading = Heading(RunConfig("Dials", "guesser"), "", 4, {})
    shown = printed(RunTable(heading, Figures({"a": summarise([failed, failed])}, {})), 200)
    (row,) = re.findall(r"^a +.*$", shown, re.MULTILINE)
    assert re.search(r" 0 +2 +- +- +- +- +- +- *$", row), "no means of no episode"


def test_no_difficulty_is_dropped_unsaid() -> None:
    levels = {"simple": (1.0, 1.0), "moderate": (1.0, 0.0), "challenging": (0.0, 0.0)}
    records = [episode("t", one, difficulty=level) for level in reversed(levels) for one in levels[level]]
    found = summarise(records).by_difficulty
    assert [*found.items()] == [(name, (2, sum(both) / 2, sum(both) / 2)) for name, both in levels.items()]
    other = summarise([episode("a", 1.0, difficulty="moderate"), episode("b", 0.0)]).by_difficulty
    assert {name: level.success for name, level in other.items()} == {"moderate": 1.0, "unmarked": 0.0}


def test_curves_carry_the_last_value_forward() -> None:
    both = [episode("a", progress_by_step=one) for one in ((0.0, 1.0), (0.0, 0.0, 0.0, 0.5))]
    assert progress_curve(both) == pytest.approx((0.0, 0.5, 0.5, 0.75))


def test_seeds_of_a_task_are_one_cluster_and_what_never_varied_has_an_interval_of_some_width() -> None:
    tasks = [f"t{place}" for place in range(8)]
    seeds = [episode(task, 1.0 if task in tasks[:6] else 0.0, seed=seed) for task in tasks for seed in range(3)]
    once = [one for one in seeds if one.seed == 0]
    assert summarise(seeds).success_95 == summarise(once).progress_95
    failed = [replace(one, error_kind="crash") if (one.task_id, one.seed) == ("t0", 1) else one for one in seeds]
    assert (summarise(failed).success, summarise(failed).n_episodes) == (0.75, 23), "a task counts once"
    wrong, once = ([replace(one, success=0.0, reward=0.0) for one in own] for own in (seeds, once))
    assert summarise(wrong).success_95 == summarise(once).success_95 == wilson(0, 8)
    found = differences({"base": once, "own": once}, {"own": "base"})["own"].metrics
    assert found["reward"].interval_95 == found["success"].interval_95
    assert found["reward"].interval_95.high > 0.3
    # Of rewards that may be anything nothing can be said.
    points = [episode(f"t{place}", None, reward=50.0) for place in range(8)]
    none = differences({"base": points, "own": points}, {"own": "base"})["own"]
    assert none.metrics["reward"].interval_95 == (0.0, 0.0)
    none = differences({"base": once, "own": []}, {"own": "base"})["own"]
    assert (none.n_pairs, none.metrics, none.as_json()["success"], none.as_json()["p_holm"]) == (0, {}, None, None)
