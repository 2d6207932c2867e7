"""The rule-based agent of `IAD/InterCodeBash-v0`, on hand-made states."""

from random import Random
from typing import Any

import pytest

from iad_envs.bash.policy.agent import BashAgent, plans_for
from iad_envs.bash.policy.instruction import read_instruction
from iad_policy.types import Candidate, Feedback, State, Turn
from tests.iad_envs.bash.policy.shell_states import state

COUNT = "How many .log files are there under /a/logs?"
DELETE = "Delete all .tmp files under /a/b."


def proposed(agent: BashAgent, at: State, feedback: Feedback | None = None, seed: int = 0) -> Any:
    return agent.propose(at, feedback=feedback, temperature=None, rng=Random(seed)).action


def test_greedy_it_takes_the_fitting_pattern_and_submits_what_did_something() -> None:
    agent = BashAgent(temperature=0)
    assert proposed(agent, state(COUNT)) == "find /a/logs -type f -name '*.log' | wc -l"
    assert proposed(agent, state(DELETE)) == "find /a/b -type f -name '*.tmp' -delete"
    history = (Turn("", "find /a/logs -name '*.log'", state(COUNT).info),)
    done, failed = state(COUNT, output="4\n"), state(COUNT, output="find: no\n", exit_code=1)
    assert proposed(agent, State("", done.info, history=history)) == "submit"
    assert proposed(agent, State("", failed.info, history=history)) not in ("submit", history[0].action)
    assert proposed(BashAgent(), state("Hm.")) == "ls -la"  # where it knows no command
    with pytest.raises(ValueError, match="temperature of 0 or more"):
        BashAgent(temperature=-1)


def test_a_temperature_makes_it_slip_and_feedback_keeps_it_near_best_and_off_worst() -> None:
    agent = BashAgent()
    assert len({proposed(agent, state(COUNT), seed=seed) for seed in range(40)}) > 5
    best, worst = Candidate("find /a/logs -name '*.log' | wc -l"), Candidate("find /a/logs -type f -name '*.log'")
    told = Feedback(best=best, worst=worst)
    plans = plans_for(read_instruction(COUNT))
    (kept,) = [plan for plan in plans if plan.command == best.action]
    near = {plan.command for plan in plans if plan.is_near(kept)}
    alone, informed = (
        [proposed(agent, state(COUNT), feedback, seed) for seed in range(200)] for feedback in (None, told)
    )
    assert not {best.action, worst.action} & set(informed)
    assert sum(action in near for action in informed) > sum(action in near for action in alone)
