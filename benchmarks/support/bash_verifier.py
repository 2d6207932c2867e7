"""Fits the proxy verifier of `IAD/InterCodeBash-v0`, and measures what its scores of submissions say about success.

    python benchmarks/support/bash_verifier.py [FILE ...]  the evidence, on tasks that it was not fitted to, by source
    python benchmarks/support/bash_verifier.py --models    the same on language models' first commands, by model
    python benchmarks/support/bash_verifier.py --fit       iad_envs/bash/policy/weights.toml

An attempt is a sequence of commands, after which the agent submits: of the rule-based agent at several temperatures, or
the gold command of the task, in other forms and with errors of a known kind. Gold builds and labels attempts, and no
verifier sees it. Files may have attempts of other agents: lines of JSON with `task_id`, `source` and `commands`.
With `IAD_REAL_DATA`, InterCode's tasks are included: one half for fitting, the other for reports. With its published
trajectories (`intercode/trajectories/visible.jsonl`) the first commands of three language models are fitted too, and
`--models` shows what weights say that were fitted without the model and without the task. Each takes ten to twenty
minutes on an idle machine. On a busy one, more commands reach the time limit and count as wrong.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import gymnasium as gym
import numpy as np
from scipy.special import expit
from support.evidence import Floats, logistic
from support.figures import ROOT

import iad_envs  # noqa: F401 (registers)
from iad_envs.bash.policy.agent import BashAgent
from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.findings import FINDINGS, findings_of
from iad_envs.bash.policy.verifier import BashVerifier
from iad_envs.bash.tasks import BashTask, load_tasks
from iad_policy import IADPolicyWrapper
from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.types import Candidate, PublicInfo, State, Turn, Verifier
from iad_policy.types.hashing import seed_of

BUNDLED = ROOT / "data" / "intercode"
WEIGHTS = ROOT / "iad_envs" / "bash" / "policy" / "weights.toml"
STARTS = ("change", "answer", "either")
WEIGHTED = [name for name in FINDINGS if name not in ("zero", "loose_or")]
"""Findings with a weight. Of the two others, one is as often right as wrong, and one is rare."""


class Attempt(NamedTuple):
    """Commands for a task. `source` is `gold`, an agent, or a kind of error."""

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
    """Tasks of a data folder: for reports if they are held out, else for fitting."""

    folder: Path
    held_out: bool

    @property
    def tasks(self) -> Sequence[BashTask]:
        """The tasks: `test` or `tuning`, or half of data without splits, by a hash of the ids."""
        found = load_tasks(self.folder.resolve())
        if len({task.split for task in found}) > 1:
            return [task for task in found if task.split == ("test" if self.held_out else "tuning")]
        return [task for task in found if in_second_half(task.task_id) == self.held_out]


def in_second_half(task_id: str) -> bool:
    """Whether a task of data without splits is in the half for reports."""
    return bool(blake2b(task_id.encode(), digest_size=8).digest()[0] % 2)


HELD_OUT = TaskSet(BUNDLED, held_out=True)


def bash_evidence(tasks: TaskSet = HELD_OUT, *, recorded: Sequence[Path] = ()) -> VerifierEvidence:
    """Return how well the proxy verifier's scores of submissions tell success. See `run_attempts`."""
    return evidence_on(list(run_attempts(tasks, recorded=recorded)))


def evidence_on(rows: Sequence[Tried], verifier: Verifier | None = None) -> VerifierEvidence:
    """Return how well a verifier's scores of given submissions tell success."""
    judge = verifier or BashVerifier()
    scores = [judge.verify(row.after, [row.submit])[0].score for row in rows]
    return evidence(scores, [row.is_right for row in rows], tasks=[row.attempt.task_id for row in rows])


def run_attempts(
    tasks: TaskSet, *, recorded: Sequence[Path] = (), n_tasks: int | None = None, n_per_kind: int = 1
) -> Iterator[Tried]:
    """Build attempts and run them, without tasks whose gold is slow or does not succeed.

    Args:
        tasks: The tasks.
        recorded: Files with attempts of other agents. If given, only these are run.
        n_tasks: Maximum number of tasks, evenly spread. None takes all.
        n_per_kind: Maximum number of attempts of each kind per task.
    """
    # Some wrong commands read the whole file system, so the time is short.
    env: Any = gym.make("IAD/InterCodeBash-v0", data_dir=tasks.folder, split=None, limits={"time_s": 3.0}).unwrapped
    try:
        available = frozenset(env.task_ids)
        usable = [task for task in tasks.tasks if task.task_id in available]
        step = len(usable) / min(n_tasks or len(usable), len(usable))
        chosen = [usable[int(place * step)] for place in range(round(len(usable) / step))]
        golds = [(task, tried(env, Attempt(task.task_id, "gold", (task.gold,)))) for task in chosen]
        kept = [task for task, row in golds if row.is_right and not row.after.info["facts"]["timed_out"]]
        task_ids = {task.task_id for task in kept}
        if recorded:
            attempts = [attempt for file in recorded for attempt in recorded_attempts(file)]
        else:
            attempts = corrupted_attempts(kept, n_per_kind) + rule_based_attempts(env, sorted(task_ids))
        yield from (tried(env, attempt) for attempt in attempts if attempt.task_id in task_ids)
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


def rule_based_attempts(env: Any, task_ids: Sequence[str]) -> list[Attempt]:
    """Return episodes of the rule-based agent at several temperatures, up to where it submits."""
    found = []
    for temperature, sample in [(temperature, sample) for temperature in (0.3, 1.0, 2.0) for sample in range(2)]:
        with IADPolicyWrapper(BashAgent(temperature=temperature), env, strategy="single", seed=sample) as policy:
            for task_id in task_ids:
                observation, info = env.reset(options={"task_id": task_id})
                commands: list[str] = []
                while not info["stop_reason"]:
                    action = policy.act(observation, info)
                    if env.terminal(action):
                        break
                    commands.append(action)
                    observation, _, _, _, info = env.step(action)
                found.append(Attempt(task_id, f"scripter {temperature:g}", tuple(commands)))
    return [attempt for attempt in dict.fromkeys(found) if attempt.commands]


def corrupted_attempts(tasks: Sequence[BashTask], n_per_kind: int = 2) -> list[Attempt]:
    """Return the gold command of each task, alone, in other forms, and with errors, `n_per_kind` of each at most."""
    found: dict[tuple[str, tuple[str, ...]], Attempt] = {}
    for task in tasks:
        rng = Random(seed_of("corrupted", task.task_id))
        others = [other for other in tasks if other.file_system == task.file_system and other != task]
        for source, made in kinds_of(task, others, rng):
            usable = [commands for commands in made if all(map(str.strip, commands))]
            for commands in rng.sample(usable, min(n_per_kind, len(usable))):
                found.setdefault((task.task_id, commands), Attempt(task.task_id, source, commands))
    return list(found.values())


def kinds_of(task: BashTask, others: Sequence[BashTask], rng: Random) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Yield constructed attempts by kind. Whether one is right is measured: some errors change nothing."""
    gold = task.gold
    is_path = re.compile(r"(?<![\w.])/[\w.+-]+(?:/[\w.+-]+)*")
    is_ending = re.compile(r"(?<=\*\.)\w+")
    is_option = re.compile(r"(?<=\s)--?[A-Za-z][\w-]*")
    is_number = re.compile(r"(?<![\w./-])[+-]?\d+(?![\w./])")
    is_condition = re.compile(r" (?:! )?-i?(?:name|type|size|mtime|atime|perm|newermt) +('[^']*'|\"[^\"]*\"|\S+)")
    paths = is_path.findall(task.instruction)

    def without(found: re.Match[str]) -> tuple[str]:
        return (" ".join((gold[: found.start()].rstrip() + gold[found.end() :]).split(" ")),)

    def replaced(found: re.Match[str], texts: Sequence[str]) -> list[tuple[str, ...]]:
        return [(gold[: found.start()] + text + gold[found.end() :],) for text in texts if text != found[0]]

    def numbers(found: re.Match[str]) -> list[str]:
        sign, value = found[0].rstrip("0123456789"), int(found[0].lstrip("+-"))
        return [f"{sign}{value + 1}", f"{sign}{10 * value}", f"{ {'+': '-', '-': '+'}.get(sign, '') }{value}"]

    known_paths = sorted({path for other in (task, *others) for path in is_path.findall(other.gold)})
    endings = sorted({ending for other in (task, *others) for ending in is_ending.findall(other.gold)} | {"md", "log"})
    words, (name, _, rest) = gold.split(" "), gold.partition(" ")
    steps = [(mark, gold.split(mark)) for mark in (" | ", " && ", "; ")]
    total = r"\1 wc -l\2 | awk '{s += $1} END {print s}'"  # adds up wc's lines for each file and for all together
    counted = re.sub(r"(-exec|xargs(?: -0)?) cat(.*?) \| wc -l", total, gold)
    loose = re.sub(r"\\\( | \\\)", "", gold)
    inside = f"{{ {gold}; }}"
    forms = (f"{inside} | {end}" for end in ("cat -n", "sed 's/^/Result: /'", "tr -d '\\n'", "sort -u", "head -n 1"))
    wrong_paths = [
        (found, [path for path in known_paths if path != found[0]], found[0].rpartition("/")[0] or f"{found[0]}2")
        for found in is_path.finditer(gold)
    ]
    yield "gold", [(gold,)]
    yield "gold after looking", [(look, gold) for look in [*(f"ls -la {path}" for path in paths), "pwd", "ls /"]]
    yield "gold after an error", [(f"{gold} --wrong-option", gold), ("finds /", gold)]
    yield "same answer", [(f"cd / && {gold}",), (f"{gold} 2>/dev/null",), (f"{inside} | cat",), (f"({gold})",)]
    yield "other form", [(f'echo "The answer is: $({gold})"',), *((form,) for form in forms)]
    yield "looks after gold", [(gold, look) for look in [*(f"ls -la {path}" for path in paths), "echo done", "ls -la"]]
    yield "to a file", [(f"{inside} > /tmp/answer.txt",), (f"{inside} > result.txt; cat result.txt",)]
    yield "only looks", [(f"{look} {path}",) for path in paths or ["/"] for look in ("ls", "ls -la", "cat", "find")]
    yield "wrong option", [without(found) for found in is_option.finditer(gold)]
    yield "missing condition", [without(found) for found in is_condition.finditer(gold)]
    yield "wrong number", [one for found in is_number.finditer(gold) for one in replaced(found, numbers(found))]
    yield (
        "wrong path",
        [
            one
            for found, near, above in wrong_paths
            for one in replaced(found, [above, found[0] + "s", *rng.sample(near, min(2, len(near)))])
        ],
    )
    yield "wrong ending", [one for found in is_ending.finditer(gold) for one in replaced(found, endings)]
    yield (
        "missing step",
        [
            (mark.join(parts[:place] + parts[place + 1 :]),)
            for mark, parts in steps
            for place in range(len(parts))
            if len(parts) > 1
        ],
    )
    yield "counts twice", [(counted,)] if counted != gold else []
    yield "loose or", [(loose,)] if loose != gold else []
    yield "cut off", [(" ".join(words[:-1]),), (gold.rstrip("'\""),)] if len(words) > 1 else []
    yield "misspelt", [(f"{name[:-1]} {rest}",), (f"{gold} --wrong-option",)]
    yield "other task", [(other.gold,) for other in rng.sample(others, min(3, len(others)))]


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
    """Return the weights of a logistic regression in which no finding speaks for success."""
    bounds = [(None, 0.0)] * len(WEIGHTED) + [(None, None)] * len(STARTS)
    penalties = [1.5] * len(WEIGHTED) + [0.15] * len(STARTS)  # in attempts
    return logistic(table, is_right, weights, penalties=penalties, bounds=bounds)


def importance(rows: Sequence[Tried]) -> Floats:
    """Return the weight of each attempt in the fit, 1 on average.

    Most constructed attempts are right ones in another form or plainly wrong ones. Most attempts of language models are
    neither, and about one of four succeeds. So small errors and the attempts of agents weigh more.
    """
    light = dict.fromkeys(("gold", "gold after looking", "gold after an error", "same answer"), 0.3)
    light |= dict.fromkeys(("looks after gold", "to a file", "only looks", "misspelt", "other task", "cut off"), 0.5)
    tasks = [(row.attempt.task_id, row.after.info["instruction"]) for row in rows]
    counts = Counter(tasks)
    given = [light.get(row.attempt.source, 2.0) / counts[task] for row, task in zip(rows, tasks, strict=True)]
    weights: Floats = np.array(given) * len(rows) / sum(given)
    return weights


def print_by_model(rows: Sequence[Tried], constructed: Sequence[Sequence[Tried]]) -> None:
    """Print what the verifier tells of models' commands, and how often each finding is right.

    Each model's commands for half of the tasks are judged by weights that were fitted to the other models' commands for
    the other half, and to constructed attempts at that half and at bundled tasks.

    Args:
        rows: The models' commands.
        constructed: Attempts at the first half, at the second, and at bundled tasks.
    """
    table, is_right = design(rows), np.array([row.is_right for row in rows])
    model = np.array([row.attempt.source for row in rows])
    is_second = np.array([in_second_half(row.attempt.task_id) for row in rows])
    odds, is_clean = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    for name in dict.fromkeys(model):
        for half in (False, True):
            known = [row for row, use in zip(rows, (model != name) & (is_second != half), strict=True) if use]
            known += [*constructed[not half], *constructed[2]]
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
    real = os.environ.get("IAD_REAL_DATA")
    folders = {"bundled": BUNDLED, **({"InterCode": Path(real) / "intercode"} if real else {})}
    published = [folder / "trajectories" / "visible.jsonl" for folder in folders.values()]
    published = [file for file in published if file.exists()]
    if "--models" in sys.argv:
        if not published:
            raise SystemExit(
                "expected InterCode's published trajectories for --models, found none; set IAD_REAL_DATA to a folder "
                "with intercode/trajectories/visible.jsonl"
            )
        official = [TaskSet(folders["InterCode"], held_out=held) for held in (False, True)]
        sets = (*official, TaskSet(BUNDLED, held_out=False))
        constructed = [list(run_attempts(tasks, n_per_kind=2)) for tasks in sets]
        rows = [row for tasks in official for row in run_attempts(tasks, recorded=published)]
        print_by_model(rows, constructed)
        return
    if "--fit" in sys.argv:
        sets = [TaskSet(folder, held_out=False) for folder in folders.values()]
        rows = [row for tasks in sets for row in run_attempts(tasks, n_per_kind=2)]
        text = fit_weights([*rows, *run_attempts(sets[-1], recorded=published)] if published else rows)
        WEIGHTS.write_text(text, encoding="utf-8")
        print(f"wrote {WEIGHTS}")
        return
    for name, folder in folders.items():
        files = [Path(file) for file in sys.argv[1:]]
        rows = list(run_attempts(TaskSet(folder, held_out=True), recorded=files, n_per_kind=2))
        print(f"{name}: {evidence_on(rows)}", flush=True)
        for source in dict.fromkeys(row.attempt.source for row in rows):
            print(f"  {source}: {evidence_on([row for row in rows if row.attempt.source == source])}", flush=True)


if __name__ == "__main__":
    main()
