"""An agent that replays prediction files of real systems: real model output without an API key."""

from pathlib import Path
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.types import Candidate, Feedback, State
from iad_policy.types.call_context import current_call
from iad_policy.types.hashing import digest

FOLDER = "predictions"


class Replay:
    """Replays recorded predictions in `IAD/BIRD-v0`: each system's answer once, in an order drawn per task.

    Sample i is the answer of system i, and starts over after the last system. A recording can't be refined: with
    feedback, the next answer is one that differs from the best and worst candidates in it.

    Args:
        env: An environment with `predictions(path)`, which reads one system's file by task id.
        path: A file, or a folder of files. By default it is `predictions/` in the environment's data.
    """

    takes_feedback = True

    def __init__(self, env: gym.Env[Any, Any], path: str | Path | None = None) -> None:
        inner: Any = env.unwrapped
        if not hasattr(inner, "predictions"):
            raise UnknownName("environment for the replay agent", type(inner).__name__, ["IAD/BIRD-v0"])
        place = Path(inner.data.folder) / FOLDER if path is None else Path(path)
        files = sorted(place.glob("*.json")) if place.is_dir() else [place]
        if not files or not files[0].is_file():
            raise FileNotFoundError(
                f"expected a prediction file, or a folder of them, at {place}, got none; pass --agent replay:PATH"
            )
        self.systems = {file.stem: inner.predictions(file) for file in files}

    @property
    def identity(self) -> str:
        """Everything its answers depend on: the recorded answers."""
        return f"replay {digest(self.systems)}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the next system's answer."""
        task_id = state.info["task_id"]
        answers = [(name, sql[task_id]) for name, sql in self.systems.items() if task_id in sql]
        if not answers:
            return Candidate(None, error=f"expected a prediction for task {task_id} in a file, found none")
        call = current_call()
        Random(f"{call.stream}:{task_id}").shuffle(answers)
        shown = () if feedback is None else (feedback.best, feedback.worst)
        seen = {candidate.action for candidate in shown if candidate is not None}
        place = call.sample_index if feedback is None else rng.randrange(len(answers))
        turned = answers[place % len(answers) :] + answers[: place % len(answers)]
        name, sql = next((one for one in turned if f"submit[{one[1]}]" not in seen), turned[0])
        return Candidate(f"submit[{sql}]", thought=f"as {name} answered")
