"""A run as a process of its own, to be killed or interrupted: dials, a model that takes a while, everything saved."""

import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from rich.console import Console

from iad_policy.commands.terminal_run import run_session
from iad_policy.run.runner import Runner
from iad_policy.types import Candidate, State, Usage
from iad_policy.types.call_context import current_call
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, cast, config


class Slow:
    """Turns a random dial after a while; notes each answer before it gives it."""

    identity = "slow"

    def __init__(self, answers: Path, answer_s: float) -> None:
        self._answers, self._answer_s = answers, answer_s

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        time.sleep(self._answer_s)
        call = current_call()
        with self._answers.open("ab", buffering=0) as file:
            file.write(f"{call.stream} {call.seed}\n".encode())
        return Candidate(f"turn[{rng.choice(DIGITS)}]", thought="hm", usage=Usage(prompt_tokens=7))


def main(folder: Path, answers: Path, answer_s: float) -> int:
    """Run what is missing, as the command does; returns its exit status."""
    here = cast(Slow(answers, answer_s), Liker())
    runner = Runner(config(workers=4, tasks=6), DialsEnv, lambda *_: here)
    return run_session(runner, folder, Console())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])))
