"""Reads the calls in an answer. Text is only ever parsed, never run.

Each kind of task has a reader of its own, because the official code has (ACEBench at commit 56dd66c). What the official
readers would run as Python to find a value (arithmetic, lambdas) is refused by both rule sets. By the sound rules calls
are read as everywhere else here, by `read_calls`.
"""

import ast
import re
from collections.abc import Sequence
from typing import Any

from iad_envs.toolcalls.bfcl.decoding import OfficialReading, official_calls
from iad_envs.toolcalls.calls import (
    MAX_CHARACTERS,
    FunctionCall,
    UnreadableCalls,
    dotted_name,
    parsed_expression,
    read_calls,
)
from iad_envs.toolcalls.rules import Rules

NOT_CALLS = "expected calls, such as [name(argument='value'), ...]"


def read_normal(answer: str, *, multi_turn: bool, rules: Rules = "official") -> list[FunctionCall]:
    """Return the calls of an answer to a normal task.

    The outermost `[...]` counts, whatever stands around it. The official code reads answers of multi-turn tasks whole,
    and takes all whitespace out first, also within texts.

    Raises:
        UnreadableCalls: It holds no calls.
    """
    first, last = answer.find("["), answer.rfind("]")
    if multi_turn and rules == "official":
        text = "".join(answer.split())
    elif 0 <= first < last:
        text = answer[first : last + 1]
    else:
        raise UnreadableCalls(f"{NOT_CALLS}, got no brackets")
    if rules == "sound":
        return read_calls(text, "python", dots=True)
    tree = _parsed(text)
    if not isinstance(tree, ast.List | ast.Tuple | ast.Set):
        raise UnreadableCalls(f"{NOT_CALLS}, got something else than a list")
    return _official(tree.elts, OfficialReading(False, lambda call: {dotted_name(call.func): {}}))


def is_execution(message: str) -> bool:
    """Whether an agent's message is executed: it starts with `[...]` on one line."""
    return re.match(r"\[.*?\]", message) is not None


def read_agent(message: str, rules: Rules = "official") -> list[FunctionCall]:
    """Return the calls of an agent's message.

    The official code ignores brackets and quotes at both ends, and takes an expression that is no call for no calls. It
    can't write a dictionary as Python again: it is a call for it, `{name: arguments}`.

    Raises:
        UnreadableCalls: It holds no calls.
    """
    if rules == "sound":
        text = message.strip()
        if not (text.startswith("[") and text.endswith("]")):
            raise UnreadableCalls(f"{NOT_CALLS}, got {message!r:.80}")
        return read_calls(text, "python", dots=True)
    tree = _parsed(message.removeprefix(" ").strip("[]'"))
    nodes = tree.elts if isinstance(tree, ast.List | ast.Tuple) else [tree] if isinstance(tree, ast.Call) else []
    calls = _official(nodes, OfficialReading(False))
    for call in calls:
        if not all(map(_is_writable, call.arguments.values())):
            raise UnreadableCalls(f"expected no dictionary as an argument of {call.name}; put it in a list")
    return calls


def _parsed(text: str) -> ast.expr:
    if len(text) > MAX_CHARACTERS:
        raise UnreadableCalls(f"expected at most {MAX_CHARACTERS:,} characters, got {len(text):,}; answer more briefly")
    return parsed_expression(text)


def _official(nodes: Sequence[ast.expr], reading: OfficialReading) -> list[FunctionCall]:
    calls = [node for node in nodes if isinstance(node, ast.Call) and dotted_name(node.func)]
    if len(calls) < len(nodes):
        raise UnreadableCalls(f"{NOT_CALLS}, got an element that is no call")
    return official_calls(calls, reading)


def _is_writable(value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    arguments = next(iter(value.values()), None)
    return isinstance(arguments, dict) and all(map(_is_writable, arguments.values()))
