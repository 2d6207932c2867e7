"""What is done in a turn of a conversation, without gold."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from iad_envs.toolcalls.calls import FunctionCall
from iad_envs.toolcalls.executor import Toolbox, ToolState

MAX_RESPONSES = 20
"""Responses with calls in a turn. The original looks after it has run one more, and then ends the conversation."""


class PlayedTurn(NamedTuple):
    """What was done in a turn, so far or until its end.

    Attributes:
        state: After it.
        calls: That were made, in order.
        results: Their texts.
        n_responses: Responses that had calls, or could not be read where that does not end the turn.
    """

    state: ToolState
    calls: tuple[FunctionCall, ...] = ()
    results: tuple[str, ...] = ()
    n_responses: int = 0


def extended(
    turn: PlayedTurn, calls: Sequence[FunctionCall], toolbox: Toolbox, *, withheld: Collection[str] = ()
) -> PlayedTurn:
    """Return a turn after one more response with these calls."""
    state, results = toolbox.run(turn.state, calls, withheld=withheld)
    return PlayedTurn(state, (*turn.calls, *calls), (*turn.results, *results), turn.n_responses + 1)


def is_over_cap(n_responses: int) -> bool:
    """Whether a turn had so many responses with calls that the conversation ends."""
    return n_responses > MAX_RESPONSES
