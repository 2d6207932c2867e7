"""A run on the booking site as its reader meets it: the report, the exports, AgentBoard's files, a noisy simulator."""

import json
from pathlib import Path

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_policy import IADPolicyWrapper, evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.agentboard import write_agentboard

ENV = "IAD/Booking-v0"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("runs") / "booking"
    evaluate(ENV, ["single", "bon"], n=2, tasks=2, out=folder)
    return Run(folder)


def test_agentboard_s_files_have_it_among_the_websites(run: Run, tmp_path: Path) -> None:
    write_agentboard([run], tmp_path)
    lines = (tmp_path / "bon" / "all_results.txt").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["task_name"] for line in lines] == ["booking", "web_summary", "all_summary"]


def test_it_is_played_with_a_simulator_that_errs() -> None:
    env = gym.make(ENV)
    with IADPolicyWrapper("booker", env, strategy="bon", n=2, verifier="proxy", simulator="noisy:0.5") as policy:
        observation, info = env.reset(options={"task_id": "test-000"})
        while not info["stop_reason"]:
            observation, _, _, _, info = env.step(policy.act(observation, info))
        assert policy.spent["simulator"].simulations > 0
