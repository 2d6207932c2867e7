"""Features of an action and of what was seen before it, to tell which type of outcome follows.

As in ARTIS (eq. 7), that is the state at the beginning and the whole history: earlier actions with what they led to.
"""

import math
import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from iad_policy.trained.heads import Array
from iad_policy.types import State, Turn
from iad_policy.types.hashing import encode
from iad_policy.types.outcome_types import is_failure
from iad_policy.types.texts import shown

N_TOLD, N_VERBS, N_PAGES, N_PIECES = 15, 8, 8, 24
"""Places for what is counted, and hashed ones for the action's verb, for the verb on this kind of page, and for pieces
of the action."""


class OutcomeFeatures:
    """Features for a policy whose actions are types of outcomes: `type_of`. It is a `Features`.

    The state is that of `outcome_state`, before the outcome is seen.

    Args:
        types: The types, in order.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self.types = list(types)
        own = [
            "any", "verb is there", "argument is there", "share of words there", "share of words asked for", "length",
            "odd brackets", "odd quotes", "n earlier", "tool was used", "tool failed", "was done", "failed before",
            "last one failed", "argument at the beginning",
        ]  # fmt: skip
        own += [f"verb {place}" for place in range(N_VERBS)] + [f"page {place}" for place in range(N_PAGES)]
        own += [f"piece {place}" for place in range(N_PIECES)]
        self._n = len(own)
        self.names: Sequence[str] = [f"{kind}: {name}" for kind in self.types for name in own]
        self.identity = f"outcomes {self._n} {' '.join(self.types)}"

    def actions(self, state: State) -> list[str]:
        """Return the types."""
        return self.types

    def rows(self, state: State, actions: Sequence[Any]) -> Array:
        """Return a row for each type: the action's features in the type's block."""
        own = features_of(state)
        rows = np.zeros((len(actions), len(self.names)))
        for row, kind in zip(rows, actions, strict=True):
            if kind in self.types:
                start = self.types.index(kind) * self._n
                row[start : start + self._n] = own
        return rows


def outcome_state(
    beginning: str, earlier: Sequence[tuple[Any, str]], observation: Any, instruction: str, action: Any
) -> State:
    """Return what is known of an outcome before it is seen, as a state.

    Args:
        beginning: What was seen as the episode began, in the words of prompts.
        earlier: The earlier actions, each with the type of its outcome.
        observation: The observation in which the action is taken.
        instruction: The task's instruction.
        action: The action.
    """
    turns = [Turn(None, one, {"outcome": kind}) for one, kind in earlier]
    first = Turn(beginning, None, {})
    return State(None, {}, history=(first, *turns, Turn(observation, action, {"instruction": instruction})))


def features_of(state: State) -> Array:
    """Return the features of an action where it was taken, of what `outcome_state` returns."""
    first, *earlier, turn = state.history
    action = turn.action if isinstance(turn.action, str) else str(encode(turn.action))
    instruction = str(turn.info.get("instruction", ""))
    page = shown(turn.observation).replace(instruction, "").lower()
    verb = tool_of(action)
    argument = action[len(verb) :].strip("[]() ").lower()
    words = re.findall(r"[\w./-]+", argument)
    own = np.zeros(N_TOLD + N_VERBS + N_PAGES + N_PIECES)
    failed = [one for one in earlier if is_failure(one.info["outcome"])]
    own[:N_TOLD] = (
        1.0,
        verb in page,
        bool(argument) and argument in page,
        sum(word in page for word in words) / max(1, len(words)),
        sum(word in instruction.lower() for word in words) / max(1, len(words)),
        math.log1p(len(action)) / 5,
        action.count("[") != action.count("]") or action.count("(") != action.count(")"),
        action.count("'") % 2 or action.count('"') % 2,
        math.log1p(len(earlier)) / 3,
        verb in map(tool_of, (one.action for one in earlier)),
        verb in map(tool_of, (one.action for one in failed)),
        any(one.action == turn.action for one in earlier),
        any(one.action == turn.action for one in failed),
        bool(earlier) and earlier[-1] in failed,
        bool(argument) and argument in shown(first.observation).replace(instruction, "").lower(),
    )
    own[N_TOLD + _place(verb, N_VERBS)] = 1.0
    own[N_TOLD + N_VERBS + _place(f"{verb} {page[:24]}", N_PAGES)] = 1.0  # pages of a kind start alike
    pieces = [action[at : at + 3].lower() for at in range(len(action) - 2)]
    for piece in pieces:
        own[N_TOLD + N_VERBS + N_PAGES + _place(piece, N_PIECES)] += 1 / len(pieces)
    return own


def tool_of(action: Any) -> str:
    """Return the tool that an action uses: its first word, such as `click`, `SELECT` or `ls`."""
    found = re.search(r"\w+", action if isinstance(action, str) else str(encode(action)))
    return "" if found is None else found.group().lower()


def _place(text: str, n: int) -> int:
    return crc32(text.encode(errors="surrogatepass")) % n
