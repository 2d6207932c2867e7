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

SMALL: dict[str, Any] = {"tasks": 4, "demos": 2, "rounds": 1, "epochs": 5, "dev_tasks": 3}
HOW: dict[str, dict[str, Any]] = {
    "done": {"method": "rft", **SMALL},
    "buffered": {"method": "eto", "buffer": "all", **SMALL, "rounds": 2},
}


@pytest.fixture(scope="module")
def improved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Improved]]:
    """A whole improvement by rft, and two rounds of eto, the second on the episodes of both."""
    out = tmp_path_factory.mktemp("improve")
    return {name: (out / name, improve(SHOP, out=out / name, **given)) for name, given in HOW.items()}


@pytest.mark.parametrize("method", [name for name in METHODS if name != "rft"])
def test_every_method_makes_a_policy_a_round(method: str, tmp_path: Path) -> None:
    told: list[str] = []
    found = improve(SHOP, method, out=tmp_path, report=told.append, **SMALL)
    assert len(found.dev) == 2
    assert found.dev[found.best] == max(found.dev)
    assert found.agent == f"learned:{tmp_path / f'model-{found.best}'}"
    assert load_model(tmp_path / "model-1").facts["recipe"] == METHODS[method].recipe
    assert any(line.startswith("round 1: mean reward") for line in told)


def test_a_buffer_of_all_rounds_keeps_the_likelihoods_of_each_rounds_policy(improved: Any, tmp_path: Path) -> None:
    out, found = improved["buffered"]
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
    ("kind", "lost"), [("done", "dev-1"), ("done", "model-0"), ("buffered", "round-2"), ("buffered", "model-2")]
)
def test_wherever_it_is_stopped_it_ends_as_if_it_was_not(kind: str, lost: str, improved: Any) -> None:
    out, found = improved[kind]
    models = {path: load_model(path).identity for path in out.glob("model-*")}
    for stage in STAGES[STAGES.index(lost) :]:
        shutil.rmtree(out / stage, ignore_errors=True)  # there may be no second round
    assert improve(SHOP, out=out, **HOW[kind]) == found
    assert {path: load_model(path).identity for path in models} == models
    # Gold is read in train and dev, and test is not touched.
    for path in out.glob("*/config.json"):
        assert read_config(path.parent)["tasks_of"] == ("dev" if path.parent.name.startswith("dev") else "train")


@pytest.mark.parametrize(
    ("method", "given", "said"),
    [
        ("dpo", {"env": "CartPole-v1"}, r"got CartPole-v1.* features=module:Class"),
        ("dpo", {"env": "IAD/BFCL-v0"}, "offer actions to choose from, .* --backend hf:"),
        ("sft", {}, "method, got 'sft' .*known: .*rft"),
        ("dpo", {"buffer": "last"}, "buffer, got 'last'; known: all, newest"),
        ("dpo", {"buffer": "all", "reference": "start"}, r"reference=behaviour .* \(buffer=newest\)"),
    ],
)
def test_what_can_not_be_is_refused_before_anything_runs(
    method: str, given: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=said):
        improve(**{"env": SHOP, "method": method, "out": tmp_path / "rounds", **given})
    assert not (tmp_path / "rounds").exists()
