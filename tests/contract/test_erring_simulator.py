"""Every strategy keeps its promises under a simulator that errs: it is pure, so nothing depends on threads or logs."""

from pathlib import Path

import pytest

from tests.contract.players import STRATEGIES, declared, play

WITHOUT_GOLD = [name for name, how in STRATEGIES.items() if declared(how).needs != "oracle"]


@pytest.mark.parametrize("name", WITHOUT_GOLD)
def test_threads_and_logs_change_no_commit(name: str, tmp_path: Path) -> None:
    how = {**STRATEGIES[name], "simulator": "noisy:0.5"}
    plain = play("digger", how)
    for options in ({"threads": 4}, {"log": tmp_path}):
        other = play("digger", how, **options)
        assert (other.actions, other.counts) == (plain.actions, plain.counts)
    again = play("digger", how, log=tmp_path)
    assert again.actions == plain.actions
    assert not again.counts["agent"], "everything is in the log"


@pytest.mark.parametrize("name", WITHOUT_GOLD)
def test_a_limit_on_what_the_simulator_does_is_never_passed(name: str) -> None:
    budget = {"decision.simulator.simulations": 2}
    played = play("digger", {**STRATEGIES[name], "simulator": "noisy:0.5"}, budget=budget)
    assert all(decision.usage.simulations <= 2 for decision in played.decisions)
    assert {decision.cut for decision in played.decisions} <= {"", "decision.simulator.simulations"}
