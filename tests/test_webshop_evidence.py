"""The measurement of the shop's verifier: purchases with their success, and what its scores say about them."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import pytest

from iad_envs.webshop.policy.fit import WEIGHTS

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(FOLDER)
    yield importlib.import_module("support.webshop_verifier")
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


def golds(shop: ModuleType, *arguments: Any, **options: Any) -> list[Any]:
    return [one for one in shop.purchases(*arguments, **options) if one.members[0].source == "gold"]


def test_purchases_are_those_that_the_environment_rewards(shop: ModuleType) -> None:
    found = list(shop.purchases(shop.HELD_OUT, n_tasks=4))
    sources = {one.members[0].source for one in found}
    assert sources == {"agents", "random", "gold", "open option", "other value", "other product"}
    env = gym.make("IAD/WebShop-v0", split=None)
    for one in found:
        source, candidate, is_right = one.members[0]
        env.reset(options={"task_id": one.task_id})
        for turn in one.state.history:
            env.step(turn.action)
        *_, info = env.step(candidate.action)
        assert info["success"] == is_right == (source == "gold" or is_right)
        assert candidate.preview.gold is None


def test_halves_of_tasks_share_no_product(shop: ModuleType) -> None:
    products = []
    for is_held_out in (False, True):
        tasks = shop.TaskSet(shop.BUNDLED, ("dev",), is_held_out=is_held_out)
        products.append({one.state.info["page"]["asin"] for one in golds(shop, tasks, n_tasks=8)})
    assert [len(asins) for asins in products] == [8, 8]
    assert not products[0] & products[1]


def test_scores_of_purchases_tell_success_on_tasks_that_were_not_fitted(shop: ModuleType) -> None:
    found = shop.webshop_evidence(n_tasks=60)
    assert found.auc >= 0.75
    assert found.interval.low > 0.75
    assert found.ece < 0.1


@pytest.mark.slow
def test_the_weights_are_those_that_the_script_prints(shop: ModuleType) -> None:
    assert shop.fit(list(shop.purchases(shop.FITTING))) == pytest.approx(WEIGHTS, abs=0.01)
