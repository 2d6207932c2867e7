"""Learning from conversations with function calls: values and evaluators on their features, and simulators."""

from dataclasses import replace
from pathlib import Path

import pytest

from iad_policy import evaluate
from iad_policy.learn.explore import explore
from iad_policy.learn.simulators import record_outcomes, train_simulator
from iad_policy.learn.train import train
from iad_policy.simulators import load_simulator
from iad_policy.simulators.recorded import PROVOKED, read
from iad_policy.types import AWAITING
from iad_policy.types.outcome_types import type_of
from iad_policy.world import adapt
from tests.iad_envs.toolcalls.policy.talks import Talk, read_by_all

BFCL = "IAD/BFCL-v0"


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("outcomes") / "outcomes.jsonl"
    record_outcomes(BFCL, path, agents=("solution:0.3",), tasks=4)
    return path


@pytest.mark.parametrize(
    ("env", "tasks", "env_args"), [(BFCL, 4, {}), ("IAD/ACEBench-v0", 12, {"category": "agent_multi_turn"})]
)
def test_value_models_and_evaluators_learn_from_episodes_and_trees(
    env: str, tasks: int, env_args: dict[str, str], tmp_path: Path
) -> None:
    grown = explore(env, "solution:0.5", how="tree", out=tmp_path / "tree", tasks=2, env_args=env_args)
    value = train("qnet", grown, out=tmp_path / "qnet", epochs=10)
    mixed = explore(env, out=tmp_path / "mixed", tasks=tasks, env_args=env_args)
    judge = train("evaluator", mixed, out=tmp_path / "evaluator", epochs=10)
    roles = {"evaluator": f"learned:{judge.folder}"}
    strategies = ["single", "bon", "artis"]
    shown = evaluate(env, strategies, 2, verifier=f"qnet:{value.folder}", roles=roles, n=2, env_args=env_args)
    assert not any(one.error_kind for records in shown.records.values() for one in records)


def test_outcomes_are_of_the_types_of_their_findings_and_read_by_everybody(outcomes: Path) -> None:
    found = list(read(outcomes))
    kinds = {(type_of(one.info, one.done), one.source) for one in found}
    wanted = {("success", "agent"), ("tool_error", "agent"), ("invalid", PROVOKED), ("unknown_function", PROVOKED)}
    assert wanted <= kinds
    assert any(one.info["stop_reason"] == AWAITING for one in found)
    talk = Talk("multi_turn_base_13")
    world, here = adapt(talk.env), replace(talk.state, id="here")
    world.begin(here.observation)
    simulator = load_simulator(f"retrieval:{outcomes}", talk.env)
    for action in ("[nothing_such(a=1)]", "[find_books(words='x')]", "no action", "[]", "reply[Done.]"):
        for draw in range(3):
            outcome = simulator.simulate(world, simulator.begin(world, here), action, draw)
            further = simulator.simulate(world, outcome.token, "[read_note(title='x')]", draw)
            for one in (outcome, further):
                read_by_all(one.token, here, action)


def test_attempts_are_made_with_a_trained_simulator(outcomes: Path, tmp_path: Path) -> None:
    trained = train_simulator(outcomes, BFCL, out=tmp_path, failures=1.0, epochs=10)
    how = {"env_args": {"max_steps": 6}, "baseline": "artis", "simulator": f"learned:{trained.folder}"}
    shown = evaluate(BFCL, ["artis"], 2, n=2, agent="plan-following:random", **how)
    (records,) = shown.records.values()
    assert not any(one.error_kind for one in records)
    assert all(one.usage["simulator"]["simulations"] > 0 for one in records)
