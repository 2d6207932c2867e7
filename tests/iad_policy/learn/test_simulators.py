"""Trained simulators: how outcomes are weighed, what a model of their types learns, and what it refuses."""

from collections import Counter
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.agents import load_agent
from iad_policy.errors import SimulationError, UnknownName
from iad_policy.learn.examples import NothingToLearn
from iad_policy.learn.fidelity import fidelity
from iad_policy.learn.simulators import rebalanced, record_outcomes, train_simulator
from iad_policy.learn.splits import SplitError
from iad_policy.run.trained import TrainedHere
from iad_policy.simulators import load_simulator
from iad_policy.simulators.recorded import PROVOKED, Recorded, read
from iad_policy.trained.models import Model, ModelFolderError
from iad_policy.trained.outcomes import features_of, outcome_state, tool_of
from iad_policy.types import State
from tests.iad_policy.learn.conftest import SHOP

FEW: dict[str, Any] = {"epochs": 30}


def outcome(action: str, *, is_invalid: bool = False, source: str = "agent") -> Recorded:
    return Recorded(
        "train-0001", "buy", "a page", action, "another", {"invalid_action": is_invalid}, False, action, source
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outcomes") / "outcomes.jsonl"
    record_outcomes(SHOP, path, tasks=6)
    return path


@pytest.fixture(scope="module")
def trained(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Model:
    return train_simulator(recorded, SHOP, out=tmp_path_factory.mktemp("simulator"), **FEW)


def test_every_type_of_every_tool_has_the_same_weight() -> None:
    # Two tools. click: 6 successes and 2 failures; search: 4 successes. Three cells, so a third of the weight for each.
    records = [
        *[outcome("click[a]")] * 6, *[outcome("click[b]", is_invalid=True)] * 2, *[outcome("search[c]")] * 4,
    ]  # fmt: skip
    weights = rebalanced(records)
    assert weights.mean() == pytest.approx(1.0)
    assert [weights[:6].sum(), weights[6:8].sum(), weights[8:].sum()] == pytest.approx([4.0] * 3)
    # A weight has a cap.
    records = [*[outcome("click[a]")] * 99, outcome("click[b]", is_invalid=True)]
    assert rebalanced(records, cap=100.0)[-1] == pytest.approx(50.0)  # half of the weight of a hundred rows
    assert rebalanced(records, cap=20.0)[-1] == 20.0


def test_a_rare_failure_is_recalled_where_training_is_driven_by_failures(tmp_path: Path) -> None:
    # 95 % of the clicks work, and those of odd length mostly fail.
    rng = np.random.default_rng(0)
    tasks = gym.make(SHOP, split="train").unwrapped.task_ids  # type: ignore[attr-defined]
    records = []
    for _ in range(600):
        fails = bool(rng.random() < 0.05)
        word = "qx" * int(rng.integers(2, 5)) if fails or rng.random() < 0.1 else "ab" * int(rng.integers(2, 5))
        one = outcome(f"click[{word}]", is_invalid=fails)
        records.append(one._replace(task_id=tasks[int(rng.integers(len(tasks)))]))
    train_simulator(records, SHOP, out=tmp_path / "normal", failures=0.0, **FEW)
    train_simulator(records, SHOP, out=tmp_path / "failures", **FEW)
    recall = {}
    for name in ("normal", "failures"):
        simulator: Any = load_simulator(f"learned:{tmp_path / name}", gym.make(SHOP))
        token = State("a page", {"instruction": "buy"})
        failed = [one for one in records if one.info["invalid_action"]]
        recall[name] = np.mean([simulator.predicted(token, one.action) == "invalid" for one in failed])
    assert recall["failures"] > recall["normal"]
    assert recall["failures"] > 0.9


def test_failures_are_provoked_and_said_to_be_and_it_tells_them_on_other_tasks(recorded: Path, trained: Model) -> None:
    sources = Counter(one.source for one in read(recorded))
    assert set(sources) == {"agent", PROVOKED}
    assert trained.facts["trained_on"]["n_rows"] == sources["agent"]
    found = fidelity(gym.make(SHOP), f"learned:{trained.folder}", tasks=2)
    assert found.failure_recall is not None
    assert found.failure_recall > 0.9
    assert found.recall["success"].recall > 0.8


def test_it_is_the_same_every_time(recorded: Path, trained: Model, tmp_path: Path) -> None:
    for _ in range(2):
        assert train_simulator(recorded, SHOP, out=tmp_path, **FEW).identity == trained.identity
    with pytest.raises(ModelFolderError, match="other runs or options"):
        train_simulator(recorded, SHOP, out=tmp_path, epochs=61)


def test_an_action_is_seen_with_its_page() -> None:
    def of(page: str, *earlier: tuple[str, str], beginning: str = "[search]") -> list[float]:
        return features_of(outcome_state(beginning, earlier, page, "", "click[buy now]")).tolist()

    assert of("[buy now] [back]")[2] == 1.0
    assert of("[search]")[2] == 0.0
    # And after all that was done before: the tool, its failures, the action, its failures, the last failure.
    assert of("[search]")[9:14] == [0, 0, 0, 0, 0]
    assert of("[search]", ("click[a]", "success"), ("search[b]", "invalid"))[9:14] == [1, 0, 0, 0, 1]
    assert of("[search]", ("click[buy now]", "invalid"), ("search[b]", "success"))[9:14] == [1, 1, 1, 1, 0]
    assert [of("", beginning=first)[14] for first in ("[search]", "a [buy now]")] == [0, 1]
    assert list(map(tool_of, ("click[a]", "SELECT 1", "ls -l", 7, ""))) == ["click", "select", "ls", "7", ""]


def test_it_is_not_measured_on_its_tasks(trained: Model) -> None:
    given: dict[str, Any] = {"simulator": f"learned:{trained.folder}", "baseline": "artis", "n": 1}
    with pytest.raises(TrainedHere, match="the simulator was not trained on, got 6"):
        evaluate(SHOP, ["artis"], split="train", tasks=6, **given)
    assert evaluate(SHOP, ["artis"], tasks=1, **given).records
    env = gym.make(SHOP, split="train")
    observation, info = env.reset(options={"task_id": trained.trained_on["tasks"][0]})
    with (
        IADPolicyWrapper("shopper", env, strategy="artis", n=1, simulator=f"learned:{trained.folder}") as policy,
        pytest.raises(SimulationError, match="was not trained on"),
    ):
        policy.act(observation, info)


CLICK, REFUSED = outcome("click[a]"), outcome("click[b]", is_invalid=True)


@pytest.mark.parametrize(
    ("records", "given", "error", "said"),
    [
        ([CLICK] * 3, {}, NothingToLearn, "two types"),
        ([CLICK._replace(task_id="test-0001")], {}, SplitError, "1 other tasks, such as test-0001"),
        ([CLICK], {"failures": 2}, ValueError, "from 0 to 1, got 2"),
        ([CLICK, REFUSED], {"backend": "linear"}, UnknownName, "got 'linear'; known: hf:<model>, outcomes"),
    ],
)
def test_what_can_not_be_learned_from_is_refused(
    records: list[Recorded], given: Any, error: type[Exception], said: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=said):
        train_simulator(records, SHOP, out=tmp_path, **given)


def test_it_is_no_policy_and_a_policy_is_no_simulator(trained: Model, cloned: Model, tmp_path: Path) -> None:
    env = gym.make(SHOP)
    with pytest.raises(ModelFolderError, match="expected a policy or a value model"):
        load_agent(f"learned:{trained.folder}", env)
    with pytest.raises(ModelFolderError, match="expected a simulator"):
        load_simulator(f"learned:{cloned.folder}", env)
    with pytest.raises(SimulationError, match="pass --simulator learned:"):
        load_simulator(f"llm:{trained.folder}", env)
    with pytest.raises(SplitError, match="split 'train'"):
        record_outcomes("CartPole-v1", tmp_path / "o.jsonl")
