"""The table of samples that every comparison is made from, and how the samples in it count.

Episodes of ours, other people's logs and scored predictions all become samples. Nothing after this module knows where a
sample is from.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import Arm, EpisodeRecord
from iad_policy.run.config import FREE
from iad_policy.types.hashing import digest

SUCCESS, PROGRESS, REWARD = METRICS = ("success", "progress", "reward")
"""What an episode of ours is measured by."""
RUN_BUDGET = "budget of the run"
"""Kind of error of an episode that the budget of the whole run ended."""
EXCLUDED, WRONG, SCORED = ERRORS = ("excluded", "wrong", "scored")
"""How samples that failed count: not at all, as 0, or with the score that their log gives them all the same."""
PLACES = ("file", "path")
"""Parts that say where a log is. They name an arm only if nothing else does. Paths are unique."""
SETUP = "setup"
"""A part that names no arm: a digest of all that has made it, for those whose other parts don't tell all of it."""
CONTENT, ID = PAIRINGS = ("content", "id")
"""What makes two arms' tasks the same: the name and what is asked, or the name alone."""


class SampleScore(NamedTuple):
    """One score of a sample.

    Attributes:
        value: The score as a number. None if there is none that is one.
        success: 1.0 or 0.0 if the sample itself says whether that is a success, else None.
    """

    value: float | None
    success: float | None = None


@dataclass(frozen=True, slots=True)
class TaskSample:
    """One attempt at one task.

    Attributes:
        task: The task's name.
        arm: The row of the comparison that the sample belongs to.
        sample: Which of the arm's samples of the task it is: a seed, an epoch, the number of a rollout.
        scores: Name -> score.
        error: Kind of the failure that ended the sample, "" for none.
        content: Digest of the task's name and of what it asks, "" if that is not known. Equal digests are the same
            task, and tasks of one name with different digests are not.
        tokens: Tokens of all model calls, those of graders and judges too. None if not known.
        usd: Dollars for them. None if not known.
        seconds: Time at work: of our episodes the time inside calls, as they took at first. None if not known.
    """

    task: str
    arm: str
    sample: str
    scores: Mapping[str, SampleScore]
    error: str = ""
    content: str = ""
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(slots=True)
class Samples:
    """The table of samples, with what has to be said of it.

    Attributes:
        parts: Arm -> what it is made of (model, task, solver ...), in the order of the rows.
        samples: All samples.
        score: Name of the score to compare if the user names none, "" if there is no such score.
        baselines: Arm -> the arm that it is compared with if the user names none. By default the first of its group.
        is_of_runs: Whether the samples are episodes of ours. These say themselves whether they are a success, and
            samples of one name have the same seed in all arms.
        problems: What could not be read, with file and line.
        alarms: What makes figures unfair, such as a verifier that reads the answer.
        notes: What else a reader of the figures has to know, such as a log that was cancelled.
    """

    parts: dict[str, Mapping[str, str]] = field(default_factory=dict)
    samples: list[TaskSample] = field(default_factory=list)
    score: str = ""
    baselines: Mapping[str, str] = field(default_factory=dict)
    is_of_runs: bool = False
    problems: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def repeated(self) -> list[list[str]]:
        """The arms that are repeats of each other: they differ in nothing but where they are."""
        same: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for arm, parts in self.parts.items():
            same.setdefault(tuple(sorted(one for one in parts.items() if one[0] not in PLACES)), []).append(arm)
        return [arms for arms in same.values() if len(arms) > 1]


def setup_of(recorded: Mapping[str, Any], arm: Arm) -> str:
    """Return a digest of what makes the answers of a row but for its seeds and tasks.

    Args:
        recorded: The content of the run's `config.json`.
        arm: The row.
    """
    identity = recorded.get("identity", {})
    others = (*FREE, "identity", "data_dir", "agent", "verifier", "strategies", "n", "seed", "tasks", "subset")
    names = (arm.agent, f"{arm.agent} with {arm.verifier}", arm.strategy)
    fixed = {name: value for name, value in recorded.items() if name not in others}
    return digest(tuple(arm), fixed, [identity.get(name, "") for name in names])[:8]


def sample_of(record: EpisodeRecord, arm: str = "", content: str = "") -> TaskSample:
    """Return an episode as a sample.

    Args:
        record: The episode.
        arm: The row of the comparison.
        content: What tells its task from others of the same name; "" where all rows have the same data.
    """
    spent = record.spent
    return TaskSample(
        task=record.task_id,
        arm=arm,
        sample=str(record.seed),
        scores={
            PROGRESS: SampleScore(record.progress, record.success),
            REWARD: SampleScore(record.reward, record.success),
        }
        if record.is_scored
        else {},
        error=error_of(record),
        content=content,
        tokens=float(spent.tokens) if not spent.n_unmetered else None,
        usd=None if spent.n_unpriced or spent.n_unmetered else spent.usd,
        seconds=spent.seconds,
    )


def error_of(record: EpisodeRecord) -> str:
    """Return why an episode is in no mean: the kind of its failure, or the budget of the run. "" if it is in them."""
    return record.error_kind or ("" if record.is_scored else RUN_BUDGET)


def samples_of(records: Mapping[str, Sequence[EpisodeRecord]]) -> Samples:
    """Return the rows of one run, or of runs on the same data, as a table of samples.

    Args:
        records: Row -> its episodes.
    """
    return Samples(
        parts={row: {"row": row} for row in records},
        samples=[sample_of(one, row) for row, own in records.items() for one in own],
        score=REWARD,
        is_of_runs=True,
    )


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
        values: Metric -> key -> sample -> value, of the samples that count and have a value. Tasks are in the order of
            their names. Tasks without a value, and metrics that are not known, are left out.
        counted: Key -> the samples that count.
        errors: Kind of error -> number of samples that failed or have no score.
        n_scored_errors: Number of these with a score.
        is_seeded: Whether samples of one name have the same seed in all arms.
    """

    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)
    counted: dict[str, list[TaskSample]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    n_scored_errors: int = 0
    is_seeded: bool = False

    def of(self, metric: str) -> Mapping[str, Mapping[str, float]]:
        """Return key -> sample -> value of a metric. Empty if it is not known."""
        return self.values.get(metric, {})

    def per_task(self, metric: str) -> list[list[float]]:
        """Return the values of each task, in the order of the tasks' names."""
        return [list(own.values()) for own in self.of(metric).values()]

    def add(self, metric: str, key: str, sample: TaskSample, value: float | None) -> None:
        """Add a sample's value, if there is one."""
        if value is not None:
            own = self.values.setdefault(metric, {}).setdefault(key, {})
            own[sample.sample if self.is_seeded else str(len(own))] = value


def by_task(samples: Samples, rules: CountingRules, *, also: Sequence[str] = ()) -> dict[str, ArmTasks]:
    """Return each arm's samples by task, in the order of the table.

    An episode of ours says itself whether it is a success. Elsewhere success is known if it is known for every sample
    that counts.

    Args:
        samples: The table.
        rules: How samples count, and with which score.
        also: Names of further scores to put beside it.
    """
    name = score_of(samples, rules.score)
    found = {arm: ArmTasks(is_seeded=samples.is_of_runs) for arm in samples.parts}
    counting: list[tuple[TaskSample, SampleScore]] = []
    for sample in samples.samples:
        own = found[sample.arm]
        own.names.setdefault(_key(sample, rules), sample.task)
        score = sample.scores.get(name, SampleScore(None))
        is_scored = score != (None, None)
        if sample.error or not is_scored:
            own.errors[sample.error or "unscored"] += 1
            own.n_scored_errors += is_scored
            if rules.errors == WRONG:
                score = SampleScore(0.0, 0.0)
            elif rules.errors != SCORED or not is_scored:
                continue
        counting.append((sample, score))
    is_binary = not samples.is_of_runs and {one.value for _, one in counting if one.success is None} <= {0.0, 1.0}

    def success_of(score: SampleScore) -> float | None:
        if rules.success_at is not None:
            return None if score.value is None else float(score.value >= rules.success_at)
        return score.value if score.success is None and is_binary else score.success

    successes = [success_of(score) for _, score in counting]
    is_known = samples.is_of_runs or None not in successes
    for (sample, score), success in zip(counting, successes, strict=True):
        own, key = found[sample.arm], _key(sample, rules)
        own.counted.setdefault(key, []).append(sample)
        own.add(name, key, sample, score.value)
        for other in also:
            own.add(other, key, sample, sample.scores[other].value if other in sample.scores else None)
        if is_known:
            own.add(SUCCESS, key, sample, success)
    for own in found.values():
        names = own.names
        own.values = {
            metric: dict(sorted(tasks.items(), key=lambda one: (names[one[0]], one[0])))
            for metric, tasks in own.values.items()
        }
    return found


def _key(sample: TaskSample, rules: CountingRules) -> str:
    return sample.content if sample.content and rules.pair_by == CONTENT else f"id {sample.task}"


def score_of(logs: Samples, asked: str) -> str:
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


def error_kind(text: str) -> str:
    """Return the name of the exception that a message begins with, or else its first words."""
    name = re.match(r"[A-Za-z_][\w.]*(?=[(:]|$)", text.strip())
    return name.group().rpartition(".")[2] if name else " ".join(text.split())[:40]


def task_content(task: str, prompt: str | Sequence[Mapping[str, Any]]) -> str:
    """Return the digest of a task: of its name, and of the texts that it begins with.

    Ids of messages are not part of it, because they differ from log to log, nor are pictures, which some logs leave
    out.

    Args:
        task: The task's name.
        prompt: A text, or chat messages.
    """
    n_characters = 5000  # some logs cut texts off soon after
    if isinstance(prompt, str):
        return digest(task, prompt[:n_characters])
    texts: list[str] = []
    for message in prompt:
        texts.append(str(message.get("role")))
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        for part in parts:
            kind = str(part.get("type"))
            texts.append(part["text"][:n_characters] if kind == "text" else f"({kind.capitalize()})")
    return digest(task, *texts)
