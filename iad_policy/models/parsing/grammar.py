"""What actions look like in a state, and what comes of reading an answer."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

from iad_policy.models.parsing.words import bare_words, unwrapped
from iad_policy.types.names import PATTERN, Syntax

UNREADABLE = "unreadable answer"
"""Beginning of the error of each candidate whose answer could not be read, so that these can be counted."""
CUT = "half an answer, which was cut off at max_tokens"
OPEN = "reasoning that doesn't end"
NAMED = re.compile(r"(?<!\w)([A-Za-z_]\w*)(?P<space>[ ]?)\[")
"""Matches the beginning of `name[argument]`."""


@dataclass(frozen=True)
class Grammar:
    """The actions of a state, as its `available_actions` show them.

    Attributes:
        syntax: Language of the actions.
        listed: Actions that can be taken as they stand.
        patterns: Names of the actions `name[...]`, whose argument the agent chooses.
    """

    syntax: Syntax = "text"
    listed: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, available: Iterable[Any], syntax: Syntax = "text") -> Self:
        """Return the grammar of a state's available actions."""
        actions = [str(action) for action in available]
        patterns = [action.removesuffix(PATTERN) for action in actions if action.endswith(PATTERN)]
        listed = [action for action in actions if action and not action.endswith(PATTERN)]
        return cls(syntax, tuple(listed), tuple(name for name in patterns if name))

    @cached_property
    def names(self) -> dict[str, str]:
        """Names of the actions `name[argument]`: in lower case -> as the environment writes them."""
        if self.syntax in ("shell", "page"):
            return {}
        found = [match[1] for action in self.listed if (match := NAMED.match(action))]
        return {name.strip().casefold(): name for name in (*found, *self.patterns)}

    @cached_property
    def by_text(self) -> dict[str, str]:
        """Listed actions by their text in lower case, with single blanks."""
        return {_plain(action): action for action in self.listed}

    def forms(self) -> str:
        """Return the forms of actions that take an argument, for an error message."""
        return " or ".join(f"{name}{PATTERN}" for name in self.names.values()) or f"name{PATTERN}"

    def listed_as(self, text: str) -> str | None:
        """Return the listed action that a text names, whatever its case and decoration, or None.

        In a shell, the case of letters matters in everything but single words.
        """
        for words in (" ".join(text.split()), bare_words(text)):
            action = self.by_text.get(words.casefold())
            if action is not None and (self.syntax != "shell" or action.isalpha() or words == action):
                return action
        return None

    def listed_call(self, name: str, argument: str) -> str | None:
        """Return the listed action with this name and argument, whatever their case, blanks and quotes."""
        for variant in (argument, html.unescape(unwrapped(argument))):
            if action := self.by_text.get(_plain(f"{name}[{variant.strip()}]")):
                return action
        return None


class FoundAction(NamedTuple):
    """An action that was read.

    Attributes:
        action: The action.
        is_closed: Whether the text shows that the action ends there, so that it is whole in an answer that was cut off.
        thought: Reasoning that stands beside the action, in an answer that is an object.
    """

    action: str
    is_closed: bool = True
    thought: str = ""


class Problem(NamedTuple):
    """Why a text could not be read as an action.

    Attributes:
        got: What was found, as the end of a sentence that begins with "got". "" if it was a text like any other.
    """

    got: str = ""


NOTHING_READ = Problem()
"""The text has no action that is known here."""


class Reading(NamedTuple):
    """What comes of reading an answer.

    Attributes:
        action: The action, or None if there is none.
        thought: The reasoning in the answer.
        got: Without an action, what the answer was, as the end of a sentence that begins with "got".
    """

    action: Any
    thought: str
    got: str = ""


def ended(read: FoundAction | Problem, *, is_closed: bool) -> FoundAction | Problem:
    """Return what was read with another answer to the question whether the action ends there."""
    return read._replace(is_closed=is_closed) if isinstance(read, FoundAction) else read


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
