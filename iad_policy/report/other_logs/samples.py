"""The one record that logs of every framework are read into."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from iad_policy.types.hashing import digest

N_CHARACTERS = 5000
"""Characters of a text that tell tasks apart. Some logs cut texts off soon after."""
UNSCORED = "unscored"
"""Kind of error of a sample that ended well and has no score."""


class LoggedScore(NamedTuple):
    """One score of a sample.

    Attributes:
        value: The score as a number. None if the log has none that is one.
        success: 1.0 or 0.0 if the log itself says whether that is a success, else None.
    """

    value: float | None
    success: float | None = None


@dataclass(frozen=True, slots=True)
class LoggedSample:
    """One attempt at one task, as a log has it.

    Attributes:
        task: The task's name.
        arm: The row of the comparison that the sample belongs to.
        sample: Which of the arm's samples of the task it is: an epoch, the number of a rollout, a seed.
        scores: Name -> score.
        error: Kind of the failure that ended the sample, "" for none.
        content: Digest of the task's name and of what it asks, "" if the log does not have the latter. Equal digests
            are the same task, and tasks of one name with different digests are not.
        tokens: Tokens of all model calls that the log counts, those of graders and judges too. None if not known.
        usd: Dollars for them. None if not known.
        seconds: Time at work. None if not known.
    """

    task: str
    arm: str
    sample: str
    scores: Mapping[str, LoggedScore]
    error: str = ""
    content: str = ""
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None


@dataclass(slots=True)
class LoggedArms:
    """What was read from logs.

    Attributes:
        parts: Arm -> what it is made of (model, task, solver ...), in the order of the logs.
        samples: All samples.
        score: Name of the score to compare if the user names none, "" if there is no such score.
        problems: What could not be read, with file and line.
        alarms: What makes figures unfair, such as a verifier that reads the answer.
        notes: What else a reader of the figures has to know, such as a log that was cancelled.
    """

    parts: dict[str, Mapping[str, str]] = field(default_factory=dict)
    samples: list[LoggedSample] = field(default_factory=list)
    score: str = ""
    problems: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


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
    return digest(task, *_texts(prompt))


def _texts(prompt: str | Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if isinstance(prompt, str):
        yield prompt[:N_CHARACTERS]
        return
    for message in prompt:
        yield str(message.get("role"))
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
        for part in parts:
            kind = str(part.get("type"))
            yield part["text"][:N_CHARACTERS] if kind == "text" else f"({kind.capitalize()})"
