"""The measurement of the shop's verifier: purchases with their success, and what its scores say about them."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import gymnasium as gym
import pytest

from iad_envs.webshop.policy.fit import WEIGHTS

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    monkeypatch.syspath_prepend(FOLDER)
    from support import fit_webshop_verifier, webshop_candidates, webshop_evidence

    yield SimpleNamespace(candidates=webshop_candidates, evidence=webshop_evidence, fitting=fit_webshop_verifier)
    for name in [name for name in sys.modules if name.partition(".")[0] == "support"]:
        del sys.modules[name]


def test_purchases_are_those_that_the_environment_rewards(shop: SimpleNamespace) -> None:
    found = list(shop.candidates.purchases(shop.evidence.HELD_OUT, n_tasks=4))
    sources = {one.source for one in found}
    assert sources == {"agents", "random", "gold", "open option", "other value", "other product"}
    assert all(one.is_right for one in found if one.source == "gold")
    env = gym.make("IAD/WebShop-v0", split=None)
    for one in found:
        env.reset(options={"task_id": one.task_id})
        for turn in one.state.history:
            env.step(turn.action)
        *_, info = env.step(one.candidate.action)
        assert info["success"] == one.is_right
        assert one.candidate.preview.gold is None
    # Halves of tasks share no product.
    held_out = {one.state.info["page"]["asin"] for one in found if one.source == "gold"}
    tasks = shop.candidates.TaskSet(shop.candidates.BUNDLED, ("dev",), is_held_out=False)
    fitted = {
        one.state.info["page"]["asin"] for one in shop.candidates.purchases(tasks, n_tasks=20) if one.source == "gold"
    }
    assert len(fitted) == 20
    assert not held_out & fitted


def test_scores_of_purchases_tell_success_on_tasks_that_were_not_fitted(shop: SimpleNamespace) -> None:
    found = shop.evidence.webshop_evidence(n_tasks=60)
    assert found.auc >= 0.75
    assert found.interval.low > 0.75
    assert found.ece < 0.1


def test_purchases_of_other_agents_are_measured_instead(shop: SimpleNamespace, tmp_path: Path) -> None:
    made = [one for one in shop.candidates.purchases(shop.evidence.HELD_OUT, n_tasks=3) if one.source == "gold"]
    file = tmp_path / "purchases.jsonl"
    rows = [
        {"task_id": one.task_id, "source": "model", "actions": [turn.action for turn in one.state.history]}
        for one in made
    ]
    rows += [{"task_id": made[0].task_id, "source": "model", "actions": ["search[boots]"]}]  # buys nothing
    file.write_text("\n".join(map(json.dumps, rows)))
    found = shop.evidence.webshop_evidence(recorded=[file])
    assert (found.auc, found.n_pos, found.n_neg) == (None, 3, 0)


@pytest.mark.slow
def test_the_weights_are_those_that_the_script_prints(shop: SimpleNamespace) -> None:
    fitted = shop.fitting.fit(list(shop.candidates.purchases(shop.candidates.FITTING)))
    assert fitted == pytest.approx(WEIGHTS, abs=0.01)
