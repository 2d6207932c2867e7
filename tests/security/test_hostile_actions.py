"""No action of an agent costs an episode: whatever is tried or committed, every episode ends with a score."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from iad_policy import evaluate
from iad_policy.types import Candidate, State
from tests.browser import without_chromium
from tests.security.hostile_actions import DRAWN, hostile_actions

ARGUMENTS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "IAD/WebShop-v0": ({},),
    "IAD/InterCodeBash-v0": ({"limits": {"time_s": 0.5}},),
    "IAD/BIRD-v0": ({"time_limit_s": 0.5, "score_limit_s": 0.5},),
    "IAD/Sketch2Code-v0": ({"scripts": True},),
    "IAD/Booking-v0": ({},),
    "IAD/BFCL-v0": ({"category": "multi_turn"}, {"category": "single_turn"}),
    "IAD/ACEBench-v0": ({"category": "agent"}, {"category": "normal"}),
}
CASES = [(env, arguments) for env, several in ARGUMENTS.items() for arguments in several]
N_ACTIONS, N_TASKS, N_STEPS = 20, 5, 4


class Hostile:
    """Proposes one action after the other, with the names of functions that are offered."""

    def __init__(self, actions: Sequence[str]) -> None:
        self.left = list(actions)[::-1]

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        action = self.left.pop() if self.left else "nothing"
        if tools := state.info["page"].get("tools"):
            tool = rng.choice(tools)
            parameters = [*tool["parameters"].get("properties", {}), "x"]
            action = action.replace("TOOL", tool["name"]).replace("PARAM", rng.choice(parameters))
        return Candidate(action)


@pytest.mark.parametrize(("env", "arguments"), CASES, ids=lambda one: one if isinstance(one, str) else "")
@pytest.mark.parametrize("strategy", ["single", "bon"])
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 0)) for seed in range(10)])
def test_every_episode_ends_with_a_score(
    env: str, arguments: Mapping[str, Any], strategy: str, seed: int, tmp_path: Path
) -> None:
    if "Sketch" in env and (reason := without_chromium()):
        pytest.skip(reason)
    agent = Hostile(hostile_actions(env, N_ACTIONS, seed=seed))
    lost = []
    while agent.left:
        results = evaluate(
            env, strategy, N_TASKS, agent=agent, n=2, seed=len(agent.left), out=tmp_path / str(len(agent.left)),
            env_args={**arguments, "max_steps": N_STEPS},
        )  # fmt: skip
        records = [record for own in results.records.values() for record in own]
        assert len(records) == N_TASKS
        lost += [
            (one.task_id, one.error, one.failed_verdict)
            for one in records
            if not one.is_scored or one.success is None or not math.isfinite(one.reward) or one.n_failed_verdicts
        ]
    assert lost == []


def test_every_environment_is_attacked() -> None:
    assert set(ARGUMENTS) == set(DRAWN)
