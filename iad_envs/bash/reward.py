"""How an episode is scored: InterCode's reward as published, and a strict one. Pure functions, no sandbox.

InterCode's reward (Yang et al., 2023) is 0.01 and three parts of up to 0.33, each rounded to two decimals:

- `file_diff`: which paths `git status --short` lists, in the agent's state and in the gold's
- `file_changes`: the share of *untracked* paths that both list whose checksums agree; files that were only modified are
  never compared, and neither is anything without a dot in its path (the original hashes it with a program that is not
  in its image, so both sides give the same error)
- `answer`: the similarity of the last outputs, as bags of words

Its quirks are kept: names with blanks shift the status's columns, and word order, case and punctuation don't count.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from iad_envs.bash.sandbox import Change

BASE = 0.01
SHARE = 0.33
CHECKED_CODES = frozenset({"A", "??", "C"})
PARTLY_RIGHT = 0.5
"""What the strict reward gives at most for an answer that isn't the gold's to the letter."""
_TOKEN = re.compile(r"\w\w+")
_ONE_SIDED = math.log(1.5) + 1.0
"""Inverse document frequency, smoothed, of a word that one of two texts has."""

Entry = tuple[str, str]
"""Path and code of a line of `git status --short`, as the original's parser takes it apart."""


class UnreadableStatus(IndexError):
    """A status that the original's parser fails on, because a name with a blank shifted its columns."""


class RewardParts(NamedTuple):
    """The parts of InterCode's reward.

    Attributes:
        file_diff: 0.33, 0.05 or 0.
        file_changes: 0-0.33.
        answer: 0-0.33.
    """

    file_diff: float
    file_changes: float
    answer: float

    @property
    def total(self) -> float:
        """The reward, added up in the original's order: exactly 1.0 when every part is whole."""
        return BASE + self.file_diff + self.file_changes + self.answer


class StrictRewardParts(NamedTuple):
    """The parts of the strict reward, each 0-1 and worth half.

    Attributes:
        files: How much of the two sets of changes is the same, contents, modes and deletions included.
        answer: 1 for the gold's output to the letter, trailing line ends apart; else half the similarity.
    """

    files: float
    answer: float

    @property
    def total(self) -> float:
        """The reward: 1.0 only for the same changes and the same output."""
        return (self.files + self.answer) / 2


def intercode_parts(
    agent_status: str,
    gold_status: str,
    *,
    agent_output: str | None,
    gold_output: str | None,
    same_content: Callable[[str], bool],
) -> RewardParts:
    """Score as the original does.

    Args:
        agent_status: `git status --short` of the agent's state.
        gold_status: The same after the gold command.
        agent_output: Of the last command; the instruction, if there was none.
        gold_output: None where the gold command failed to run.
        same_content: Whether the checksum commands for a path print the same on both sides.

    Raises:
        UnreadableStatus: Where the original fails with an IndexError.
    """
    agent, gold = set(parse_status(agent_status)), set(parse_status(gold_status))
    file_diff = round(SHARE * (1.0 - math.erf(len(gold - agent) + len(agent - gold))), 2)
    common = [path for path, code in sorted(agent & gold) if code in CHECKED_CODES]
    file_changes = SHARE
    if common:
        file_changes = round(SHARE * (sum(map(same_content, common)) / len(common)), 2)
    return RewardParts(file_diff, file_changes, round(SHARE * similarity(agent_output, gold_output), 2))


def strict_parts(
    agent_changes: Iterable[Change], gold_changes: Iterable[Change], *, agent_output: str, gold_output: str
) -> StrictRewardParts:
    """Score by what changed since the start, contents, modes and deletions included, and the exact output."""
    agent, gold = set(map(_facts, agent_changes)), set(map(_facts, gold_changes))
    files = len(agent & gold) / len(agent | gold) if agent | gold else 1.0
    is_exact = agent_output.rstrip("\n") == gold_output.rstrip("\n")
    return StrictRewardParts(files, 1.0 if is_exact else PARTLY_RIGHT * similarity(agent_output, gold_output))


def parse_status(status: str) -> Sequence[Entry]:
    """Take a status apart as the original does: split at blanks, then in pairs.

    Raises:
        UnreadableStatus: There is an odd number of pieces.
    """
    pieces = status.split()
    if len(pieces) % 2:
        raise UnreadableStatus(
            f"expected pairs of code and path, got {len(pieces)} pieces in {status!r:.200}; a name has a blank"
        )
    return list(zip(pieces[1::2], pieces[::2], strict=True))


def similarity(one: str | None, other: str | None) -> float:
    """Return how alike two texts are, 0-1: the cosine of their TF-IDF vectors over just these two.

    Tokens are runs of two or more word characters in lower case. Where neither has any, or one text is missing, it is 1
    for equal texts and 0 for others.
    """
    if one is None or other is None:
        return float(one == other)
    counts, other_counts = _tokens(one), _tokens(other)
    if not counts and not other_counts:
        return float(one == other)
    if not counts or not other_counts:
        return 0.0
    shared = counts.keys() & other_counts.keys()
    dot = sum(counts[token] * other_counts[token] for token in sorted(shared))
    return dot / (_length(counts, shared) * _length(other_counts, shared))


def _tokens(text: str) -> Counter[str]:
    return Counter(_TOKEN.findall(text.lower()))


def _length(counts: Counter[str], shared: Iterable[str]) -> float:
    return math.sqrt(
        sum((count if token in shared else count * _ONE_SIDED) ** 2 for token, count in sorted(counts.items()))
    )


def _facts(change: Change) -> tuple[str, int, str]:
    """What makes two changes of a path the same: type and permissions as they are now, and content."""
    return (change.path, change.mode, change.digest)
