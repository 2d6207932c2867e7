"""Reads a model's answers: actions, numbers and calls of functions.

A model may write anything, so every reader says when it can't read a text, and none raises.
"""

from iad_policy.models.parsing.actions import read_action
from iad_policy.models.parsing.grammar import UNREADABLE, Grammar, Reading
from iad_policy.models.parsing.numbers import read_integer

__all__ = ["UNREADABLE", "Grammar", "Reading", "read_action", "read_integer"]
