"""Reads and scores files of predictions: by the rules of the field where that is possible, else by replaying them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.ledger.predictions.formats import AnswerScore, PredictionFormat
from iad_policy.ledger.predictions.prediction_files import (
    PredictionFile,
    RecordedAttempt,
    files_of,
    read_predictions,
)
from iad_policy.report.predictions.replay import NOT_SCORED, ReplayPool, ScoredAttempt
from iad_policy.report.predictions.scoring import ScoredFile

N_NAMES = 8
"""Number of ids that a note names."""


@dataclass(frozen=True, slots=True)
class ExpectedTasks:
    """The tasks that predictions are expected for.

    Attributes:
        difficulties: Task -> its difficulty, "" for none. Empty for an environment without ids.
        known: All tasks of the data, with those of other splits.
        name: What the expected tasks are, for messages.
    """

    difficulties: Mapping[str, str]
    known: Mapping[str, Any]
    name: str


def expected_tasks(env: gym.Env[Any, Any], n_tasks: int | None) -> ExpectedTasks:
    """Return the tasks of the environment's split, or the first ones of it.

    Raises:
        ValueError: `n_tasks` is below 1.
    """
    if n_tasks is not None and n_tasks < 1:
        raise ValueError(f"expected --tasks of 1 or more, got {n_tasks}")
    inner: Any = env.unwrapped
    task_ids = list(getattr(inner, "task_ids", ()))[:n_tasks]
    tasks: Mapping[str, Any] = getattr(inner, "tasks", {})
    difficulties = {task: str(getattr(tasks.get(task), "difficulty", "")) for task in task_ids}
    split = f"split {inner.split}" if getattr(inner, "split", None) else "the tasks"
    return ExpectedTasks(difficulties, tasks, split if n_tasks is None else f"the first {len(task_ids)} of {split}")


def read_files(
    paths: Sequence[Path], form: PredictionFormat, tasks: ExpectedTasks, *, is_compared: bool
) -> list[tuple[str, PredictionFile]]:
    """Return what was read, each file with the arm of its attempts.

    Args:
        paths: Files, and folders of files. The files of a folder are samples of one arm.
        form: The environment's format.
        tasks: The tasks that predictions are expected for.
        is_compared: Whether each path is an arm of its own. Else all files are samples of one.

    Raises:
        OSError: A file or folder is missing or can't be read.
    """
    if len(set(paths)) < len(paths):
        twice = next(path for path in paths if list(paths).count(path) > 1)
        raise ValueError(f"expected different files, got {twice} twice; name it once")
    names = _names(paths) if is_compared or len(paths) == 1 else [f"{len(paths)} files"] * len(paths)
    found = []
    for name, path in zip(names, paths, strict=True):
        for file in files_of(path, form):
            read = read_predictions(file, form, tasks.known)
            _leave_out(read, tasks)
            found.append((name, read))
    return found


def _names(paths: Sequence[Path]) -> list[str]:
    """Return a name for each path: as few of its last parts as tell them apart."""
    for n_parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.with_suffix("").parts[-n_parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return list(map(str, paths))


def _leave_out(read: PredictionFile, tasks: ExpectedTasks) -> None:
    """Leave out the attempts at tasks that are not expected."""
    if not tasks.difficulties:
        return
    outside = [one.task_id for one in read.attempts if one.task_id not in tasks.difficulties]
    if outside:
        read.attempts = [one for one in read.attempts if one.task_id in tasks.difficulties]
        names = list(dict.fromkeys(outside))
        more = f" and {len(names) - N_NAMES} more" if len(names) > N_NAMES else ""
        read.notes.append(
            f"{read.path}: predictions for tasks outside of {tasks.name}, which are not scored: {len(outside)} "
            f"({', '.join(names[:N_NAMES])}{more})"
        )


def require_baseline(baseline: str, files: Sequence[tuple[str, PredictionFile]], *, is_compared: bool = True) -> None:
    """Refuse a baseline that no file has attempts of, before anything is scored.

    Args:
        baseline: Name of an arm; "" for the first.
        files: What was read, each with its arm.
        is_compared: Whether each path is an arm of its own. Else all files are samples of one.

    Raises:
        UnknownName: No arm has this name.
        ValueError: Without a comparison, the only arm is that of all files.
    """
    arms = dict.fromkeys(one.arm or arm for arm, file in files for one in file.attempts)
    if not baseline or baseline in arms:
        return
    if not is_compared and len(arms) == 1:
        (only,) = arms
        raise ValueError(
            f"expected --compare with --baseline {baseline}, got {only} as samples of one arm; add --compare"
        )
    raise UnknownName("baseline", baseline, arms)


def score_files(
    files: Sequence[tuple[str, PredictionFile]],
    form: PredictionFormat,
    make_env: Callable[[], gym.Env[Any, Any]],
    *,
    workers: int = 1,
    timings: int = 0,
    advance: Callable[[], object] = bool,
) -> list[ScoredFile]:
    """Return the files with the scores of their attempts. A Ctrl-C leaves the rest of them without scores.

    Args:
        files: What was read, each with its arm.
        form: The environment's format.
        make_env: Function that makes an environment.
        workers: Number of attempts that are scored in parallel.
        timings: How often an answer is run to measure its time, 0 for no measurement.
        advance: Called after each attempt.

    Raises:
        ValueError: Times can't be measured here, or `workers` is below 1.
    """
    if workers < 1 or timings < 0:
        raise ValueError(f"expected workers of 1 or more and timings of 0 or more, got {workers} and {timings}")
    attempts = [one for _, file in files for one in file.attempts]
    scored: dict[int, ScoredAttempt] = {}
    answered = [place for place, one in enumerate(attempts) if one.answer is not None]
    answers = [(attempts[place].task_id, attempts[place].answer or "") for place in answered]
    direct = form.score(answers, workers=workers, timings=timings, advance=advance)
    if timings and not answers:
        raise ValueError("expected answers to measure for --r-ves, got recorded actions only; leave it out")
    if direct is not None:
        for place, one in zip(answered, direct, strict=True):
            scored[place] = _of_answer(attempts[place], one)
    left = [place for place in range(len(attempts)) if place not in scored]
    pool = ReplayPool(make_env, form, workers)
    try:
        for number, one in pool.scored([attempts[place] for place in left]):
            scored[left[number]] = one
            advance()
    except KeyboardInterrupt:
        for place in left:
            scored.setdefault(place, ScoredAttempt(attempts[place], error=NOT_SCORED, message="scoring was stopped"))
    places = iter(range(len(attempts)))
    return [ScoredFile(file, arm, [scored[next(places)] for _ in file.attempts]) for arm, file in files]


def _of_answer(attempt: RecordedAttempt, one: AnswerScore) -> ScoredAttempt:
    return ScoredAttempt(
        attempt, one.success, one.scores, one.result, one.verdict, message=one.message, error=one.error
    )
