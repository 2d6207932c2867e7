"""No action of an agent costs an episode: whatever is tried or committed, every episode ends with a score."""

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import pytest

from iad_envs.data import data_folder
from iad_envs.sketch2code.page import RenderLimits
from iad_envs.sketch2code.tasks import load_assets
from iad_policy import evaluate
from iad_policy.report.results import Results
from iad_policy.types import Candidate, State
from tests.browser import Browsers
from tests.effort import some
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
EVERY = {"IAD/InterCodeBash-v0": 4, "IAD/Sketch2Code-v0": 10}
"""Which of the actions `make test` tries, where they last as long as the limits allow."""
HASTY = RenderLimits(load_s=0.5, collect_s=0.5, screenshot_s=0.5)
N_PARTS, N_ACTIONS, N_TASKS, N_STEPS = 10, 20, 5, 4
"""200 actions against each environment, in parts of which `make test` has one."""


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


def lost_in(results: Results, n: int) -> list[tuple[str, str, str]]:
    """The episodes of a run of n that have no score, and why."""
    records = [record for own in results.records.values() for record in own]
    assert len(records) == n
    return [
        (one.task_id, one.error, one.failed_verdict)
        for one in records
        if not one.is_scored or one.success is None or not math.isfinite(one.reward) or one.n_failed_verdicts
    ]


@pytest.mark.parametrize(("env", "arguments"), CASES, ids=lambda one: one if isinstance(one, str) else "")
@pytest.mark.parametrize("strategy", ["single", "bon"])
@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[pytest.mark.slow] * (seed > 0)) for seed in range(N_PARTS)])
def test_every_episode_ends_with_a_score(
    env: str, arguments: Mapping[str, Any], strategy: str, seed: int, tmp_path: Path, browsers: Browsers
) -> None:
    actions = hostile_actions(env, N_ACTIONS, seed=seed)
    agent = Hostile(some(actions, EVERY.get(env, 1)))
    lost = []
    with ExitStack() as stack:
        if "Sketch" in env:
            assets = load_assets(data_folder("sketch2code").resolve())
            stack.enter_context(browsers.leased(scripts=True, assets=assets)).limits = HASTY
        while agent.left:
            results = evaluate(
                env, strategy, N_TASKS, agent=agent, n=2, seed=len(agent.left), out=tmp_path / str(len(agent.left)),
                env_args={**arguments, "max_steps": N_STEPS},
            )  # fmt: skip
            lost += lost_in(results, N_TASKS)
    assert lost == []


def test_candidates_that_each_fill_the_disk_cost_no_episode() -> None:
    actions = [f"head -c 15M /dev/zero >/tmp/{number}; cd /tmp" for number in range(24)]
    arguments = {"limits": {"disk_mb": 16, "memory_mb": 48}, "max_steps": 2}
    agent = Hostile(actions)
    assert not lost_in(evaluate("IAD/InterCodeBash-v0", "bon", 1, agent=agent, n=12, env_args=arguments), 1)
    assert not agent.left


def test_every_environment_is_attacked() -> None:
    assert set(ARGUMENTS) == set(DRAWN)
