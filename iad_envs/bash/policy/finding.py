"""A finding: something that speaks against a result in the shell, told in words."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from iad_envs.bash.policy.effects import Done

N_NAMED = 3
"""Number of things that a finding names."""
SHOWN_CHARS = 100


class ShellFinding(NamedTuple):
    """Something that speaks against a result.

    Attributes:
        degree: How clear it is, above 0 and up to 1.
        text: The finding in words.
    """

    degree: float
    text: str


Check = Callable[[Done], ShellFinding | None]
"""Looks for one kind of finding."""
Checks = Mapping[str, Check]


def share(wrong: Iterable[str], everything: Iterable[str], text: str) -> ShellFinding | None:
    """Return a finding about the wrong ones of several things, which the text names. None if all are right."""
    names = list(wrong)
    return ShellFinding(len(names) / len(list(everything)), text.format(listed(names))) if names else None


def listed(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    every = list(names)
    rest = f" and {len(every) - N_NAMED} more" if len(every) > N_NAMED else ""
    return shown(", ".join(every[:N_NAMED])) + rest


def shown(text: str) -> str:
    """Return a text cut to a readable length."""
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."
