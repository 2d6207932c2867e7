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


def test_greedy_it_takes_the_fitting_pattern_and_submits_what_did_something() -> None:
    agent = BashAgent(temperature=0)

    def propose(at: State) -> Any:
        return agent.propose(at, feedback=None, temperature=None, rng=Random(0)).action

    assert propose(state(COUNT)) == "find /a/logs -type f -name '*.log' | wc -l"
    assert propose(state(DELETE)) == "find /a/b -type f -name '*.tmp' -delete"
    history = (Turn("", "find /a/logs -name '*.log'", state(COUNT).info),)
    done, failed = state(COUNT, output="4\n"), state(COUNT, output="find: no\n", exit_code=1)
    assert propose(State("", done.info, history=history)) == "submit"
    assert propose(State("", failed.info, history=history)) not in ("submit", history[0].action)


def test_a_temperature_makes_it_slip_and_feedback_keeps_it_near_best_and_off_worst() -> None:
    agent = BashAgent()
    drawn = {
        agent.propose(state(COUNT), feedback=None, temperature=None, rng=Random(seed)).action for seed in range(40)
    }
    assert len(drawn) > 5
    best, worst = Candidate("find /a/logs -name '*.log' | wc -l"), Candidate("find /a/logs -type f -name '*.log'")
    told = Feedback(best=best, worst=worst)
    plans = plans_for(read_instruction(COUNT))
    kept = [plan for plan in plans if plan.command == best.action]

    def share_near(feedback: Feedback | None) -> float:
        actions = [
            agent.propose(state(COUNT), feedback=feedback, temperature=None, rng=Random(seed)).action
            for seed in range(200)
        ]
        assert feedback is None or not {best.action, worst.action} & set(actions)
        near = {plan.command for plan in plans if plan.is_near(kept[0])}
        return sum(action in near for action in actions) / len(actions)

    assert share_near(told) > share_near(None)


def test_it_says_so_where_it_knows_no_command_and_refuses_a_negative_temperature() -> None:
    agent = BashAgent()
    assert agent.propose(state("Hm."), feedback=None, temperature=None, rng=Random(0)).action == "ls -la"
    with pytest.raises(ValueError, match="temperature of 0 or more"):
        BashAgent(temperature=-1)
