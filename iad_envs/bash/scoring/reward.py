"""Scores an episode: InterCode's reward as published, and a strict reward. Pure functions, no sandbox.

InterCode's reward (Yang et al., 2023) is 0.01 plus three parts of up to 0.33, each rounded to two decimals:

- `file_diff`: compares the paths that `git status --short` lists in the agent's state and in the gold state.
- `file_changes`: the share of equal checksums among *untracked* paths listed in both states. Modified files are never
  compared. Neither are paths without a dot: the original hashes them with a program that its image does not have, so
  both sides give the same error.
- `answer`: the similarity of the last outputs, as bags of words.

The quirks of the original are kept: names with blanks shift the columns of the status, and word order, case and
punctuation do not count.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from iad_envs.bash.sandbox import Change

BASE = 0.01
SHARE = 0.33

Entry = tuple[str, str]
"""Path and code of a line of `git status --short`, as split by the original's parser."""


class UnreadableStatus(IndexError):
    """The original's parser fails on this status, because a name with a blank shifts its columns."""


class RewardParts(NamedTuple):
    """The parts of InterCode's reward.

    Attributes:
        file_diff: Score of the listed paths: 0.33, 0.05 or 0.
        file_changes: Score of the file contents, 0-0.33.
        answer: Score of the last output, 0-0.33.
    """

    file_diff: float
    file_changes: float
    answer: float

    @property
    def total(self) -> float:
        """The reward, summed in the original's order. It is exactly 1.0 if every part is full."""
        return BASE + self.file_diff + self.file_changes + self.answer


class StrictRewardParts(NamedTuple):
    """The parts of the strict reward, each 0-1 with weight 1/2.

    Attributes:
        files: Similarity of the two sets of changes, including contents, modes and deletions.
        answer: 1 if the output equals the gold's up to trailing line ends, else half the similarity.
    """

    files: float
    answer: float

    @property
    def total(self) -> float:
        """The reward. It is 1.0 only for equal changes and equal output."""
        return (self.files + self.answer) / 2


def intercode_parts(
    agent_status: str,
    gold_status: str,
    *,
    agent_output: str | None,
    gold_output: str | None,
    same_content: Callable[[str], bool],
) -> RewardParts:
    """Score like the original.

    Args:
        agent_status: `git status --short` of the agent's state.
        gold_status: `git status --short` after the gold command.
        agent_output: Output of the last command, or the instruction if there was no command.
        gold_output: Output of the gold command. None if it could not be run.
        same_content: Returns whether the checksum commands for a path print the same on both sides.

    Raises:
        UnreadableStatus: The original would fail with an IndexError.
    """
    agent, gold = set(parse_status(agent_status)), set(parse_status(gold_status))
    file_diff = round(SHARE * (1.0 - math.erf(len(gold - agent) + len(agent - gold))), 2)
    common = [path for path, code in sorted(agent & gold) if code in ("A", "??", "C")]
    file_changes = SHARE
    if common:
        file_changes = round(SHARE * (sum(map(same_content, common)) / len(common)), 2)
    return RewardParts(file_diff, file_changes, round(SHARE * similarity(agent_output, gold_output), 2))


def strict_parts(
    agent_changes: Iterable[Change], gold_changes: Iterable[Change], *, agent_output: str, gold_output: str
) -> StrictRewardParts:
    """Score all changes since the start, including contents, modes and deletions, and the exact output."""
    agent, gold = set(map(_facts, agent_changes)), set(map(_facts, gold_changes))
    files = len(agent & gold) / len(agent | gold) if agent | gold else 1.0
    is_exact = agent_output.rstrip("\n") == gold_output.rstrip("\n")
    return StrictRewardParts(files, 1.0 if is_exact else similarity(agent_output, gold_output) / 2)


def parse_status(status: str) -> Sequence[Entry]:
    """Parse a status like the original: split at blanks, then group in pairs.

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
    """Return the similarity of two texts, 0-1: the cosine of their TF-IDF vectors over just these two texts.

    Tokens are runs of two or more word characters in lower case. If neither text has tokens, or one text is missing,
    the result is 1 for equal texts and 0 for others.
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
    return Counter(re.findall(r"\w\w+", text.lower()))


def _length(counts: Counter[str], shared: Iterable[str]) -> float:
    one_sided = math.log(1.5) + 1.0  # smoothed inverse document frequency of a word that only one of two texts contains
    return math.sqrt(
        sum((count if token in shared else count * one_sided) ** 2 for token, count in sorted(counts.items()))
    )


def _facts(change: Change) -> tuple[str, int, str]:
    """Return the properties that equal changes share: current type, current permissions and content."""
    return (change.path, change.mode, change.digest)
