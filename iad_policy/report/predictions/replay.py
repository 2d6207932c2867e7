"""Replays recorded actions in the environment, which scores them as it scores an agent's."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import gymnasium as gym

from iad_policy.ledger.episode_record import number
from iad_policy.ledger.predictions.formats import PredictionFormat
from iad_policy.ledger.predictions.prediction_files import RecordedAttempt
from iad_policy.run.engines.thread_pool import ThreadPool

NO_GOLD, NOT_SCORED = "no gold", "not scored"
"""Kinds of errors: the task has no gold, and scoring was stopped before the attempt."""
UNFINISHED = "unfinished"
"""Verdict of an attempt whose actions end before the episode."""


@dataclass(frozen=True, slots=True)
class ScoredAttempt:
    """A scored attempt.

    Attributes:
        attempt: The attempt.
        success: Success as 1.0 or 0.0. None if it is not known.
        scores: Name -> score: progress, reward, grounding, and the parts of the reward.
        result: Name of the result, for votes; "" for none.
        verdict: The verdict in a word, or why the episode ended: `done`, `max_steps` ...; `unfinished` if the actions
            end before it.
        message: Explanation of the scores, if there is one.
        n_unused: Actions after the end of the episode.
        error: Kind of the failure because of which there are no scores, "" for none.
    """

    attempt: RecordedAttempt
    success: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    result: str = ""
    verdict: str = ""
    message: str = ""
    n_unused: int = 0
    error: str = ""


def replayed(env: gym.Env[Any, Any], attempt: RecordedAttempt, form: PredictionFormat) -> ScoredAttempt:
    """Return the scores of an attempt by its actions.

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


class ReplayPool:
    """Replays attempts, several at once, each in an environment of its worker.

    Args:
        make_env: Function that makes an environment.
        form: The environment's format.
        workers: Number of attempts that are replayed in parallel.
    """

    def __init__(self, make_env: Callable[[], gym.Env[Any, Any]], form: PredictionFormat, workers: int) -> None:
        self._make_env = make_env
        self._form = form
        self._workers = workers
        self._stopped = Event()

    def scored(self, attempts: Sequence[RecordedAttempt]) -> Iterator[tuple[int, ScoredAttempt]]:
        """Yield the place and the scores of each attempt, as they are ready.

        An attempt that the environment fails at has an error, and the others go on.
        """
        yield from ThreadPool(self._workers, self._serve, self._stopped).work(list(enumerate(attempts)))

    def _serve(self, jobs: Iterator[tuple[int, RecordedAttempt]]) -> Iterator[tuple[int, ScoredAttempt]]:
        env: gym.Env[Any, Any] | None = None
        try:
            for place, attempt in jobs:
                if self._stopped.is_set():
                    return
                env = env or self._make_env()
                try:
                    scored = replayed(env, attempt, self._form)
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
