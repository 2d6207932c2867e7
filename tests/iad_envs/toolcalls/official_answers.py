"""Recorded answers of BFCL as the official scripts read and run them, and digests of what they lead to."""

import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from iad_envs.toolcalls.bfcl.conversations import PlayedTurn, extended
from iad_envs.toolcalls.bfcl.decoding import decoded, runnable
from iad_envs.toolcalls.bfcl.scoring.multi_turn import TurnsJudge, TurnsVerdict
from iad_envs.toolcalls.calls import PARSE_ERRORS, FunctionCall, UnreadableCalls
from iad_envs.toolcalls.executor import ToolState, public_attributes


def check(judge: TurnsJudge, turns: Sequence[PlayedTurn]) -> TurnsVerdict:
    return judge.verdict(judge.tallied(turns))


def play(judge: TurnsJudge, answer: Sequence[Sequence[Any]], read: Callable[[Any], Any]) -> list[PlayedTurn]:
    """Run a whole answer: responses by turn. Responses that can't be read are skipped, as in the original."""
    turns, state = [], judge.start
    for index, responses in enumerate(answer):
        played = PlayedTurn(state)
        for response in responses:
            try:
                calls = read(response)
            except UnreadableCalls:
                continue
            if calls:
                played = extended(played, calls, judge.toolbox, withheld=judge.withheld(index))
        turns.append(played)
        state = played.state
    return turns


def read_officially(response: str) -> list[FunctionCall]:
    return runnable(decoded(response))


def read_messages(answer: Any) -> list[FunctionCall]:
    """Return the calls in an answer of a model that calls functions: objects of a name and JSON arguments.

    Arguments need not be an object: single-turn scoring has a verdict of its own on anything else.
    """
    try:
        pairs = [next(iter(item.items()), ("", "")) for item in answer]
        return [FunctionCall(name, json.loads(value)) for name, value in pairs]
    except (AttributeError, TypeError, *PARSE_ERRORS):
        raise UnreadableCalls("no calls") from None


def state_digest(state: ToolState) -> str:
    public = {kind: public_attributes(instance) for kind, instance in state.instances.items()}
    return _digest({kind: {name: canonical(value) for name, value in own.items()} for kind, own in public.items()})


def results_digest(results: Sequence[str]) -> str:
    return _digest(canonical(list(results)))


def canonical(value: Any) -> Any:
    """JSON of a value: types stay apart, and order counts only where it does in Python."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return {"n": repr(float(value))}
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [canonical(item) for item in value]}
    if isinstance(value, set | frozenset):
        return {"set": sorted((canonical(item) for item in value), key=_text)}
    if isinstance(value, dict):
        pairs = [[canonical(key), canonical(item)] for key, item in value.items()]
        return {"dict": sorted(pairs, key=lambda pair: _text(pair[0]))}
    if type(value).__name__ == "File":
        return {"File": [value.name, value.content]}
    if type(value).__name__ == "Directory":
        return {"Directory": [value.name, {name: canonical(item) for name, item in value.contents.items()}]}
    raise TypeError(f"expected a value of a simulated state, got {type(value)}")


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _digest(value: Any) -> str:
    return sha256(_text(value).encode()).hexdigest()[:12]
