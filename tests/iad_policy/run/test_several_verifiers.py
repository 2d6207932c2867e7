"""Several verifiers in one run: each strategy that asks one has a row per verifier, on the same proposals."""

from pathlib import Path

import pytest

import iad_envs  # noqa: F401 (registers the environment)
from iad_policy import evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.results import read_results
from iad_policy.run.config import RunConfig

SHOP = "IAD/WebShop-v0"
STRATEGIES = ("single", "bon", "iad")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    evaluate(SHOP, STRATEGIES, 4, split="test", verifier=("proxy", "oracle"), out=folder, cache=False)
    return folder


def test_every_row_is_that_of_a_run_with_its_verifier_alone(folder: Path) -> None:
    together = read_results(folder).records
    for verifier in ("proxy", "oracle"):
        alone = evaluate(SHOP, STRATEGIES, 4, split="test", verifier=verifier, cache=False).records
        for strategy in STRATEGIES:
            row = strategy if strategy == "single" else f"{strategy} {verifier}"
            assert [(one.actions, one.reward, one.success) for one in together[row]] == [
                (one.actions, one.reward, one.success) for one in alone[strategy]
            ]
            if strategy != "single":
                assert {one.key for one in together[row]} == {one.key for one in alone[strategy]}
                assert {one.verifier for one in together[row]} == {verifier}


def test_verifiers_judge_the_same_first_proposals(folder: Path) -> None:
    run = Run(folder)
    first = {
        (one.task_id, one.verifier): [candidate.action for candidate in run.episode(key).steps[0].decision.candidates]
        for key, one in run.records.items()
        if one.strategy == "bon"
    }
    assert len(first) == 8
    assert all(first[task, "proxy"] == first[task, "oracle"] for task, _ in first)


def test_table_and_summary_name_each_verifier_with_its_label_and_what_asks_none_runs_once(folder: Path) -> None:
    results = read_results(folder)
    assert list(results.records) == ["single", "bon proxy", "bon oracle", "iad proxy", "iad oracle"]
    table = " ".join(results.table(120).split())
    assert "verifiers proxy, oracle" in table
    assert "proxy: proxy verifier: executes, parses or matches; never reads gold" in table
    assert "*** oracle: oracle verifier: reads the true score" in table
    stored = results.as_json(results.figures(100))
    assert stored["verifier"] == ("proxy", "oracle")
    assert stored["informations"] == {"proxy": "proxy", "oracle": "oracle"}
    assert "never reads gold" in stored["verifiers"]["proxy"]
    assert "true score" in stored["verifiers"]["oracle"]


def test_differences_are_to_the_same_verifier_and_between_verifiers(folder: Path) -> None:
    found = read_results(folder).figures(200).differences
    assert {row: one.baseline for row, one in found.items()} == {
        "single": "bon proxy",
        "bon oracle": "bon proxy",
        "iad proxy": "bon proxy",
        "iad oracle": "bon oracle",
    }
    single = evaluate(SHOP, STRATEGIES, 2, split="test", verifier=("proxy", "oracle"), baseline="single", cache=False)
    assert {one.baseline for one in single.figures(100).differences.values()} == {"single"}


def test_curves_at_equal_spending_are_of_a_strategy_with_its_verifier() -> None:
    results = evaluate(
        SHOP, ["bon", "iad"], 5, split="test", verifier=("proxy", "oracle"), n=(1, 2), match="proposals", cache=False
    )
    (equal,) = results.figures(100).matched.values()
    assert (equal.baseline, list(equal.at)) == ("bon proxy", ["bon proxy", "bon oracle", "iad proxy", "iad oracle"])


def test_none_is_not_one_of_several() -> None:
    with pytest.raises(ValueError, match="none among several"):
        RunConfig(env=SHOP, agent=("shopper",), verifier=("proxy", ""))
    with pytest.raises(ValueError, match="different verifiers"):
        RunConfig(env=SHOP, agent=("shopper",), verifier=("proxy", "proxy"))
