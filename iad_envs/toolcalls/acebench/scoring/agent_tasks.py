"""Scores an agent task: the state at the end, and the milestones on the way.

Official rules (`eval_main.py` at 56dd66c): the answer has as many classes as gold; each attribute of it must be in
gold and equal, but of a dictionary only gold's entries count; a class of gold that the answer lacks by name takes the
verdict of the class before it, at first right. Milestones are texts, searched in order among the messages; a missing
one eats all messages, so none after it is found. Of a task that ends right the process is 1.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.executor import CallResult, as_data
from iad_envs.toolcalls.acebench.gold_classes import names_of_gold
from iad_envs.toolcalls.acebench.reading import read_normal
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls

FinalState = Sequence[Mapping[str, Mapping[str, Any]]]
"""Attributes by class: a list of dictionaries with one class each, as `executor.saved_state` gives it."""


class AgentScore(NamedTuple):
    """The score of an agent task.

    Attributes:
        end_to_end: Whether the state at the end is right.
        process: Share of the milestones, 0-1. 1 if the state at the end is right.
    """

    end_to_end: bool
    process: float


def score_agent(gold: AceGold, final: FinalState, messages: Sequence[str]) -> AgentScore:
    """Return the official score.

    Args:
        gold: The task's gold.
        final: Attributes at the end, by class; empty if no message was executed.
        messages: The agent's messages that went to execution.
    """
    end_to_end = ends_right(gold, final)
    return AgentScore(end_to_end, 1.0 if end_to_end else process_share(gold.milestones, messages))


def score_agent_soundly(gold: AceGold, final: FinalState, results: Iterable[CallResult]) -> AgentScore:
    """Return the score by sound rules.

    Args:
        gold: The task's gold.
        final: Attributes at the end, by class, as `executor.saved_state` gives them.
        results: The results of all calls in order. Only calls that ran and were not refused count.
    """
    if _equal_states(gold.listed, final):
        return AgentScore(True, 1.0)
    ran = [one.call for one in results if one.call is not None and not one.has_failed]
    return AgentScore(False, max((_in_order(stones, ran) for stones in gold.milestones), default=0.0))


def ends_right(gold: AceGold, final: FinalState) -> bool:
    """Return the official verdict on a state at the end."""
    wanted = gold.listed
    if len(wanted) != len(final):
        return False
    is_right, was_right = True, True
    for expected in wanted:
        given = next((one for one in final if one.keys() == expected.keys()), None)
        if given:  # else the verdict on the class before is taken again
            was_right = _fits(next(iter(given.values())), next(iter(expected.values())))
        is_right = is_right and was_right
    return is_right


def process_share(alternatives: Sequence[Sequence[str]], messages: Sequence[str]) -> float:
    """Return the official share of milestones found, of the best alternative. Of several it has three decimals."""
    shares = [_found_in_order(stones, messages) for stones in alternatives]
    return shares[0] if len(shares) == 1 else max(round(share, 3) for share in shares)


def _fits(given: Mapping[str, Any], gold: Mapping[str, Any]) -> bool:
    for name, value in given.items():
        if name not in gold:
            return False
        wanted = gold[name]
        if not isinstance(wanted, Mapping):
            if wanted != value:
                return False
        elif not isinstance(value, Mapping) or any(key not in value or value[key] != wanted[key] for key in wanted):
            return False
    return True


def _found_in_order(stones: Sequence[str], messages: Sequence[str]) -> float:
    if not stones:
        return 1.0
    place = found = 0
    texts = [message.strip() for message in messages]
    for stone in stones:
        text = stone.strip()
        while place < len(texts):
            place += 1
            if texts[place - 1] == text:
                found += 1
                break
    return found / len(stones)


def _equal_states(wanted: FinalState, given: FinalState) -> bool:
    """Whether states are equal both ways, each class under its own name."""
    expected = {name: attributes for one in wanted for name, attributes in one.items()}
    found = {name: attributes for one in given for name, attributes in one.items()}
    if len(expected) != len(found) or len(expected) != len(wanted) or len(found) != len(given):
        return False
    names = names_of_gold(tuple(expected), tuple(found))
    return all(
        name in found and _equal(attributes, found[name])
        for name, attributes in zip(names, expected.values(), strict=True)
    )


def _equal(left: Any, right: Any) -> bool:
    """Whether values are equal, and booleans are no numbers."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _in_order(stones: Sequence[str], ran: Sequence[FunctionCall]) -> float:
    """Return the share of the milestones' calls that ran in order: the longest common subsequence."""
    wanted = [call for stone in stones for call in milestone_calls(stone)]
    if not wanted:
        return 0.0
    lengths = [0] * (len(ran) + 1)
    for stone in wanted:
        corner = 0
        for place, call in enumerate(ran, 1):
            here = lengths[place]
            is_met = stone.name == call.name and _equal(as_data(stone.arguments), as_data(call.arguments))
            lengths[place] = corner + 1 if is_met else max(here, lengths[place - 1])
            corner = here
    return lengths[-1] / len(wanted)


@lru_cache(maxsize=1024)
def milestone_calls(stone: str) -> tuple[FunctionCall, ...]:
    """Return the calls of a milestone. Apostrophes within texts, which gold leaves as they are, are read as such.

    Raises:
        UnreadableCalls: It holds no calls.
    """
    try:
        return tuple(read_normal(stone, multi_turn=False, rules="sound"))
    except UnreadableCalls:
        quoted = re.sub(r"(?<=[^\s=\[({:,])'(?!\s*(?:[,)\]}:]|$))", r"\\'", stone)
        return tuple(read_normal(quoted, multi_turn=False, rules="sound"))
