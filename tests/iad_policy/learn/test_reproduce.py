"""The papers' comparisons: every one runs, and what is said of its trends follows from the scores."""

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from rich.console import Console

from iad_policy.errors import UnknownName
from iad_policy.learn.reproduce import PAGE, RESULTS, _tested, as_markdown, reproduce
from iad_policy.ledger.run_folder import read_config
from iad_policy.papers import ELSEWHERE, PAPERS, Claim, load_paper
from iad_policy.papers.settings import WEBSHOP

TINY: dict[str, Any] = {"seeds": (0,), "tasks": 3, "scale": 0.02}


@pytest.mark.parametrize("name", list(PAPERS))
def test_every_comparison_runs_and_is_not_repeated(name: str, tmp_path: Path) -> None:
    told: list[str] = []
    found = reproduce(name, out=tmp_path, report=told.append, **TINY)
    assert set(found.arms) == set(load_paper(name).for_what_is_trained(reads_text=False).arms)
    assert found.n_tasks == 3
    assert {one.verdict for one in found.claims} <= {"holds", "does not hold", "cannot be told"}
    written = json.loads((tmp_path / RESULTS).read_text())
    assert [one["name"] for one in written["claims"]] == [
        claim.name for claim in load_paper(name).for_what_is_trained(reads_text=False).claims
    ]
    assert (tmp_path / PAGE).read_text() == as_markdown(written)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("answers.jsonl")}
    files |= {path: path.stat().st_mtime_ns for path in tmp_path.rglob("model.json")}
    assert files
    assert reproduce(name, out=tmp_path, **TINY).as_json() == found.as_json()
    assert {path: path.stat().st_mtime_ns for path in files} == files


def test_only_training_tasks_are_explored_and_only_test_tasks_measured(tmp_path: Path) -> None:
    reproduce("iad", out=tmp_path, **TINY)
    for path in tmp_path.rglob("config.json"):
        config = read_config(path.parent)
        is_arm = path.parents[1].name == "arms"
        assert config["tasks_of"] == ("test" if is_arm else "train")
        assert not is_arm or "trained_here" not in config
        assert not is_arm or config["verifier"] != "oracle"


@pytest.mark.parametrize(("name", "env"), [*((name, "") for name in PAPERS), *ELSEWHERE])
def test_claims_are_about_arms_of_the_paper(name: str, env: str) -> None:
    paper = load_paper(name, env)
    for claim in paper.claims:
        assert {claim.more, claim.less} <= set(paper.arms)
    assert len({claim.name for claim in paper.claims}) == len(paper.claims)
    assert paper.differs


@pytest.mark.slow
def test_an_experiment_in_another_environment_runs_there(tmp_path: Path) -> None:
    booking, shop = load_paper("agentq", "IAD/Booking-v0"), load_paper("agentq", WEBSHOP)
    assert booking is not shop
    assert load_paper("agentq") is shop
    found = reproduce("agentq", env="IAD/Booking-v0", out=tmp_path, **{**TINY, "tasks": 1})
    assert found.paper.title == booking.title
    assert set(found.arms) == set(booking.arms) == {*shop.arms, "rft + mcts"}
    assert [one.claim.name for one in found.claims] == [claim.name for claim in booking.claims]
    configs = [read_config(path.parent) for path in tmp_path.rglob("config.json")]
    assert {config["env"] for config in configs} == {"IAD/Booking-v0"}


def test_arms_that_a_backend_can_not_tell_are_left_out_with_their_claims() -> None:
    paper = load_paper("qstar")
    linear, language = paper.for_what_is_trained(reads_text=False), paper.for_what_is_trained(reads_text=True)
    assert "q-guided perturbed" in language.arms
    assert "q-guided perturbed" not in linear.arms
    assert ("ppo" in linear.arms, "ppo" in language.arms) == (True, False)
    for one in (linear, language):
        assert all({claim.more, claim.less} <= set(one.arms) for claim in one.claims)


def scores(*rewards: float) -> dict[tuple[str, int], tuple[float, float]]:
    return {(f"task {place}", 0): (reward, float(reward == 1.0)) for place, reward in enumerate(rewards)}


@pytest.mark.parametrize(
    ("more", "less", "least", "verdict"),
    [
        ([0.9, 1.0, 0.8, 0.9, 1.0, 0.9], [0.2, 0.3, 0.1, 0.2, 0.3, 0.2], 0.0, "holds"),
        ([0.2, 0.3, 0.1, 0.2, 0.3, 0.2], [0.9, 1.0, 0.8, 0.9, 1.0, 0.9], 0.0, "does not hold"),
        ([0.9, 0.1, 0.8, 0.2, 0.5, 0.5], [0.1, 0.9, 0.2, 0.8, 0.4, 0.6], 0.0, "cannot be told"),
        ([0.5] * 6, [0.5] * 6, -0.01, "cannot be told"),
        ([0.5] * 400, [0.5] * 400, -0.01, "holds"),
        ([0.5] * 6, [0.5] * 6, 0.0, "cannot be told"),
    ],
)
def test_a_verdict_follows_from_the_interval(more: list[float], less: list[float], least: float, verdict: str) -> None:
    (found,) = _tested([Claim("c", "a", "b", "", least)], {"a": scores(*more), "b": scores(*less)})
    assert found.verdict == verdict
    assert found.reward == pytest.approx(fmean(more) - fmean(less))


def test_the_tables_can_be_read(tmp_path: Path) -> None:
    found = reproduce("iad", out=tmp_path, **TINY)
    console = Console(width=100, record=True)
    console.print(found)
    text = console.export_text()
    assert "T1 iad > bon, n = 4" in text
    assert "3 test tasks" in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_an_unknown_paper_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="agentq"):
        reproduce("react", out=tmp_path)
