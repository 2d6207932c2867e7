"""What a class of an environment says about the prediction files of its field, as `env_defaults` names it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import gymnasium as gym

from iad_policy.registry import load_object
from iad_policy.registry.domain import domain_by_id, env_id

SUCCESS = "success"
Items = Sequence[tuple[str, int, str | None, Any]]
"""For each item of a file its place, its number from 0 on, its key in an object (else None), and its value."""


class AnswerInFile(Protocol):
    """An answer as a file has it.

    Attributes:
        task_id: Id of the task.
        text: The answer, such as a query.
        action: The action that hands it in.
        place: Its place for messages.
    """

    task_id: str
    text: str
    action: str
    place: str


class AnswersInFile(Protocol):
    """What a file has.

    Attributes:
        answers: The answers, in order. Several for one task are samples.
        problems: What can't be read, with its place and the reason.
        unknown: Ids that are no task's.
        notes: What else a reader of the figures has to know.
    """

    answers: Sequence[AnswerInFile]
    problems: Sequence[str]
    unknown: Sequence[str]
    notes: Sequence[str]


class AnswerScore(Protocol):
    """The scores of an answer.

    Attributes:
        success: Whether it is right, as 1.0 or 0.0. None if it could not be scored.
        scores: Name -> score.
        result: Name of its result, for votes.
        verdict: The verdict in a word.
        message: Explanation of the verdict.
        error: Kind of the failure because of which it could not be scored, "" for none.
    """

    success: float | None
    scores: Mapping[str, float]
    result: str
    verdict: str
    message: str
    error: str


class PredictionFormat(Protocol):
    """The prediction files of an environment, and the scores of its field. It is made with the environment.

    Attributes:
        env_args: Arguments of the environment if they are not given, such as those of the published scorer.
        headings: Score -> its heading in the table, for those that are shown. The first one is success.
        main: The score beside success that arms are compared by.
        suffix: How the name of a file with one answer ends, "" if there are no folders of such files.
        notes: What a reader of the figures has to know.
        missing_as: Whose rule it is that a task without a prediction counts as wrong, such as "BIRD's evaluator". ""
            if it is only ours.
    """

    env_args: Mapping[str, Any]
    headings: Mapping[str, str]
    main: str
    suffix: str
    notes: Sequence[str]
    missing_as: str

    def __init__(self, env: gym.Env[Any, Any]) -> None: ...

    def read(self, items: Items) -> AnswersInFile:
        """Return the answers of a file."""
        ...

    def score(
        self, answers: Sequence[tuple[str, str]], *, workers: int, timings: int, advance: Callable[[], object]
    ) -> Sequence[AnswerScore] | None:
        """Return the scores of answers without the environment, which is faster, or None if that is not possible.

        Args:
            answers: Task id and text of each answer.
            workers: Number of answers that are scored in parallel.
            timings: How often an answer is run to measure its time, 0 for no measurement.
            advance: Called after each answer.

        Raises:
            ValueError: Times can't be measured here.
        """
        ...

    def result_of(self, info: Mapping[str, Any]) -> str:
        """Return the name of an episode's result, for votes. "" if there are none."""
        ...

    def majority_right(self, results: Sequence[str], is_right: Sequence[bool]) -> float | None:
        """Return the probability that a vote over results is right. None if there are no votes here."""
        ...


class ActionsOnly:
    """An environment without prediction files of its own: what it gets are recorded actions."""

    env_args: Mapping[str, Any] = {}
    headings: Mapping[str, str] = {
        SUCCESS: "success",
        "progress": "progress",
        "reward": "reward",
        "grounding": "grounding\naccuracy",
    }
    main = "progress"
    suffix = ""
    notes: Sequence[str] = ()
    missing_as = ""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self._env = env_id(env)

    def read(self, items: Items) -> AnswersInFile:
        """Refuse everything."""
        raise ValueError(
            f'expected recorded actions, a line {{"task_id": ..., "actions": [...]}} for each attempt, as {self._env} '
            "has no prediction files of another form"
        )

    def score(
        self, answers: Sequence[tuple[str, str]], *, workers: int, timings: int, advance: Callable[[], object]
    ) -> None:
        """Return None: the environment scores.

        Raises:
            ValueError: Times are asked for.
        """
        if timings:
            raise ValueError(f"expected --r-ves where answers can be timed, got it for {self._env}; leave it out")

    def result_of(self, info: Mapping[str, Any]) -> str:
        """Return "": there are no votes."""
        return ""

    def majority_right(self, results: Sequence[str], is_right: Sequence[bool]) -> None:
        """Return None: there are no votes."""


def format_of(env: str) -> type[PredictionFormat]:
    """Return the class of an environment's prediction files, by the environment's id."""
    path = domain_by_id(env).predictions
    made: type[PredictionFormat] = load_object(path) if path else ActionsOnly
    return made
