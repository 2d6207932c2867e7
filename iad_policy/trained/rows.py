"""What a model is trained on: an action in a state, with the words of a language model where one said it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iad_policy.types import State


@dataclass(frozen=True, slots=True)
class Row:
    """An action in a state.

    Attributes:
        state: The state, as an agent saw it.
        action: The action.
        prompt: The messages that a language model was sent; empty for an agent without one.
        text: Its answer, as it was sampled.
        logprob: The log-probability that the action was proposed with; None if it was not recorded.
    """

    state: State
    action: Any
    prompt: Sequence[Mapping[str, Any]] = ()
    text: str = ""
    logprob: float | None = None
