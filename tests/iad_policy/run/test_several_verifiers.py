"""Several verifiers in one run: each strategy that asks one has a row per verifier, on the same proposals."""

from pathlib import Path
from typing import Any

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


def test_each_verifier_has_its_rows_and_label_and_is_compared_with_itself(folder: Path) -> None:
    results = read_results(folder)
    figures = results.figures(100)
    assert list(results.records) == ["single", "bon proxy", "bon oracle", "iad proxy", "iad oracle"]
    table = results.table(120)
    assert all(part in table for part in ("verifiers proxy, oracle", "proxy: proxy", "*** oracle: oracle"))
    stored = results.as_json(figures)
    assert (stored["verifier"], set(stored["verifiers"])) == (("proxy", "oracle"), {"proxy", "oracle"})
    assert stored["informations"] == {"proxy": "proxy", "oracle": "oracle"}
    assert {row: one.baseline for row, one in figures.differences.items()} == {
        "single": "bon proxy",
        "bon oracle": "bon proxy",
        "iad proxy": "bon proxy",
        "iad oracle": "bon oracle",
    }


def test_one_baseline_and_curves_of_several_verifiers() -> None:
    asked: dict[str, Any] = {"split": "test", "verifier": ("proxy", "oracle"), "cache": False}
    single = evaluate(SHOP, STRATEGIES, 2, baseline="single", **asked)
    assert {one.baseline for one in single.figures(100).differences.values()} == {"single"}
    results = evaluate(SHOP, ["bon", "iad"], 5, n=(1, 2), match="proposals", **asked)
    (equal,) = results.figures(100).matched.values()
    assert (equal.baseline, list(equal.at)) == ("bon proxy", ["bon proxy", "bon oracle", "iad proxy", "iad oracle"])


@pytest.mark.parametrize(("verifiers", "said"), [(("proxy", ""), "none among"), (("proxy", "proxy"), "different")])
def test_none_and_the_same_are_not_among_several(verifiers: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        RunConfig(env=SHOP, agent=("shopper",), verifier=verifiers)
