"""Measures how well `iad advise` predicts: one half of a real run is the pilot, the other half is what came.

The run has large n, too. The pilot only knows those up to 4 in tasks of one decision, and up to 2 where a task takes
several, so the larger ones are predicted. Halves are drawn 50 times. The coverage of 95 % intervals is printed by
source, over all options and halves. Halves of one run overlap, so it is a check and no proof.

    advice.py [run folder or kept figures ...]

With run folders those are measured, or the figures of runs in `docs/measurements/`, which hold whole episodes only.
Otherwise it is the shop's rule-based agent.
"""

import json
import sys
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.advice.pilot import Pilot, PilotLine, read_pilot
from iad_policy.report.advice.prediction import predict

RUNS = {
    "webshop": ("IAD/WebShop-v0", 100, {"split": "dev", "n": (2, 4)}),
}
"""Name -> environment, number of tasks, and options of a comparison with a rule-based agent."""


def kept(path: Path) -> Pilot:
    """Return a run of which only its figures were kept: which tasks each method solved, and its mean spending."""
    run = json.loads(path.read_text(encoding="utf-8"))
    tasks = [str(one) for one in run["tasks"]]
    lines: dict[str, PilotLine] = {}
    for arm, one in run["arms"].items():
        strategy, n = arm.rsplit(" ", 1)
        line = lines.setdefault(strategy, PilotLine(strategy, "", {}, {}, starts_at_reference=strategy != "single"))
        success = {task: float(mark == "1") for task, mark in zip(tasks, one["solved"], strict=True)}
        spent = {**line.spent, int(n): dict.fromkeys(tasks, one["tokens"])}
        lines[strategy] = replace(line, success={**line.success, int(n): success}, spent=spent)
    return Pilot(run["env"], "", run["name"], tuple(tasks), 0, "tokens", False, lines)


def halves(whole: Pilot, rng: Random) -> tuple[Pilot, tuple[str, ...]]:
    """Return one half of the tasks as a pilot that knows no large n, and the other tasks."""
    tasks = rng.sample(whole.tasks, len(whole.tasks))
    known, later = tuple(sorted(tasks[: len(tasks) // 2])), tuple(tasks[len(tasks) // 2 :])
    largest, lines = 4 if whole.one_decision else 2, {}
    for name, line in whole.lines.items():
        if min(line.success) <= largest:
            n = min(largest, max(line.success))
            lines[name] = replace(
                line,
                success={one: {task: own[task] for task in known} for one, own in line.success.items() if one <= n},
                spent={one: {task: own[task] for task in known} for one, own in line.spent.items() if one <= n},
                attempts={task: [own[:n] for own in line.attempts[task]] for task in known} if line.attempts else {},
            )
    return replace(whole, tasks=known, lines=lines), later


def report(name: str, whole: Pilot) -> None:
    """Print the coverage by source, and the mean error of each option."""
    covered, off = defaultdict(list), defaultdict(list)
    ns = sorted({n for line in whole.lines.values() for n in line.success if n > 1})
    for place in range(50):
        pilot, later = halves(whole, Random(place))
        for option, forecast in predict(pilot, n_tasks=len(later), ns=ns, seed=place).items():
            if (by_task := whole.lines[option.line].success.get(option.n)) is None:
                continue
            came = float(np.mean([by_task[task] for task in later]))
            low, high = forecast.success_95
            covered[forecast.source].append(low - 1e-9 <= came <= high + 1e-9)
            label = f"off_{forecast.source}.{option.line}_{option.n}".replace(" ", "_")
            off[label].append(forecast.success - came)
    for source, own in covered.items():
        figure(
            f"advice.{name}.covered_by_{source}", float(np.mean(own)), "share", n=len(own), target=0.95, better="higher"
        )
    for metric, errors in off.items():
        figure(f"advice.{name}.{metric}", float(np.mean(errors)), "success", n=len(errors))


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        report(path.stem, kept(path) if path.is_file() else read_pilot(Run(path)))
    with tempfile.TemporaryDirectory() as nowhere:
        for name, (env, n_tasks, given) in RUNS.items() if not sys.argv[1:] else ():
            evaluate(env, ["single", "bon-sc", "bon", "iad"], n_tasks, out=Path(nowhere) / name, **given)
            report(name, read_pilot(Run(Path(nowhere) / name)))


if __name__ == "__main__":
    main()
