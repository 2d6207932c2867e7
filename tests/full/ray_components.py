"""Who plays in the tests on Ray: a slow agent, one whose process dies, and environments that processes don't share."""

import os
import signal
import time
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from iad_policy.types import Candidate, State, Usage
from iad_policy.types.call_context import current_call
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv


class Dials:
    """Turns a random dial after a while, and notes every answer in a file before it is given.

    `deaths` says of a task how often the process dies in it, instead of the second answer there.
    """

    identity = "dials"

    def __init__(self, notes: Path, answer_s: float = 0.0, deaths: dict[str, int] | None = None) -> None:
        self._notes, self._answer_s, self._deaths = notes, answer_s, deaths or {}

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        time.sleep(self._answer_s)
        task = str(state.info["task_id"])
        marks = sorted(self._notes.parent.glob(f"{task}.death.*"))
        if len(marks) < self._deaths.get(task, 0) and "dials: -" not in str(state.observation):
            (self._notes.parent / f"{task}.death.{len(marks)}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        call = current_call()
        with self._notes.open("ab", buffering=0) as notes:
            notes.write(f"{task} {call.stream} {call.seed} {os.getpid()}\n".encode())
        return Candidate(f"turn[{rng.choice(DIGITS)}]", thought="hm " * 500, usage=Usage(prompt_tokens=7))


class OtherDataEnv(DialsEnv):
    """Has other data in every process."""

    def __init__(self) -> None:
        super().__init__()
        self.data = SimpleNamespace(name="dials", digest=str(os.getpid()), folder=Path())
