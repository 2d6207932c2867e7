"""Fits the proxy verifier of `IAD/InterCodeBash-v0`, and measures what its scores of submissions say about success.

    python benchmarks/support/bash_verifier.py             the evidence, on tasks that it was not fitted to, by model
    python benchmarks/support/bash_verifier.py --models    the same of weights that were fitted without the model, too
    python benchmarks/support/bash_verifier.py --fit       iad_envs/bash/policy/weights.toml

An attempt is the first command of a language model for one of InterCode's tasks, after which the agent submits, from
InterCode's published trajectories: `$IAD_REAL_DATA/intercode/trajectories/visible.jsonl`, of three models. Running it
gives the label, and no verifier sees it. One half of the tasks is for fitting, the other for reports. Each takes some
minutes on an idle machine. On a busy one, more commands reach the time limit and count as wrong.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
import numpy as np
from scipy.special import expit
from support.evidence import Floats, logistic
from support.figures import ROOT

import iad_envs  # noqa: F401 (registers)
from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.findings import FINDINGS, findings_of
from iad_envs.bash.policy.verifier import BashVerifier
from iad_envs.bash.tasks import BashTask, load_tasks
from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.types import Candidate, PublicInfo, State, Turn, Verifier

WEIGHTS = ROOT / "iad_envs" / "bash" / "policy" / "weights.toml"
STARTS = ("change", "answer", "either")
WEIGHTED = [name for name in FINDINGS if name not in ("zero", "loose_or")]
"""Findings with a weight. Of the two others, one is as often right as wrong, and one is rare."""


class Attempt(NamedTuple):
    """Commands for a task, by `gold` or a model."""

    task_id: str
    source: str
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt that was run: the state after it, the candidate that submits, and whether it succeeds."""

    attempt: Attempt
    after: State
    submit: Candidate
    is_right: bool


class TaskSet(NamedTuple):
    """A half of a folder's tasks, by a hash of their ids: for reports if they are held out, else for fitting."""

    folder: Path
    held_out: bool

    @property
    def tasks(self) -> Sequence[BashTask]:
        """The tasks."""
        return [one for one in load_tasks(self.folder.resolve()) if in_second_half(one.task_id) == self.held_out]


def in_second_half(task_id: str) -> bool:
    """Whether a task is in the half for reports."""
    return bool(blake2b(task_id.encode(), digest_size=8).digest()[0] % 2)


def published() -> tuple[Path, Path] | None:
    """Return InterCode's folder and its published trajectories in `$IAD_REAL_DATA`, if they are there."""
    folder = Path(os.environ.get("IAD_REAL_DATA", "")) / "intercode"
    file = folder / "trajectories" / "visible.jsonl"
    return (folder, file) if file.exists() else None


def attempts_at(*, held_out: bool) -> list["Tried"]:
    """Return the models' first commands for a half of InterCode's tasks, run.

    Raises:
        SystemExit: The published trajectories are not there.
    """
    found = published()
    if found is None:
        raise SystemExit(
            "expected InterCode's published trajectories, got none; set IAD_REAL_DATA to a folder with "
            "intercode/trajectories/visible.jsonl"
        )
    return list(run_attempts(TaskSet(found[0], held_out=held_out), found[1]))


def bash_evidence() -> VerifierEvidence | None:
    """Return how well the proxy verifier's scores tell success of models' commands; None without published ones."""
    return evidence_on(attempts_at(held_out=True)) if published() else None


def evidence_on(rows: Sequence[Tried], verifier: Verifier | None = None) -> VerifierEvidence:
    """Return how well a verifier's scores of given submissions tell success."""
    judge = verifier or BashVerifier()
    scores = [judge.verify(row.after, [row.submit])[0].score for row in rows]
    return evidence(scores, [row.is_right for row in rows], tasks=[row.attempt.task_id for row in rows])


def run_attempts(tasks: TaskSet, recorded: Path) -> Iterator[Tried]:
    """Run the attempts of a file at some tasks, without tasks whose gold is slow or does not succeed."""
    # Some wrong commands read the whole file system, so the time is short.
    env: Any = gym.make("IAD/InterCodeBash-v0", data_dir=tasks.folder, split=None, limits={"time_s": 3.0}).unwrapped
    try:
        available = frozenset(env.task_ids)
        attempts = recorded_attempts(recorded)
        asked = {attempt.task_id for attempt in attempts} & available
        golds = [
            tried(env, Attempt(task.task_id, "gold", (task.gold,))) for task in tasks.tasks if task.task_id in asked
        ]
        usable = {row.attempt.task_id for row in golds if row.is_right and not row.after.info["facts"]["timed_out"]}
        yield from (tried(env, attempt) for attempt in attempts if attempt.task_id in usable)
    finally:
        env.close()


def tried(env: Any, attempt: Attempt) -> Tried:
    """Run an attempt."""
    gold = frozenset(env.GOLD_INFO)

    def after(before: State, action: str, observation: Any, info: Any) -> State:
        history = (*before.history, Turn(before.observation, action, before.info))
        return State(observation, PublicInfo(info, gold), history=history, steps_left=before.steps_left - 1)

    observation, info = env.reset(options={"task_id": attempt.task_id})
    here = State(observation, PublicInfo(info, gold), steps_left=env.max_steps)
    for command in attempt.commands:
        observation, _, _, _, info = env.step(command)
        here = after(here, command, observation, info)
    ahead = env.simulate(env.snapshot(), "submit")
    preview = after(here, "submit", ahead.observation, ahead.info)
    submit = Candidate("submit", key="submit", preview=preview, is_terminal=True)
    return Tried(attempt, here, submit, bool(env.step("submit")[4]["success"]))


def recorded_attempts(file: Path) -> list[Attempt]:
    """Return the attempts of a file: `commands` of a `source`, or the first of the `actions` of a `model`."""
    lines = map(json.loads, file.read_text("utf-8").splitlines())
    found = [
        Attempt(row["task_id"], row["model"], tuple(row["actions"][:1]))
        if "model" in row
        else Attempt(row["task_id"], row["source"], tuple(row["commands"]))
        for row in lines
    ]
    return [one for one in dict.fromkeys(found) if one.commands and all(map(str.strip, one.commands))]


def design(rows: Sequence[Tried]) -> Floats:
    """Return the degrees of the findings and what the task asks for, one row per attempt."""
    table = np.zeros((len(rows), len(WEIGHTED) + len(STARTS)))
    for place, row in enumerate(rows):
        done = Done.until(row.after)
        found = findings_of(done)
        start = {True: "change", False: "answer", None: "either"}[done.instruction.asked.change]
        degrees = [found[name].degree if name in found else 0.0 for name in WEIGHTED]
        table[place] = [*degrees, *(float(name == start) for name in STARTS)]
    return table


def fit(table: Floats, is_right: Floats, weights: Floats) -> Floats:
    """Return the weights of a logistic regression in which no finding speaks for success.

    The weight of a finding is one that all share and its own deviation, and both are drawn to 0, so that a rare finding
    weighs about as much as the others. The penalty is the one of 0.05 to 5 attempts with the smallest loss of a task in
    ten-fold cross-validation: 0.320 (standard error 0.026).
    """
    n = len(WEIGHTED)
    bounds = [(None, 0.0), *[(None, None)] * (n + len(STARTS))]
    penalties = [0.5] * (1 + n) + [0.15] * len(STARTS)  # in attempts
    with_sum = np.column_stack([table[:, :n].sum(1), table])
    found = logistic(with_sum, is_right, weights, penalties=penalties, bounds=bounds)
    return np.concatenate([np.minimum(0.0, found[0] + found[1 : 1 + n]), found[1 + n :]])


def importance(rows: Sequence[Tried]) -> Floats:
    """Return the weight of each attempt in the fit, 1 on average. Each task has equal weight."""
    tasks = [row.attempt.task_id for row in rows]
    counts = Counter(tasks)
    given = [1.0 / counts[task] for task in tasks]
    weights: Floats = np.array(given) * len(rows) / sum(given)
    return weights


def print_by_model(rows: Sequence[Tried]) -> None:
    """Print what the verifier tells of models' commands, and how often each finding is right.

    Each model's commands for half of the tasks are judged by weights that were fitted to the other models' commands for
    the other half.
    """
    table, is_right = design(rows), np.array([row.is_right for row in rows])
    model = np.array([row.attempt.source for row in rows])
    is_second = np.array([in_second_half(row.attempt.task_id) for row in rows])
    odds, is_clean = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    for name in dict.fromkeys(model):
        for half in (False, True):
            known = [row for row, use in zip(rows, (model != name) & (is_second != half), strict=True) if use]
            weights = fit(design(known), np.array([float(row.is_right) for row in known]), importance(known))
            asked = (model == name) & (is_second == half)
            odds[asked] = table[asked] @ weights
            is_clean[asked] = ~(table[asked, : len(WEIGHTED)] * weights[: len(WEIGHTED)]).any(axis=1)
        mine = np.flatnonzero(model == name)
        told = evidence(
            list(expit(odds[mine])), list(is_right[mine]), tasks=[rows[place].attempt.task_id for place in mine]
        )
        shares = [f"{is_clean[mine][is_right[mine] == kind].mean():.2f}" for kind in (True, False)]
        print(f"{name}: {told}; nothing said of {shares[0]} of the right and {shares[1]} of the wrong ones")
    print("finding             right  wrong  P(wrong | finding)  P(finding | right)")
    for place, name in enumerate(WEIGHTED):
        n_right, n_wrong = ((table[is_right == kind, place] > 0).sum() for kind in (True, False))
        if n_right + n_wrong:
            wrong, false = n_wrong / (n_right + n_wrong), n_right / is_right.sum()
            print(f"{name:18}  {n_right:5}  {n_wrong:5}  {wrong:18.2f}  {false:18.2f}")


def fit_weights(rows: Sequence[Tried]) -> str:
    """Print the cross-validated evidence, and return the text of `weights.toml`."""
    tasks = [row.after.info["instruction"] for row in rows]
    table, is_right, weights = design(rows), np.array([float(row.is_right) for row in rows]), importance(rows)
    order = {task: place % 10 for place, task in enumerate(sorted(set(tasks)))}
    folds, scores = np.array([order[task] for task in tasks]), np.zeros(len(rows))
    for fold in range(10):
        others = folds != fold
        odds = table[~others] @ fit(table[others], is_right[others], weights[others])
        scores[~others] = 1.0 / (1.0 + np.exp(-odds))
    print(f"cross-validated: {evidence(list(scores), [row.is_right for row in rows], tasks=tasks)}")
    values = dict(zip([*WEIGHTED, *STARTS], fit(table, is_right, weights).round(2), strict=True))
    return "\n".join(
        (
            "# Weights of the proxy verifier, in log-odds, as benchmarks/support/bash_verifier.py --fit writes them.",
            "# `start` is the value without findings, by what the task asks for. `findings` has that of each finding.",
            "\n[start]",
            *(f"{name} = {values[name]:.2f}" for name in STARTS),
            "\n[findings]",
            *(f"{name} = {values[name]:.2f}" for name in WEIGHTED if values[name]),
            "",
        )
    )


def main() -> None:
    if "--models" in sys.argv:
        print_by_model([row for held_out in (False, True) for row in attempts_at(held_out=held_out)])
    elif "--fit" in sys.argv:
        WEIGHTS.write_text(fit_weights(attempts_at(held_out=False)), encoding="utf-8")
        print(f"wrote {WEIGHTS}")
    else:
        rows = attempts_at(held_out=True)
        print(f"all: {evidence_on(rows)}")
        for source in dict.fromkeys(row.attempt.source for row in rows):
            print(f"  {source}: {evidence_on([row for row in rows if row.attempt.source == source])}")


if __name__ == "__main__":
    main()
