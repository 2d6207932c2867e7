"""Compares the final state of an episode with that of the gold command, in forks that the agent never sees."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Literal, NamedTuple

from iad_envs.bash.intercode_compat import git_status
from iad_envs.bash.scoring.reward import UnreadableStatus, intercode_parts, strict_parts
from iad_envs.bash.start_state import Ran, StartState, answer_of, is_text

RewardMode = Literal["intercode", "strict"]
NO_PARTS: Mapping[RewardMode, Mapping[str, float]] = {
    "intercode": {"file_diff": 0.0, "file_changes": 0.0, "answer": 0.0},
    "strict": {"files": 0.0, "answer": 0.0},
}
"""Parts of each reward before the first score, and in cases where the original's reward fails."""


class Scored(NamedTuple):
    """The reward of a state, and its parts by name."""

    total: float
    parts: Mapping[str, float]


@dataclass(slots=True, eq=False)
class GoldOnce:
    """Runs a task's gold command on first use and caches the outcome, as an episode's reference for progress."""

    _lock: Lock = field(default_factory=Lock)
    _found: Ran | None = None

    def outcome(self, start: StartState, gold: str) -> Ran:
        """Return the outcome. If several threads call this, the first one runs the command."""
        with self._lock:
            if self._found is None:
                self._found = start.run(None, gold, is_whole=True)
            return self._found


def scored(mode: RewardMode, start: StartState, last: Ran | None, *, instruction: str, gold: Ran) -> Scored:
    """Compare the state and output after the last command with the outcome of the gold command.

    If there was no command, the answer is the instruction, as in the original.
    """
    changes, answer = ((), instruction) if last is None else (last.since_start, answer_of(last))
    files = start.token if last is None else last.files

    def same_content(path: str) -> bool:
        # For paths without a dot the original's hash program is missing, so that both sides give the same error.
        return "." not in path or start.checksum(files, path) == start.checksum(gold.files, path)

    if mode == "strict":
        found = strict_parts(changes, gold.since_start, agent_output=answer, gold_output=answer_of(gold))
        return Scored(found.total, found._asdict())
    try:
        parts = intercode_parts(
            git_status(start.index, changes),
            git_status(start.index, gold.since_start),
            agent_output=answer,
            gold_output=answer_of(gold) if is_text(gold) else None,
            same_content=same_content,
        )
    except UnreadableStatus:
        return Scored(0.0, NO_PARTS[mode])
    return Scored(parts.total, parts._asdict())
