"""Reads a model's answers: actions, numbers, scores and choices.

A model may write anything, so every reader says when it can't read a text, and none raises.
"""

from iad_policy.models.parsing.actions import read_action
from iad_policy.models.parsing.grammar import UNREADABLE, Grammar, Reading
from iad_policy.models.parsing.numbers import read_integer
from iad_policy.types.answers.fields import (
    read_choice,
    read_critique,
    read_field,
    read_parts,
    read_score,
)

__all__ = [
    "UNREADABLE",
    "Grammar",
    "Reading",
    "read_action",
    "read_choice",
    "read_critique",
    "read_field",
    "read_integer",
    "read_parts",
    "read_score",
]
