"""A rule-based agent for `IAD/InterCodeBash-v0`. It builds commands from the instruction's words alone, without gold.

It has a set of command patterns, each with words that call for it. It fills a pattern with the instruction's paths,
names and numbers, sometimes with a wrong part, as people in a hurry do. Patterns that it can't fill are left out. After
a command that printed or changed something it submits, and after a failed one it tries another. The temperature makes
wrong parts and unlikely patterns more likely. Without temperature it is greedy. Given best and worst, it tends to
change one part of Best's command, and it avoids Worst. It never reads a score.
"""

import math
import tomllib
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from random import Random
from string import Formatter
from typing import NamedTuple

from iad_envs.bash.facts import SUBMIT
from iad_envs.bash.policy.instruction import ShellInstruction, read_instruction
from iad_policy.agents.rule_based import RuleBasedAgent
from iad_policy.types import Candidate, Feedback, State


class Pattern(NamedTuple):
    """A kind of command.

    Attributes:
        name: Name of the pattern, for thoughts.
        calls: Words of an instruction that call for it.
        clashes: Words of an instruction that speak against it.
        parts: Alternatives for each part of the command. Parts are joined without blanks.
    """

    name: str
    calls: frozenset[str]
    clashes: frozenset[str]
    parts: Sequence[Sequence[str]]


class Plan(NamedTuple):
    """A command, and how it was built.

    Attributes:
        command: The shell command.
        pattern: Name of its pattern.
        fit: How well the pattern's words fit the instruction. Larger is better.
        choices: Index of the alternative of each part.
        odds: For each part with alternatives, whether a wrong one was chosen, and the number of alternatives.
    """

    command: str
    pattern: str
    fit: float
    choices: tuple[int, ...]
    odds: tuple[tuple[bool, int], ...]

    @property
    def wrong_parts(self) -> Sequence[int]:
        """The parts with a wrong alternative."""
        return [place for place, choice in enumerate(self.choices) if choice]

    def is_near(self, other: "Plan") -> bool:
        """Return whether it has the same pattern with exactly one part changed."""
        if self.pattern != other.pattern or len(self.choices) != len(other.choices):
            return False
        return sum(own != its for own, its in zip(self.choices, other.choices, strict=True)) == 1


class BashAgent(RuleBasedAgent):
    """The rule-based agent of IAD/InterCodeBash-v0: it fills command patterns with words of the instruction.

    Args:
        env: Not used. The agent reads observations only.
        temperature: Randomness of the choices. 0 is greedy, and 1 is the default.
    """

    name = "scripter"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next command, or `submit`."""
        heat = self.heat(temperature)
        tried = {str(turn.action) for turn in state.history}
        plans = plans_for(read_instruction(state.info["instruction"]))
        if feedback is not None and feedback.best is not None:
            return _refined(plans, feedback, tried, heat=heat, rng=rng)
        facts = state.info["facts"]
        effect = state.info["page"]["output"] or facts["n_created"] or facts["n_changed"] or facts["n_deleted"]
        is_done = bool(tried) and facts["exit_code"] == 0 and bool(effect)
        if is_done and rng.random() >= 0.1 * min(heat, 1.0):
            return Candidate(SUBMIT, thought="The last command did something: that is it.")
        if len(tried) >= 4:
            return Candidate(SUBMIT, thought="I have no better idea.")
        return _drawn(plans, tried, heat=heat, rng=rng)


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
        return Candidate(SUBMIT if avoid else "ls -la", thought="I know no command for this.")
    if heat <= 0.0:
        chosen = max(new, key=lambda plan: (plan.fit + bias(plan), -len(plan.wrong_parts)))
    else:
        top = max(plan.fit for plan in new)
        # At temperature 1 a part is wrong with this probability, and a fit that is 1.2 higher is e times as likely.
        p_wrong = min(0.3 * heat, 0.5)
        weights = [
            math.exp((plan.fit - top) / (1.2 * heat) + bias(plan))
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
        # Logs of factors: one part away from Best's command, and with Worst's pattern if Best has another one.
        bonus = 1.0 if any(plan.is_near(one) for one in best_plans) else 0.0
        return bonus - (2.0 if plan.pattern in avoided_patterns - best_patterns else 0.0)

    return _drawn(plans, avoid, heat=heat, rng=rng, bias=bias)


@lru_cache(maxsize=1)
def patterns() -> Sequence[Pattern]:
    """Return the patterns in `patterns.toml`."""
    tables = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8"))
    return [
        Pattern(name, frozenset(table["calls"].split()), frozenset(table.get("clashes", "").split()), table["parts"])
        for name, table in tables.items()
    ]


@lru_cache(maxsize=1024)
def plans_for(instruction: ShellInstruction) -> Sequence[Plan]:
    """Return every command that the patterns give for an instruction, each once, and at most 64 of a pattern."""
    blanks = _blanks(instruction)
    plans: dict[str, Plan] = {}
    for pattern in patterns():
        fit = len(instruction.words & pattern.calls) - 2.0 * len(instruction.words & pattern.clashes)
        filled = []
        for choices in product(*(range(len(part)) for part in pattern.parts)):
            text = "".join(part[choice] for part, choice in zip(pattern.parts, choices, strict=True))
            if {name for _, name, _, _ in Formatter().parse(text) if name} <= blanks.keys():
                pairs = zip(pattern.parts, choices, strict=True)
                odds = tuple((choice > 0, len(part)) for part, choice in pairs if len(part) > 1)
                filled.append(Plan(text.format(**blanks), pattern.name, fit, choices, odds))
        for plan in filled[:64]:
            plans.setdefault(plan.command, plan)
    return tuple(plans.values())


def _blanks(instruction: ShellInstruction) -> dict[str, str]:
    """Return the values for blanks in the instruction. They are assigned by the order of the words only."""
    files = [path for path in instruction.paths if "." in path.rpartition("/")[2]]
    folders = [path for path in instruction.paths if path not in files]
    # The folder to create is the first if the sentence begins with creating it, else the last.
    new = folders[:1] if instruction.words & {"create", "make"} else folders[-1:]
    found = {
        "dir": folders[:1],
        "file": files[:1],
        "folder": folders[-1:],
        "new": new,
        "olddir": [folder for folder in folders if folder not in new][:1],
        "target": [path for path in files[::-1] if "create" in instruction.words][-1:] or files[1:2],
        "ext": instruction.endings[:1],
        "word": instruction.quoted[:1],
        "other": instruction.quoted[1:2],
        "name": instruction.quoted[:1],
        "n": instruction.numbers[:1],
        "date": [instruction.date] if instruction.date else [],
    }
    return {name: values[0] for name, values in found.items() if values}
