"""A rule-based agent for `IAD/InterCodeBash-v0`. It builds commands from the instruction's words alone, without gold.

It has a set of command patterns, each with words that call for it. It fills a pattern with the instruction's paths,
names and numbers, sometimes with a wrong part, as people in a hurry do. After a command that printed or changed
something it submits, and after a failed one it tries another. The temperature makes wrong parts and unlikely patterns
more likely. Without temperature it is greedy. Given best and worst, it tends to change one part of Best's command, and
it avoids Worst. It never reads a score.
"""

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.domains.bash.patterns import Plan, plans_for
from iad_policy.domains.bash.reading import read_instruction
from iad_policy.types import Candidate, Feedback, State

SUBMIT = "submit"
PATTERN_SCALE = 1.2
"""Difference of two patterns' fits that makes one e times as likely, at temperature 1."""
WRONG_PART = 0.3
"""Probability that a part of a command is wrong, at temperature 1."""
SUBMITS = 0.9
"""Probability of submitting after a command that did something, at temperature 1."""
TOWARDS_BEST = 1.0
"""Log of the factor by which a command one part away from Best's is more likely."""
FROM_WORST = 2.0
"""Log of the factor by which a command with Worst's pattern is less likely, if Best has another pattern."""
MAX_TRIES = 4
LOOK_AROUND = "ls -la"


class BashAgent:
    """The rule-based agent of IAD/InterCodeBash-v0: it fills command patterns with words of the instruction.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices. 0 is greedy, and 1 is the default.
    """

    def __init__(self, env: gym.Env[Any, Any] | None = None, temperature: float | str = 1.0) -> None:
        self.temperature = float(temperature)
        if not 0.0 <= self.temperature < math.inf:
            raise ValueError(f"expected a temperature of 0 or more, got {temperature}")
        self.identity = f"scripter:{self.temperature:g}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next command, or `submit`."""
        heat = self.temperature if temperature is None else temperature
        tried = {str(turn.action) for turn in state.history}
        plans = plans_for(read_instruction(state.info["instruction"]))
        if feedback is not None and feedback.best is not None:
            return _refined(plans, feedback, tried, heat=heat, rng=rng)
        if tried and _is_done(state) and rng.random() >= (1.0 - SUBMITS) * min(heat, 1.0):
            return Candidate(SUBMIT, thought="The last command did something: that is it.")
        if len(tried) >= MAX_TRIES:
            return Candidate(SUBMIT, thought="I have no better idea.")
        return _drawn(plans, tried, heat=heat, rng=rng)


def _is_done(state: State) -> bool:
    facts = state.info["facts"]
    effect = state.info["page"]["output"] or facts["n_created"] or facts["n_changed"] or facts["n_deleted"]
    return facts["exit_code"] == 0 and bool(effect)


def _drawn(
    plans: Sequence[Plan],
    avoid: set[str],
    *,
    heat: float,
    rng: Random,
    bias: Callable[[Plan], float] = lambda plan: 0.0,
) -> Candidate:
    """Draw a command by how well its pattern fits, how few of its parts are wrong, and the given bias."""
    new = [plan for plan in plans if plan.command not in avoid]
    if not new:
        return Candidate(SUBMIT if avoid else LOOK_AROUND, thought="I know no command for this.")
    if heat <= 0.0:
        chosen = max(new, key=lambda plan: (plan.fit + bias(plan), -len(plan.wrong_parts)))
    else:
        top = max(plan.fit for plan in new)
        p_wrong = min(WRONG_PART * heat, 0.5)
        weights = [
            math.exp((plan.fit - top) / (PATTERN_SCALE * heat) + bias(plan))
            * math.prod((p_wrong / (n - 1) if is_wrong else 1.0 - p_wrong) for is_wrong, n in plan.odds)
            for plan in new
        ]
        chosen = rng.choices(new, weights)[0]
    return Candidate(chosen.command, thought=f"I take the pattern {chosen.pattern!r}.")


def _refined(plans: Sequence[Plan], feedback: Feedback, tried: set[str], *, heat: float, rng: Random) -> Candidate:
    """Draw a command with a bias for Best's command with one part changed, and against Worst's pattern."""
    best, worst = feedback.best, feedback.worst
    assert best is not None
    avoid = tried | {str(best.action)} | ({str(worst.action)} if worst is not None else set())
    best_plans = [plan for plan in plans if plan.command == str(best.action)]
    best_patterns = {plan.pattern for plan in best_plans}
    avoided_patterns = {plan.pattern for plan in plans if worst is not None and plan.command == str(worst.action)}

    def bias(plan: Plan) -> float:
        bonus = TOWARDS_BEST if any(plan.is_near(one) for one in best_plans) else 0.0
        return bonus - (FROM_WORST if plan.pattern in avoided_patterns - best_patterns else 0.0)

    return _drawn(plans, avoid, heat=heat, rng=rng, bias=bias)
