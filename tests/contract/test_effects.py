"""Every environment says in its own words what failed, and whether the world changed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.core import OVER
from iad_policy.world import adapt
from tests.contract.rule_based import made


class Case(NamedTuple):
    """An action, and what is said of it: a part of the failure, "" for none, and whether the world changed."""

    env: str
    action: str
    failure: str = ""
    changed: bool = False
    after: Sequence[str] = ()
    category: str = ""


SHOP, SHELL, BIRD, RESERVING, SKETCH = (
    f"IAD/{name}-v0" for name in ("WebShop", "InterCodeBash", "BIRD", "Booking", "Sketch2Code")
)
CALLS, ACE = "IAD/BFCL-v0", "IAD/ACEBench-v0"
SITE = "GOTO [/r/bistro-almond-tree-port-alder?date=2026-06-17&time=19:00&party=2]"
AGENT, QUESTION = "agent_multi_step", "single_turn"
CASES = [
    Case(SHOP, "search[lamp]", changed=True),
    Case(SHOP, "click[nothing such]", "is not possible here"),
    Case(SHOP, "search[lamp]", after=["search[lamp]"]),
    Case(SHELL, "touch /new", changed=True),
    Case(SHELL, "cd /usr", changed=True),
    Case(SHELL, "echo one"),
    Case(SHELL, "ls /none", "exit status 2. ls: cannot access"),
    Case(SHELL, "nonesuch", "expected commands that exist here"),
    Case(SHELL, "touch /new; false", "exit status 1", changed=True),
    Case(SHELL, "submit", changed=True, after=["ls /none"]),
    Case(SHELL, " ", "expected a command", after=["ls /none"]),
    Case(BIRD, "execute[SELECT 1]"),
    Case(BIRD, "execute[SELECT x]", "no such column: x"),
    Case(BIRD, "sing", "expected execute[SQL]", after=["execute[SELECT x]"]),
    Case(BIRD, "submit[SELECT 1]", changed=True),
    Case(BIRD, "submit[SELECT x]", "no such column: x", changed=True),
    Case(RESERVING, "CLICK [mine]", changed=True),
    Case(RESERVING, "SCROLL [UP]"),
    Case(RESERVING, "CLICK [nothing]", "expected the id of an element"),
    Case(RESERVING, "CLICK [find]", "Fill in: date", after=[SITE, "CLEAR [date]"]),
    Case(RESERVING, "ASK USER HELP [Where to sit?]", changed=True),
    Case(CALLS, "[nonesuch()]", "There is no function nonesuch"),
    Case(CALLS, "reply[Done.]", changed=True),
    Case(CALLS, "[", "expected", after=["[nonesuch()]"]),
    Case(CALLS, "draft[nonesuch()]", "There is no function nonesuch", category=QUESTION),
    Case(CALLS, "reply[None fits.]", changed=True, category=QUESTION),
    Case(ACE, "[nonesuch()]", "There is no function nonesuch", category=AGENT),
    Case(ACE, "reply[finish conversation]", changed=True, category=AGENT),
    Case(SKETCH, "<p>one</p>", changed=True),
    Case(SKETCH, "one", "expected an HTML page"),
]


@pytest.mark.parametrize(("name", "category"), sorted({(case.env, case.category) for case in CASES}))
def test_an_environment_says_what_failed_and_what_changed(name: str, category: str) -> None:
    env: Any = made(name, **({"category": category} if category else {})).unwrapped
    env.reset(seed=0)
    for case in (case for case in CASES if (case.env, case.category) == (name, category)):
        token = env.snapshot()
        for action in case.after:
            token = env.simulate(token, action).token
        outcome = env.simulate(token, case.action)
        assert (case.failure in outcome.failure) if case.failure else not outcome.failure, (case, outcome.failure)
        assert outcome.changed is case.changed, case
        if outcome.done and outcome.info["stop_reason"] != "awaiting":
            late = env.simulate(outcome.token, case.action)
            assert (late.failure, late.changed) == (OVER, False), case
    env.close()


def test_an_action_with_effect_on_simulated_objects_changes_the_world() -> None:
    env: Any = gym.make(CALLS, category="multi_turn_base").unwrapped
    changes = set()
    for task_id in env.task_ids[:8]:
        env.reset(options={"task_id": task_id})
        for action in env.oracle(env.snapshot())["solution"]:
            outcome = env.simulate(env.snapshot(), action)
            if outcome.done:
                break
            assert outcome.changed is bool(outcome.info["facts"]["changed"])
            changes.add(outcome.changed)
            env.step(action)
    assert changes == {True, False}


def test_an_environment_that_says_nothing_has_the_defaults() -> None:
    env = gym.make("CartPole-v1")
    observation, _ = env.reset(seed=0)
    world = adapt(env)
    world.begin(observation)
    outcome = world.simulate(world.snapshot(), 1, 0)
    assert (outcome.failure, outcome.changed) == ("", True)
