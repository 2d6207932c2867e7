"""Reads and scores files of predictions: by the rules of the field where that is possible, else by replaying them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import number
from iad_policy.ledger.predictions.formats import PredictionFormat
from iad_policy.ledger.predictions.prediction_files import (
    PredictionFile,
    RecordedAttempt,
    files_of,
    read_predictions,
)
from iad_policy.report.comparison_table import some
from iad_policy.report.predictions.scoring import UNFINISHED, ScoredAttempt, ScoredFile
from iad_policy.run.engines.thread_pool import ThreadPool

NO_GOLD, NOT_SCORED = "no gold", "not scored"
"""Kinds of errors: the task has no gold, and scoring was stopped before the attempt."""


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
    """Return what was read, each file with the arm of its attempts. Tasks that are not expected are left out.

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
    names = [f"{len(paths)} files"] * len(paths)
    if is_compared or len(paths) == 1:  # as few of the last parts of paths as tell them apart
        lengths = range(1, max(len(path.parts) for path in paths) + 1)
        ends = (["/".join(path.with_suffix("").parts[-n:]) for path in paths] for n in lengths)
        names = next((one for one in ends if len(set(one)) == len(one)), list(map(str, paths)))
    found = []
    for name, path in zip(names, paths, strict=True):
        for file in files_of(path, form):
            read = read_predictions(file, form, tasks.known)
            outside = [
                one.task_id for one in read.attempts if tasks.difficulties and one.task_id not in tasks.difficulties
            ]
            if outside:
                read.attempts = [one for one in read.attempts if one.task_id in tasks.difficulties]
                read.notes.append(
                    f"{read.path}: predictions for tasks outside of {tasks.name}, which are not scored: {len(outside)} "
                    f"({some(list(dict.fromkeys(outside)))})"
                )
            found.append((name, read))
    return found


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
    for place, answer in zip(answered, direct or (), strict=direct is not None):
        scored[place] = ScoredAttempt(
            attempts[place],
            answer.success,
            answer.scores,
            answer.result,
            answer.verdict,
            message=answer.message,
            error=answer.error,
        )
    left = [place for place in range(len(attempts)) if place not in scored]
    try:
        for order, one in replays([attempts[place] for place in left], form, make_env, workers):
            scored[left[order]] = one
            advance()
    except KeyboardInterrupt:
        for place in left:
            scored.setdefault(place, ScoredAttempt(attempts[place], error=NOT_SCORED, message="scoring was stopped"))
    places = iter(range(len(attempts)))
    return [ScoredFile(file, arm, [scored[next(places)] for _ in file.attempts]) for arm, file in files]


def replays(
    attempts: Sequence[RecordedAttempt],
    form: PredictionFormat,
    make_env: Callable[[], gym.Env[Any, Any]],
    workers: int,
) -> Iterator[tuple[int, ScoredAttempt]]:
    """Replay attempts, several at once, each in an environment of its worker.

    Yields the place and the scores of each attempt, as they are ready. An attempt that the environment fails at has an
    error, and the others go on.
    """
    stopped = Event()

    def serve(jobs: Iterator[tuple[int, RecordedAttempt]]) -> Iterator[tuple[int, ScoredAttempt]]:
        env: gym.Env[Any, Any] | None = None
        try:
            for place, attempt in jobs:
                if stopped.is_set():
                    return
                env = env or make_env()
                try:
                    scored = replayed(env, attempt, form)
                except Exception as error:  # an environment may raise anything, and the others must go on
                    kind = str(getattr(error, "kind", "crash"))
                    scored = ScoredAttempt(attempt, error=kind, message=f"{type(error).__name__}: {error!s:.300}")
                    with suppress(Exception):
                        env.close()
                    env = None
                yield place, scored
        finally:
            if env is not None:
                env.close()

    yield from ThreadPool(workers, serve, stopped).work(list(enumerate(attempts)))


def replayed(env: gym.Env[Any, Any], attempt: RecordedAttempt, form: PredictionFormat) -> ScoredAttempt:
    """Return the scores of an attempt by its actions, as the environment scores an agent's.

    Actions after the end of the episode are not used. If there are too few, what was reached counts.
    """
    has_ids = hasattr(env.unwrapped, "task_ids")
    _, info = env.reset(seed=attempt.seed, options={"task_id": attempt.task_id} if has_ids else None)
    reward, n_steps, n_accepted, verdict = 0.0, 0, 0, UNFINISHED
    for action in attempt.actions:
        _, gained, terminated, truncated, info = env.step(action)
        reward += float(gained)
        n_steps += 1
        n_accepted += not info.get("invalid_action")
        if terminated or truncated:
            verdict = info.get("stop_reason") or ("terminated" if terminated else "truncated")
            break
    if "progress" in info and number(info["progress"]) is None:
        return ScoredAttempt(attempt, error=NO_GOLD, message="the task has no gold")
    scores = {"reward": reward, "grounding": (1 + n_accepted) / (1 + n_steps)}
    named = {"progress": info.get("progress"), **(info.get("reward_parts") or {})}
    scores |= {name: value for name, given in named.items() if (value := number(given)) is not None}
    success = info.get("success")
    return ScoredAttempt(
        attempt,
        None if success is None else float(success),
        scores,
        form.result_of(info) if "facts" in info else "",
        verdict,
        n_unused=len(attempt.actions) - n_steps,
    )
