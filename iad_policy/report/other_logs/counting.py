"""Decides which samples count, with which score, and which tasks of two arms are the same."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from iad_policy.errors import UnknownName
from iad_policy.report.other_logs.samples import UNSCORED, LoggedArms, LoggedSample, LoggedScore

EXCLUDED, WRONG, SCORED = "excluded", "wrong", "scored"
ERRORS = (EXCLUDED, WRONG, SCORED)
"""How samples that failed count: not at all, as 0, or with the score that their log gives them all the same."""
CONTENT, ID = "content", "id"
PAIRINGS = (CONTENT, ID)
"""What makes two arms' tasks the same: the name and what is asked, or the name alone."""


@dataclass(frozen=True, slots=True)
class CountingRules:
    """How samples count.

    Attributes:
        score: Name of the score to compare. "" for the only one, or for the format's own choice.
        success_at: Least score of a success. None: what the log says, or a score of 1 where all scores are 0 or 1.
        errors: A name in `ERRORS`.
        pair_by: A name in `PAIRINGS`.
    """

    score: str = ""
    success_at: float | None = None
    errors: str = EXCLUDED
    pair_by: str = CONTENT

    def __post_init__(self) -> None:
        for kind, given, known in (("rule for errors", self.errors, ERRORS), ("pairing", self.pair_by, PAIRINGS)):
            if given not in known:
                raise UnknownName(kind, given, known)


@dataclass(slots=True)
class ArmTasks:
    """An arm's samples, by task. A task's key is the same in all arms.

    Attributes:
        names: Key -> name, of all tasks.
        scores: Key -> scores of the samples that count. Tasks without one are left out.
        successes: Key -> successes of the same samples. Empty if success is not known.
        counted: The samples that count.
        errors: Kind of error -> number of samples that failed or have no score.
        n_scored_errors: Number of these with a score in the log.
    """

    names: dict[str, str] = field(default_factory=dict)
    scores: dict[str, list[float]] = field(default_factory=dict)
    successes: dict[str, list[float]] = field(default_factory=dict)
    counted: list[LoggedSample] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    n_scored_errors: int = 0

    @property
    def most_samples(self) -> int:
        """Largest number of samples of a task that count."""
        return max(map(len, self.scores.values()), default=0)


def score_of(logs: LoggedArms, asked: str) -> str:
    """Return the name of the score to compare.

    Args:
        logs: What was read.
        asked: The name that the user gives. The end of a name in two parts will do: `right` for `parts.right`. "" for
            none.

    Raises:
        UnknownName: No sample has such a score.
        ValueError: The user has to name one.
    """
    known = sorted({name for sample in logs.samples for name in sample.scores})
    if not asked:
        if not logs.score and known:
            raise ValueError(
                f"expected --score NAME, because the logs have several scores, got none; known: {', '.join(known)}"
            )
        return logs.score
    found = [name for name in known if name == asked] or [name for name in known if name.endswith(f".{asked}")]
    if len(found) != 1:
        raise UnknownName("score", asked, known)
    return found[0]


def by_task(logs: LoggedArms, rules: CountingRules) -> dict[str, ArmTasks]:
    """Return each arm's samples by task, in the order of the logs.

    Success is known if it is known for every sample that counts.
    """
    name = score_of(logs, rules.score)
    found = {arm: ArmTasks() for arm in logs.parts}
    counting = list(_counting(logs, rules, name, found))
    is_binary = {score.value for _, score in counting if score.success is None} <= {0.0, 1.0}
    successes = [_success(score, rules, is_binary=is_binary) for _, score in counting]
    for (sample, score), success in zip(counting, successes, strict=True):
        own, key = found[sample.arm], _key(sample, rules)
        own.counted.append(sample)
        own.scores.setdefault(key, []).append(score.value or 0.0)
        if None not in successes:
            own.successes.setdefault(key, []).append(success or 0.0)
    return found


def _counting(
    logs: LoggedArms, rules: CountingRules, name: str, found: Mapping[str, ArmTasks]
) -> Iterator[tuple[LoggedSample, LoggedScore]]:
    """Yield the samples that count with their scores, and note all tasks and errors."""
    for sample in logs.samples:
        own = found[sample.arm]
        own.names.setdefault(_key(sample, rules), sample.task)
        score = sample.scores.get(name, LoggedScore(None))
        is_scored = score.value is not None
        if sample.error or not is_scored:
            own.errors[sample.error or UNSCORED] += 1
            own.n_scored_errors += is_scored
            if rules.errors == WRONG:
                yield sample, LoggedScore(0.0, 0.0)
            elif rules.errors == SCORED and is_scored:
                yield sample, score
        else:
            yield sample, score


def _success(score: LoggedScore, rules: CountingRules, *, is_binary: bool) -> float | None:
    value = score.value or 0.0
    if rules.success_at is not None:
        return float(value >= rules.success_at)
    if score.success is None and is_binary:
        return value
    return score.success


def _key(sample: LoggedSample, rules: CountingRules) -> str:
    return sample.content if sample.content and rules.pair_by == CONTENT else f"id {sample.task}"
