"""A strategy's row by hand, and what the table of a run prints of it."""

import re
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from iad_policy.ledger.episode_record import EpisodeRecord, number
from iad_policy.report.compare import differences
from iad_policy.report.figures import Figures, Heading
from iad_policy.report.metrics import StrategySummary, progress_curve, summarise
from iad_policy.report.results import Results
from iad_policy.report.statistics import wilson
from iad_policy.report.table import RunTable
from iad_policy.run.config import RunConfig


def episode(task: str, success: float | None = 1.0, **changes: Any) -> EpisodeRecord:
    base = EpisodeRecord("k", "Dials", task, "iad", 0, success=success, progress=success, reward=success or 0.0)
    return replace(base, **changes)


def printed(**summaries: StrategySummary) -> str:
    """The table of a run with these rows."""
    console = Console(file=StringIO(), width=200, record=True)
    console.print(RunTable(Heading(RunConfig("Dials", "guesser"), "", 4, {}), Figures(summaries, {})))
    return console.export_text()


def test_why_tasks_failed_is_listed_by_reason_and_of_many_reasons_the_most_frequent() -> None:
    results = Results(Heading(RunConfig("Dials", "guesser", strategies=("single", "iad")), "", 30, {}))
    for task, success, why in [("a", 0.0, "dial 2"), ("b", 0.0, "dial 2"), ("c", 1.0, ""), ("d", 0.0, "dial 9")]:
        results.add(episode(task, success, why=why, agent="guesser", n=3))
    results.add(episode("a", 0.0, why="dial 2", agent="guesser", strategy="single"))
    results.add(episode("e", None, why="not finished", error_kind="crash", agent="guesser", n=3))
    assert "Why tasks failed" not in printed(iad=summarise([episode("a", 0.0)]))
    shown = results.table(200)
    listed = [line.rstrip() for line in shown[shown.index("Why tasks failed") :].splitlines()[1:4]]
    assert listed == ["a, b (single, iad 2): dial 2", "d (iad): dial 9", ""]
    for place in range(20):
        results.add(episode(f"t{place:02}", 0.0, why=f"dial {20 + place}", agent="guesser", n=3))
    assert re.search(r"t17 \(iad\): dial 37\s+and 2 more reasons, in report.html", results.table(200))


def test_a_record_survives_its_line_and_what_is_no_number_is_none() -> None:
    record = episode("a", usage={"agent": {"proposals": 3}}, actions=("x", 1), progress_by_step=(0.0, None, 1.0))
    assert EpisodeRecord.of(record.as_json() | {"a_later_field": 1}) == record
    assert EpisodeRecord.of({"key": "k", "env": "e", "task_id": "t", "strategy": "iad", "seed": 0}).n == 1
    assert [number(value) for value in (None, float("nan"), float("inf"), 1)] == [None, None, None, 1.0]


def test_a_summary_is_the_means_by_hand() -> None:
    one = summarise(
        [
            episode("a", 1.0, difficulty="easy", grounding=1.0, usage={"agent": {"proposals": 2, "prompt_tokens": 10}}),
            episode("b", 0.0, difficulty="hard", grounding=0.5, progress=0.5, usage={"verifier": {"verifications": 4}}),
            episode("c", 0.0, difficulty="easy", grounding=0.0, stop_reason="budget", cut="episode.proposals"),
        ]
    )
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


def test_unreadable_answers_are_a_share_of_all_proposals() -> None:
    few = episode("a", n_unreadable=1, usage={"agent": {"proposals": 2}})
    many = episode("b", n_unreadable=2, usage={"agent": {"proposals": 10}, "pilot": {"proposals": 8}})
    failed = episode("c", n_unreadable=5, error_kind="crash", usage={"agent": {"proposals": 5}})
    assert summarise([few, many, failed]).unreadable == pytest.approx(0.25)
    assert summarise([failed]).unreadable is None
    assert "unreadable" in printed(iad=summarise([few]))
    assert "unreadable" not in printed(iad=summarise([episode("a")]))


def test_errored_episodes_are_left_out_and_told_with_their_kinds_and_spending() -> None:
    one = summarise([episode("a", 1.0), episode("b", 0.0, error_kind="timeout", stop_reason="error")])
    assert (one.success, one.n_episodes, one.n_errored) == (1.0, 1, 1)
    cut = summarise([episode("a", 1.0), episode("b", 0.0, cut="run.proposals", stop_reason="budget")])
    assert (cut.success, cut.n_episodes, cut.n_budget, cut.errors) == (1.0, 1, 1, {"budget of the run": 1})
    failed = [
        episode(task, error_kind="crash", usage={"agent": {"proposals": 3, "prompt_tokens": 1000}, "simulator": extra})
        for task, extra in (("a", {"completion_tokens": 234}), ("b", {"usd": 0.5}))
    ]
    both = summarise(failed)
    assert both.spent_errored == {"proposals": 6, "prompt_tokens": 2000, "completion_tokens": 234, "usd": 0.5}
    shown = printed(artis=both)
    assert "2 of artis (2 crash), which spent 6 calls, 2,234 tokens, $0.5000" in shown
    (row,) = re.findall(r"^artis +.*$", shown, re.MULTILINE)
    assert re.search(r" 0 +2 +- +- +- +- +- +- *$", row), "no means of no episode"
    kinds = [episode(str(place), error_kind=kind) for place, kind in enumerate(("timeout", "crash", "timeout"))]
    assert "3 of iad (1 crash, 2 timeout)" in printed(iad=summarise([*kinds, episode("a")]))
    for kind, can_retry in (("contract", False), ("crash", True)):
        assert ("Run the same command again" in printed(iad=summarise([episode("a", error_kind=kind)]))) is can_retry


def test_no_difficulty_is_dropped_unsaid() -> None:
    levels = {"simple": (1.0, 1.0), "moderate": (1.0, 0.0), "challenging": (0.0, 0.0)}
    records = [
        episode(f"{level}{place}", success, difficulty=level)
        for level, both in reversed(levels.items())
        for place, success in enumerate(both)
    ]
    one = summarise(records)
    assert {name: level._asdict() for name, level in one.by_difficulty.items()} == {
        name: {"n": 2, "success": sum(both) / 2, "progress": sum(both) / 2} for name, both in levels.items()
    }
    assert list(one.by_difficulty) == list(levels)
    assert one.as_json()["by_difficulty"]["moderate"] == {"n": 2, "success": 0.5, "progress": 0.5}
    other = summarise([episode("a", 1.0, difficulty="moderate"), episode("b", 0.0)])
    shown = printed(iad=one, bon=other)
    for text in ("simple/moderate/challenging/unmarked", "1.00/0.50/0.00/-", "-/1.00/-/0.00"):
        assert text in shown
    assert summarise([episode("a")]).by_difficulty == {}


def test_curves_carry_the_last_value_forward() -> None:
    short = episode("a", progress_by_step=(0.0, 1.0))
    long = episode("b", progress_by_step=(0.0, 0.0, 0.0, 0.5))
    assert progress_curve([short, long]) == pytest.approx((0.0, 0.5, 0.5, 0.75))


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


def test_the_ledger_tells_roles_apart_and_a_price_that_is_not_known_from_none() -> None:
    def spending(usd: float, n_unpriced: int) -> dict[str, dict[str, float]]:
        return {
            "agent": {"proposals": 2, "prompt_tokens": 10, "usd": usd, "n_unpriced": n_unpriced},
            "verifier": {"verifications": 2},
        }

    summaries = {
        "known": summarise([episode("a", usage=spending(0.5, 0)), episode("b", usage=spending(0.25, 0))]),
        "unknown": summarise([episode("a", usage=spending(0.0, 2))]),
        "both": summarise([episode("a", usage=spending(0.5, 0)), episode("b", usage=spending(0.0, 2))]),
    }
    assert summaries["known"].by_role["agent"] == {"proposals": 2, "prompt_tokens": 10, "usd": 0.375, "n_unpriced": 0}
    shown = printed(**summaries)
    assert "known: verifier" not in shown
    for row, said in (("known", "0.3750"), ("unknown", "unpriced"), ("both", "0.2500 + unpriced")):
        assert re.search(rf"^{row}: agent .* {re.escape(said)} ", shown, re.MULTILINE)
