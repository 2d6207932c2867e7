"""Defines the record of one finished episode, a line of `episodes.jsonl`."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from iad_policy.types import NOTHING, Usage
from iad_policy.types.jsonl import record_of
from iad_policy.types.texts import shortened

NOT_RECORDED = "not_recorded"
"""Kind of error of an episode of `iad reselect` that asked what was not recorded. To try again is of no use."""

MAX_TEXT, MAX_ACTIONS = 50_000, 2**20
"""Characters of a text, and of all actions, in a line."""


class Arm(NamedTuple):
    """One row of a comparison.

    Attributes:
        agent: The agent's name.
        strategy: The strategy's name.
        n: Proposals per decision; 1 for a strategy without that option.
        verifier: The verifier's name; "" for none.
    """

    agent: str
    strategy: str
    n: int
    verifier: str = ""


@dataclass(frozen=True, slots=True)
class EpisodeRecord:
    """One line of `episodes.jsonl`; docs/runs.md describes every field.

    Attributes:
        key: Hash of everything that can change the episode's answers.
        env: The environment's id.
        task_id: The task's id.
        strategy: The strategy's name.
        seed: Seed of every sample.
        instruction: The task's text; "" if the environment has none.
        agent: The agent's name.
        verifier: The verifier's name; "" for none.
        n: Proposals per decision; 1 for a strategy without that option.
        success: Success as 1.0 or 0.0; None if the environment does not report it.
        why: Why it is no success, in a line; "" if it is one or the environment does not say.
        progress: Progress at the end, from 0 to 1; None if the environment does not report it.
        reward: Sum of rewards over the episode.
        reward_parts: Components of the last reward, by name.
        n_steps: Number of committed actions.
        grounding: Share of accepted steps. The reset counts as an accepted step (AgentBoard).
        difficulty: Difficulty of the task as the data name it: `easy`, `moderate`, `challenging` ..., or "".
        stop_reason: Reason for the end: `done`, `max_steps`, `budget` or `error`; `terminated` or `truncated` if the
            environment gives no reason.
        cut: The budget limit that cut the episode or one of its decisions; "" for none.
        error_kind: Kind of the infrastructure failure that ended the episode; "" for none.
        error: Message of that failure.
        traceback: Its traceback; of a long one the end.
        information: The verifier's label; "" without a verifier.
        simulated_by: What it was simulated by if its environment has no simulation of its own: `fork` or `replay`, both
            of which see hidden state; "" for any other.
        n_unreadable: Proposals whose answer could not be read as an action.
        n_cut_off: Answers of the agent's model that ended at a limit of their length.
        n_failed_verdicts: Verdicts that are missing because the verifier failed.
        failed_verdict: Why the first of them is missing.
        n_dropped: Decisions that had feedback for an agent that takes none.
        final_score: The verifier's score of the last committed action; None if it was not verified, or in vain.
        n_evaluations: Simulated attempts that the evaluator judged.
        n_passed: Simulated attempts that the evaluator passed.
        wall_s: Seconds from reset to end, in the last run of the episode.
        usage: Usage by role and axis.
        progress_by_step: Progress after the reset and after each step.
        actions: The committed actions.
    """

    key: str
    env: str
    task_id: str
    strategy: str
    seed: int
    instruction: str = ""
    agent: str = ""
    verifier: str = ""
    n: int = 1
    success: float | None = None
    why: str = ""
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
    traceback: str = ""
    information: str = ""
    simulated_by: str = ""
    n_unreadable: int = 0
    n_cut_off: int = 0
    n_failed_verdicts: int = 0
    failed_verdict: str = ""
    n_dropped: int = 0
    final_score: float | None = None
    n_evaluations: int = 0
    n_passed: int = 0
    wall_s: float = 0.0
    usage: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    progress_by_step: tuple[float | None, ...] = ()
    actions: tuple[Any, ...] = ()

    @property
    def arm(self) -> Arm:
        """The row of the table that the episode belongs to."""
        return Arm(self.agent, self.strategy, self.n, self.verifier)

    @property
    def is_unfinished(self) -> bool:
        """Whether the same command runs the episode again, because it failed or the run's budget ended it."""
        return self.error_kind != "" or self.cut.startswith("run.")

    @property
    def is_scored(self) -> bool:
        """Whether the episode counts in means."""
        return not self.is_unfinished

    @property
    def spent(self) -> Usage:
        """Total usage of all roles."""
        first, *others = self.spent_by_role.values() or (NOTHING,)
        return sum(others, first)

    @property
    def spent_by_role(self) -> dict[str, Usage]:
        """Usage of each role."""
        return {role: Usage(**axes) for role, axes in self.usage.items()}  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """Return the line's content. What readers would skip as too long is shortened: the log has it whole."""
        line = {name: shortened(one, MAX_TEXT) if isinstance(one, str) else one for name, one in asdict(self).items()}
        if sum(len(one) for one in self.actions if isinstance(one, str)) > MAX_ACTIONS:
            limit = max(100, MAX_ACTIONS // len(self.actions))
            line["actions"] = [shortened(one, limit) if isinstance(one, str) else one for one in self.actions]
        return line

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "EpisodeRecord":
        """Return the record of a line. Fields of a later version are ignored."""
        known = dict(line) if line.keys() <= _FIELDS else {name: line[name] for name in _FIELDS & line.keys()}
        for name in ("progress_by_step", "actions"):
            known[name] = tuple(known.get(name, ()))
        return cls(**known)


EPISODES = "episodes.jsonl"


def episode_of(line: bytes) -> EpisodeRecord | None:
    """Return the record of a line of `episodes.jsonl`, or None if it is damaged."""
    read = record_of(line)
    if read is None:
        return None
    try:
        record = EpisodeRecord.of(read)
        kinds = (*read, *map(type, read.values()))
        if kinds not in _known_kinds:
            for name, known in _KINDS.items():
                if type(getattr(record, name)) not in known:
                    raise TypeError(f"expected {name} of another type, got {getattr(record, name)!r:.100}")
            if len(_known_kinds) < 1000:
                _known_kinds.add(kinds)
        numbers = [record.reward, record.grounding, record.wall_s, record.success or 0.0, record.progress or 0.0]
        numbers.append(record.final_score or 0.0)
        numbers += [one for one in record.progress_by_step if one is not None]
        numbers += record.reward_parts.values()
        for spent in record.usage.values():
            if spent.keys() - set(Usage._fields):
                raise ValueError(f"expected the axes {', '.join(Usage._fields)}, got {', '.join(spent)}")
            numbers += spent.values()
        if not math.isfinite(math.fsum(numbers)):  # JSON of others has NaN and 1e400
            raise ValueError("expected finite numbers, got others")
    except (TypeError, ValueError, AttributeError, OverflowError):
        return None
    return record


_FIELDS = frozenset(part.name for part in fields(EpisodeRecord))
_known_kinds: set[tuple[Any, ...]] = set()
"""Names and types of the fields of lines that were found whole, as nearly all lines have the same."""


def _kinds_of(hint: Any) -> frozenset[type]:
    if isinstance(hint, UnionType):
        return frozenset().union(*map(_kinds_of, get_args(hint)))
    plain = get_origin(hint) or hint
    in_json = {float: frozenset({int, float}), Mapping: frozenset({dict})}  # where a line has another type
    return in_json.get(plain, frozenset({plain}))


_KINDS = {name: _kinds_of(hint) for name, hint in get_type_hints(EpisodeRecord).items()}


def number(value: Any) -> float | None:
    """Return a finite float, or None for a missing or non-finite value, because JSON has no NaN."""
    return None if value is None or not math.isfinite(value) else float(value)
