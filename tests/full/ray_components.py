"""Who plays in the tests on Ray: a slow agent, one whose process dies, and environments that processes don't share."""

import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from iad_policy.commands.terminal_run import run_session
from iad_policy.run.runner import Runner
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.call_context import current_call
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, cast, config


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


def runner(agent: Any, env: Any = DialsEnv, **changes: Any) -> Runner:
    here = cast(agent, Liker())
    return Runner(config(**({"tasks": 6, "engine": "ray", "workers": 2} | changes)), env, lambda *_: here)


def session(folder: str, notes: str) -> None:
    """A run as a process of its own, to be interrupted."""
    sys.exit(run_session(runner(Dials(Path(notes), 0.3), workers=4), Path(folder), Console()))
