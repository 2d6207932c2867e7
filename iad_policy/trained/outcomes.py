"""Features of an action and of what was seen before it, to tell which type of outcome follows."""

import math
import re
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np

from iad_policy.trained.heads import Array
from iad_policy.types import State, Turn
from iad_policy.types.hashing import encode
from iad_policy.types.texts import shown

N_VERBS, N_PAGES, N_PIECES = 8, 8, 24
"""Hashed places for the action's verb, for the verb on this kind of page, and for pieces of the action."""


class OutcomeFeatures:
    """Features for a policy whose actions are types of outcomes: `type_of`. It is a `Features`.

    The state is the one after the action was taken and before its outcome is seen: its last turn has the observation
    and the action.

    Args:
        types: The types, in order.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self.types = list(types)
        own = [
            "any", "verb is there", "argument is there", "share of words there", "share of words asked for", "length",
            "odd brackets", "odd quotes",
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
        own = features_of(state.history[-1])
        rows = np.zeros((len(actions), len(self.names)))
        for row, kind in zip(rows, actions, strict=True):
            if kind in self.types:
                start = self.types.index(kind) * self._n
                row[start : start + self._n] = own
        return rows


def features_of(turn: Turn) -> Array:
    """Return the features of an action where it was taken."""
    action = turn.action if isinstance(turn.action, str) else str(encode(turn.action))
    instruction = str(turn.info.get("instruction", ""))
    page = shown(turn.observation).replace(instruction, "").lower()
    verb = tool_of(action)
    argument = action[len(verb) :].strip("[]() ").lower()
    words = re.findall(r"[\w./-]+", argument)
    own = np.zeros(8 + N_VERBS + N_PAGES + N_PIECES)
    own[:8] = (
        1.0,
        verb in page,
        bool(argument) and argument in page,
        sum(word in page for word in words) / max(1, len(words)),
        sum(word in instruction.lower() for word in words) / max(1, len(words)),
        math.log1p(len(action)) / 5,
        action.count("[") != action.count("]") or action.count("(") != action.count(")"),
        action.count("'") % 2 or action.count('"') % 2,
    )
    own[8 + _place(verb, N_VERBS)] = 1.0
    own[8 + N_VERBS + _place(f"{verb} {page[:24]}", N_PAGES)] = 1.0  # pages of a kind start alike
    pieces = [action[at : at + 3].lower() for at in range(len(action) - 2)]
    for piece in pieces:
        own[8 + N_VERBS + N_PAGES + _place(piece, N_PIECES)] += 1 / len(pieces)
    return own


def tool_of(action: Any) -> str:
    """Return the tool that an action uses: its first word, such as `click`, `SELECT` or `ls`."""
    found = re.search(r"\w+", action if isinstance(action, str) else str(encode(action)))
    return "" if found is None else found.group().lower()


def _place(text: str, n: int) -> int:
    return crc32(text.encode(errors="surrogatepass")) % n
