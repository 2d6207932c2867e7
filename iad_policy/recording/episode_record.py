"""What is kept of one finished episode."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

from iad_policy.recording.gc_pause import without_collector
from iad_policy.recording.jsonl import read_lines
from iad_policy.types import NOTHING, Usage


class Arm(NamedTuple):
    """One row of a comparison.

    Attributes:
        agent: The agent's name.
        strategy: The strategy's name.
        n: Proposals per decision; 1 for a strategy without that option.
    """

    agent: str
    strategy: str
    n: int


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One line of `episodes.jsonl`; docs/runs.md describes every field.

    Attributes:
        key: Hash of everything that can change the episode's answers.
        env: The environment's id.
        task_id: The task.
        strategy: The strategy's name.
        seed: Of every sample.
        agent: The agent's name.
        verifier: The verifier's name; "" for none.
        n: Proposals per decision, as the strategy was given them; 1 for one that does not have it.
        success: 1.0, 0.0, or None where the environment has no success.
        progress: 0-1 at the end, or None where the environment has none.
        reward: Sum over the episode.
        reward_parts: What the environment says the last reward is made of.
        n_steps: Committed actions.
        grounding: Accepted steps / steps, the reset counted as an accepted one (AgentBoard).
        difficulty: `easy`, `hard`, or "".
        stop_reason: `done`, `max_steps`, `budget`, `error`; `terminated` or `truncated` where the environment says no
            more.
        cut: The budget limit that cut the episode or one of its decisions; "" for none.
        error_kind: What kind of infrastructure failure ended the episode; "" for none.
        error: Its message.
        information: The verifier's label, "" without a verifier.
        n_failed_verdicts: Verdicts that are missing because the verifier failed.
        n_evaluations: Simulated attempts that the evaluator gave a verdict on.
        n_passed: Of these, those that it passed.
        wall_s: Seconds from reset to end, as it was run last.
        usage: What was spent, by role and axis.
        progress_by_step: Progress after the reset and after each step.
        actions: The committed actions.
    """

    key: str
    env: str
    task_id: str
    strategy: str
    seed: int
    agent: str = ""
    verifier: str = ""
    n: int = 1
    success: float | None = None
    progress: float | None = None
    reward: float = 0.0
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    n_steps: int = 0
    grounding: float = 1.0
    difficulty: str = ""
    stop_reason: str = ""
    cut: str = ""
    error_kind: str = ""
    error: str = ""
    information: str = ""
    n_failed_verdicts: int = 0
    n_evaluations: int = 0
    n_passed: int = 0
    wall_s: float = 0.0
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    progress_by_step: tuple[float | None, ...] = ()
    actions: tuple[Any, ...] = ()

    @property
    def arm(self) -> Arm:
        """The row of the table that it belongs to."""
        return Arm(self.agent, self.strategy, self.n)

    @property
    def is_unfinished(self) -> bool:
        """Whether the same command runs the episode again: it failed, or the budget of the whole run ended it."""
        return self.error_kind != "" or self.cut.startswith("run.")

    @property
    def is_scored(self) -> bool:
        """Whether it counts in means."""
        return not self.is_unfinished

    @property
    def spent(self) -> Usage:
        """What all roles spent."""
        first, *others = self.spent_by_role.values() or (NOTHING,)
        return sum(others, first)

    @property
    def spent_by_role(self) -> dict[str, Usage]:
        """What each role spent."""
        return {role: Usage(**axes) for role, axes in self.usage.items()}  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """Return the line's content."""
        return asdict(self)

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "EpisodeRecord":
        """Return the record of a line; fields of a later version are left out."""
        known = dict(line) if line.keys() <= _FIELDS else {name: line[name] for name in _FIELDS & line.keys()}
        for name in ("progress_by_step", "actions"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)


EPISODES = "episodes.jsonl"


@without_collector()
def read_episodes(folder: Path | str) -> dict[str, EpisodeRecord]:
    """Return the episodes that a run folder holds, by key; of two with the same key the later one."""
    return {line["key"]: EpisodeRecord.of(line) for line in read_lines(Path(folder) / EPISODES)}


_FIELDS = frozenset(part.name for part in fields(EpisodeRecord))


def number(value: Any) -> float | None:
    """Return a finite float, or None for what is missing or no number: JSON has no NaN."""
    return None if value is None or not math.isfinite(value) else float(value)
