"""Measures what the scores of a verifier of `IAD/InterCodeBash-v0` say about success, on tasks it was not fitted to.

`python benchmarks/support/bash_evidence.py` prints it for the proxy verifier on the held-out tasks, over all attempts
and by source; files with attempts of other agents may follow. With `IAD_REAL_DATA` set, it includes half of InterCode's
tasks, which takes ten minutes.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
from support.bash_candidates import (
    Attempt,
    Tried,
    corrupted_attempts,
    is_held_out,
    recorded_attempts,
    rule_based_attempts,
    tried,
)
from support.figures import ROOT

import iad_envs  # noqa: F401 (registers)
from iad_envs.bash.policy.verifier import BashVerifier
from iad_envs.bash.tasks import BashTask, load_tasks
from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.types import Verifier

BUNDLED = ROOT / "data" / "intercode"
FITTING_SPLITS = ("tuning",)
REPORTED_SPLITS = ("test",)
"""What is bundled for learning (`train`, `dev`) is in neither."""
TIME_S = 3.0
"""Wall time of a command in seconds. Some wrong commands read the whole file system."""


class TaskSet(NamedTuple):
    """Tasks of a data folder, of one half: for fitting, or for reports.

    Attributes:
        folder: The data folder.
        held_out: Whether these are the tasks for reports.
    """

    folder: Path
    held_out: bool

    @property
    def tasks(self) -> Sequence[BashTask]:
        """The tasks. Data without splits of its own is divided by a hash of the ids."""
        splits = REPORTED_SPLITS if self.held_out else FITTING_SPLITS
        found = load_tasks(self.folder.resolve())
        has_splits = len({task.split for task in found}) > 1
        return [
            task
            for task in found
            if (task.split in splits if has_splits else is_held_out(task.task_id) == self.held_out)
        ]


HELD_OUT = TaskSet(BUNDLED, held_out=True)


def bash_evidence(
    tasks: TaskSet = HELD_OUT,
    *,
    recorded: Sequence[Path] = (),
    n_tasks: int | None = None,
    verifier: Verifier | None = None,
) -> VerifierEvidence:
    """Return how well a verifier's scores of submissions tell success.

    Args:
        tasks: The tasks.
        recorded: Files with attempts of other agents, one JSON object with `task_id`, `source` and `commands` per
            line. If given, only these are measured. If not, the attempts are those of the rule-based agent, and gold
            commands with and without errors.
        n_tasks: Maximum number of tasks, evenly spread over the set. None takes all.
        verifier: The verifier. Default: the proxy verifier.
    """
    return evidence_on(list(run_attempts(tasks, recorded=recorded, n_tasks=n_tasks)), verifier)


def evidence_on(rows: Sequence[Tried], verifier: Verifier | None = None) -> VerifierEvidence:
    """Return how well a verifier's scores of given submissions tell success."""
    judge = verifier or BashVerifier()
    scores = [judge.verify(row.after, [row.submit])[0].score for row in rows]
    return evidence(scores, [row.is_right for row in rows], tasks=[row.attempt.task_id for row in rows])


def run_attempts(
    tasks: TaskSet, *, recorded: Sequence[Path] = (), n_tasks: int | None = None, n_per_kind: int = 1
) -> Iterator[Tried]:
    """Build attempts as `bash_evidence` says, and run them, without tasks whose gold is slow or does not succeed."""
    env: Any = gym.make("IAD/InterCodeBash-v0", data_dir=tasks.folder, split=None, limits={"time_s": TIME_S}).unwrapped
    try:
        available = frozenset(env.task_ids)
        usable = [task for task in tasks.tasks if task.task_id in available]
        step = len(usable) / min(n_tasks or len(usable), len(usable))
        chosen = [usable[int(place * step)] for place in range(round(len(usable) / step))]
        golds = tried(env, [Attempt(task.task_id, "gold", (task.gold,)) for task in chosen])
        solvable = [task for task, row in zip(chosen, golds, strict=True) if row.is_right and not _is_slow(row)]
        task_ids = [task.task_id for task in solvable]
        if recorded:
            attempts = [attempt for file in recorded for attempt in recorded_attempts(file, task_ids)]
        else:
            attempts = corrupted_attempts(solvable, n_per_kind) + rule_based_attempts(env, task_ids)
        yield from tried(env, attempts)
    finally:
        env.close()


def _is_slow(row: Tried) -> bool:
    return bool(row.after.info["facts"]["timed_out"])


def _task_sets() -> Mapping[str, TaskSet]:
    real = os.environ.get("IAD_REAL_DATA")
    return {"bundled": HELD_OUT, **({"InterCode": TaskSet(Path(real) / "intercode", held_out=True)} if real else {})}


def main() -> None:
    """Print the evidence on each set of tasks."""
    recorded = [Path(name) for name in sys.argv[1:]]
    for name, tasks in _task_sets().items():
        rows = list(run_attempts(tasks, recorded=recorded))
        print(f"{name}: {evidence_on(rows)}", flush=True)
        for source in dict.fromkeys(row.attempt.source for row in rows):
            print(f"  {source}: {evidence_on([row for row in rows if row.attempt.source == source])}", flush=True)


if __name__ == "__main__":
    main()
