"""Rounds of exploring and training: what they read, what they choose, and how they go on after a kill."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from iad_policy.learn.experience import Experience
from iad_policy.learn.improve import METHODS, Improved, improve
from iad_policy.learn.train import train
from iad_policy.ledger.run_folder import read_config
from iad_policy.trained.models import load_model
from tests.iad_policy.learn.conftest import SHOP

SMALL: dict[str, Any] = {"tasks": 4, "demos": 2, "rounds": 1, "epochs": 10, "dev_tasks": 6}
HOW: dict[str, dict[str, Any]] = {
    "done": {"method": "rft", **SMALL},
    "buffered": {"method": "eto", "buffer": "all", **SMALL, "rounds": 2},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Improved]:
    """A whole improvement by rft."""
    out = tmp_path_factory.mktemp("improve") / "rft"
    return out, improve(SHOP, out=out, **HOW["done"])


@pytest.mark.parametrize("method", [name for name in METHODS if name != "rft"])
def test_every_method_makes_a_policy_a_round(method: str, tmp_path: Path) -> None:
    told: list[str] = []
    found = improve(SHOP, method, out=tmp_path, report=told.append, **SMALL)
    assert len(found.dev) == 2
    assert found.dev[found.best] == max(found.dev)
    assert found.agent == f"learned:{tmp_path / f'model-{found.best}'}"
    assert load_model(tmp_path / "model-1").facts["recipe"] == METHODS[method].recipe
    assert any(line.startswith("round 1: mean reward") for line in told)


def test_gold_is_read_in_train_and_dev_and_test_is_not_touched(done: tuple[Path, Improved]) -> None:
    splits = {path.parent.name: read_config(path.parent)["tasks_of"] for path in done[0].glob("*/config.json")}
    assert splits == {"demos": "train", "round-1": "train", "dev-0": "dev", "dev-1": "dev"}


@pytest.fixture(scope="module")
def buffered(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Improved]:
    """Two rounds of eto, the second on the episodes of both."""
    out = tmp_path_factory.mktemp("improve") / "buffered"
    return out, improve(SHOP, out=out, **HOW["buffered"])


def test_a_buffer_of_all_rounds_keeps_the_likelihoods_of_each_rounds_policy(
    buffered: tuple[Path, Improved], tmp_path: Path
) -> None:
    out, found = buffered
    model = load_model(out / "model-2")
    of_rounds = model.trained_on["n_rows_of"]
    assert set(of_rounds) == {"round-1", "round-2"}
    assert sum(of_rounds.values()) == model.trained_on["n_rows"]
    assert set(load_model(out / "model-1").trained_on["n_rows_of"]) == {"round-1"}
    start = out / f"model-{Improved(out, found.dev[:2]).best}"
    both = Experience.joined([Experience.of([out / f"round-{number}"]) for number in (2, 1)])
    by_hand = {
        name: train("eto", both, out=tmp_path / name, start=start, beta=0.5, reference=name, epochs=SMALL["epochs"])
        for name in ("behaviour", "start")
    }
    assert model.identity == by_hand["behaviour"].identity != by_hand["start"].identity


STAGES = ("demos", "model-0", "dev-0", "round-1", "model-1", "dev-1", "round-2", "model-2", "dev-2")


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        *(("done", stage) for stage in ("dev-1", "round-1", "model-0")),
        *(("buffered", stage) for stage in ("model-1", "round-2", "model-2")),
    ],
)
def test_wherever_it_is_stopped_it_ends_as_if_it_was_not(kind: str, lost: str, request: pytest.FixtureRequest) -> None:
    out, found = request.getfixturevalue(kind)
    models = {path: load_model(path).identity for path in out.glob("model-*")}
    for stage in STAGES[STAGES.index(lost) :]:
        shutil.rmtree(out / stage, ignore_errors=True)  # there may be no second round
    assert improve(SHOP, out=out, **HOW[kind]) == found
    assert {path: load_model(path).identity for path in models} == models


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("dpo", {"env": "CartPole-v1"}, r"got CartPole-v1, whose class declares none; .* features=module:Class"),
        ("dpo", {"env": "IAD/BFCL-v0"}, r"features offer actions to choose from, .* --backend hf:"),
        ("sft", {}, "expected a known method, got 'sft' .*known: .*rft"),
        ("dpo", {"buffer": "last"}, "expected a known buffer, got 'last'; known: all, newest"),
        ("dpo", {"buffer": "all", "reference": "start"}, r"expected reference=behaviour .* \(buffer=newest\)"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_runs(
    method: str, given: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=said):
        improve(**{"env": SHOP, "method": method, "out": tmp_path / "rounds", **given})
    assert not (tmp_path / "rounds").exists()
