"""A run as a process of its own, to be killed: dials, a model that takes a while, everything saved."""

import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from iad_policy.call import current_call
from iad_policy.evaluation.config import FREE
from iad_policy.evaluation.folder import RunFolder
from iad_policy.evaluation.runner import Runner
from iad_policy.types import Candidate, State, Usage
from tests.iad_policy.evaluation_toy import DIGITS, DialsEnv, Liker, cast, config


class Slow:
    """Turns a random dial after a while; notes each answer before it gives it."""

    identity = "slow"

    def __init__(self, answers: Path) -> None:
        self._answers = answers.open("ab", buffering=0)

    def propose(self, state: State, *, feedback: Any, temperature: float | None, rng: Random) -> Candidate:
        time.sleep(0.008)
        call = current_call()
        self._answers.write(f"{call.stream} {call.seed}\n".encode())
        return Candidate(f"turn[{rng.choice(DIGITS)}]", thought="hm " * 500, usage=Usage(prompt_tokens=7))


def main(folder: Path, answers: Path) -> None:
    """Run what is missing."""
    asked = config(workers=4, tasks=6)
    here = cast(Slow(answers), Liker())
    runner = Runner(asked, DialsEnv, lambda *_: here)
    with RunFolder(folder, runner.config(), free=FREE) as kept:
        for _ in runner.episodes(kept):
            pass


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
