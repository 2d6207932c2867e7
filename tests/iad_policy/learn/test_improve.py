"""Rounds of exploring and training: what they read, what they choose, and how they go on after a kill."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from iad_policy.errors import UnknownName
from iad_policy.learn.improve import METHODS, Improved, improve
from iad_policy.ledger.run_folder import read_config
from iad_policy.trained.models import load_model
from tests.iad_policy.learn.conftest import SHOP

SMALL: dict[str, Any] = {"tasks": 4, "demos": 2, "rounds": 1, "epochs": 10, "dev_tasks": 6}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Improved]:
    """A whole improvement by rft."""
    out = tmp_path_factory.mktemp("improve") / "rft"
    return out, improve(SHOP, "rft", out=out, **SMALL)


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


@pytest.mark.parametrize("lost", ["dev-1", "round-1", "model-0"])
def test_wherever_it_is_stopped_it_ends_as_if_it_was_not(lost: str, done: tuple[Path, Improved]) -> None:
    out, found = done
    models = [load_model(out / f"model-{number}").identity for number in (0, 1)]
    stages = ["demos", "model-0", "dev-0", "round-1", "model-1", "dev-1"]
    for stage in stages[stages.index(lost) :]:
        shutil.rmtree(out / stage)
    assert improve(SHOP, "rft", out=out, **SMALL) == found
    assert [load_model(out / f"model-{number}").identity for number in (0, 1)] == models


def test_an_unknown_method_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="rft"):
        improve(SHOP, "sft", out=tmp_path)
