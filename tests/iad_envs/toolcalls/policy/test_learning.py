"""Learning from conversations with function calls: values and evaluators on their features, and simulators."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.learn.explore import explore
from iad_policy.learn.simulators import record_outcomes, train_simulator
from iad_policy.learn.train import train
from iad_policy.simulators import load_simulator
from iad_policy.simulators.recorded import PROVOKED, read
from iad_policy.types import AWAITING, PublicInfo, State
from iad_policy.types.outcome_types import type_of
from iad_policy.world import adapt
from tests.iad_envs.toolcalls.policy.all_readers import read_by_all

BFCL, ACEBENCH = "IAD/BFCL-v0", "IAD/ACEBench-v0"
EXPLORED: dict[str, dict[str, Any]] = {
    BFCL: {"tasks": 4},
    ACEBENCH: {"tasks": 12, "env_args": {"category": "agent_multi_turn"}},
}
FEW: dict[str, Any] = {"epochs": 10}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outcomes") / "outcomes.jsonl"
    record_outcomes(BFCL, path, agents=("solution:0.3",), tasks=4)
    return path


@pytest.mark.parametrize("env", EXPLORED)
def test_value_models_and_evaluators_learn_from_episodes_and_trees(env: str, tmp_path: Path) -> None:
    given = dict(EXPLORED[env])
    grown = explore(env, "solution:0.5", how="tree", out=tmp_path / "tree", **{**given, "tasks": 2})
    value = train("qnet", grown, out=tmp_path / "qnet", **FEW)
    judge = train("evaluator", explore(env, out=tmp_path / "mixed", **given), out=tmp_path / "evaluator", **FEW)
    shown = evaluate(
        env,
        ["single", "bon", "artis"],
        2,
        verifier=f"qnet:{value.folder}",
        roles={"evaluator": f"learned:{judge.folder}"},
        n=2,
        env_args=EXPLORED[env].get("env_args", {}),
    )
    assert not any(one.error_kind for records in shown.records.values() for one in records)


def test_outcomes_are_of_the_types_of_their_findings(outcomes: Path) -> None:
    found = list(read(outcomes))
    kinds = {(type_of(one.info, one.done), one.source) for one in found}
    assert {("success", "agent"), ("tool_error", "agent"), ("invalid", PROVOKED)} <= kinds
    assert ("unknown_function", PROVOKED) in kinds
    assert any(one.info["stop_reason"] == AWAITING for one in found)


@pytest.mark.parametrize("driven", ["normal", "failures"])
def test_attempts_are_made_with_a_trained_simulator(outcomes: Path, driven: str, tmp_path: Path) -> None:
    trained = train_simulator(outcomes, BFCL, out=tmp_path, driven=driven, **FEW)
    simulator = f"learned:{trained.folder}"
    shown = evaluate(
        BFCL, ["artis"], 2, n=2, agent="plan-following:solution:0.2", simulator=simulator, baseline="artis"
    )
    (records,) = shown.records.values()
    assert not any(one.error_kind for one in records)
    assert all(one.usage["simulator"]["simulations"] > 0 for one in records)


def test_what_a_simulator_remembers_is_read_by_everybody(outcomes: Path) -> None:
    env = gym.make(BFCL)
    observation, info = env.reset(seed=0)
    world = adapt(env)
    world.begin(observation)
    here = State(observation, PublicInfo(info, world.gold_keys), steps_left=world.max_steps, id="here")
    simulator = load_simulator(f"retrieval:{outcomes}", env)
    for action in ("[nothing_such(a=1)]", "[find_books(words='x')]", "no action", "[]", "reply[Done.]"):
        for draw in range(3):
            outcome = simulator.simulate(world, simulator.begin(world, here), action, draw)
            further = simulator.simulate(world, outcome.token, "[read_note(title='x')]", draw)
            for one in (outcome, further):
                read_by_all(one.token.as_state(), here, action)
    env.close()
