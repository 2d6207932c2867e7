"""Measures how well `iad advise` predicts: one half of a real run is the pilot, the other half is what came.

The run has large n, too. The pilot only knows those up to 4 in tasks of one decision, and up to 2 where a task takes
several, so the larger ones are predicted by the model or by the trend. Halves are drawn 50 times. The coverage of 95 %
intervals is printed by source, over all options and halves. Halves of one run overlap, so it is a check and no proof.

    advice.py [run folder or kept figures ...]

With run folders those are measured, or the figures of runs in `docs/measurements/`, which hold whole episodes only. The
agents are rule-based otherwise.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from time import perf_counter
from typing import NamedTuple

import numpy as np
from support.figures import figure

import iad_envs  # noqa: F401 (registers)
from iad_policy import evaluate
from iad_policy.ledger.run import Run
from iad_policy.report.advice.pilot import Pilot, PilotLine, read_pilot
from iad_policy.report.advice.prediction import OptionForecast, RunnableOption, predict

N_HALVES = 50
LARGEST = {True: 4, False: 2}
"""Whether tasks take one decision -> the largest n that the pilot knows."""


class RuleBasedRun(NamedTuple):
    """A comparison with a rule-based agent: its environment, the split, its arguments, tasks and all n."""

    env: str
    split: str
    args: Mapping[str, str]
    n_tasks: int
    ns: tuple[int, ...]


RUNS = {
    "bird": RuleBasedRun("IAD/BIRD-v0", "train", {"mode": "answer"}, 200, (2, 4, 8, 16)),
    "webshop": RuleBasedRun("IAD/WebShop-v0", "dev", {}, 100, (2, 4)),
}


def kept(path: Path) -> Pilot:
    """Return a run of which only its figures were kept: which tasks each method solved, and its mean spending."""
    run = json.loads(path.read_text(encoding="utf-8"))
    tasks = [str(one) for one in run["tasks"]]
    lines: dict[str, PilotLine] = {}
    for arm, one in run["arms"].items():
        strategy, n = arm.rsplit(" ", 1)
        line = lines.setdefault(strategy, PilotLine(strategy, "", {}, {}, starts_at_reference=strategy != "single"))
        success = {task: float(mark == "1") for task, mark in zip(tasks, one["solved"], strict=True)}
        lines[strategy] = replace(
            line,
            success={**line.success, int(n): success},
            spent={**line.spent, int(n): dict.fromkeys(tasks, one["tokens"])},
        )
    return Pilot(run["env"], "", run["name"], tuple(tasks), 0, "tokens", False, lines)


class Hit(NamedTuple):
    """A prediction beside what came: whether its interval covers it, and predicted minus actual success."""

    is_covered: bool
    off: float


def halves(whole: Pilot, rng: Random) -> tuple[Pilot, tuple[str, ...]]:
    """Return one half of the tasks as a pilot that knows no large n, and the other tasks."""
    tasks = rng.sample(whole.tasks, len(whole.tasks))
    known, later = tuple(sorted(tasks[: len(tasks) // 2])), tuple(tasks[len(tasks) // 2 :])
    largest = LARGEST[whole.one_decision]
    lines = {}
    for name, line in whole.lines.items():
        n = min(largest, max(line.success))
        if min(line.success) > largest:
            continue
        lines[name] = replace(
            line,
            success={one: _of(own, known) for one, own in line.success.items() if one <= largest},
            spent={one: _of(own, known) for one, own in line.spent.items() if one <= largest},
            attempts={task: [own[:n] for own in line.attempts[task]] for task in known} if line.attempts else {},
        )
    return replace(whole, tasks=known, lines=lines), later


def _of(by_task: Mapping[str, float], tasks: tuple[str, ...]) -> dict[str, float]:
    return {task: by_task[task] for task in tasks}


def hits(whole: Pilot) -> Iterator[tuple[RunnableOption, OptionForecast, Hit]]:
    """Yield every prediction of every half."""
    ns = sorted({n for line in whole.lines.values() for n in line.success if n > 1})
    for place in range(N_HALVES):
        pilot, later = halves(whole, Random(place))
        for option, forecast in predict(pilot, n_tasks=len(later), ns=ns, seed=place).items():
            by_task = whole.lines[option.line].success.get(option.n)
            if by_task is None:
                continue
            came = float(np.mean([by_task[task] for task in later]))
            low, high = forecast.success_95
            yield option, forecast, Hit(low - 1e-9 <= came <= high + 1e-9, forecast.success - came)


def report(name: str, whole: Pilot) -> None:
    """Print the coverage by source, and the mean error of each option that was not in the pilot."""
    by_source, by_option = defaultdict(list), defaultdict(list)
    for option, forecast, hit in hits(whole):
        by_source[forecast.source].append(hit)
        by_option[option, forecast.source].append(hit)
    for source, own in by_source.items():
        share = float(np.mean([one.is_covered for one in own]))
        figure(f"advice.{name}.covered_by_{source}", share, "share", n=len(own), target=0.95, better="higher")
    for (option, source), own in by_option.items():
        off = float(np.mean([one.off for one in own]))
        figure(f"advice.{name}.off_{source}.{option.line}_{option.n}".replace(" ", "_"), off, "success", n=len(own))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, help="run folders or kept figures; by default new runs")
    given = parser.parse_args().runs
    if given:
        for path in given:
            report(path.stem, kept(path) if path.is_file() else read_pilot(Run(path)))
        return
    with tempfile.TemporaryDirectory() as nowhere:
        for name, run in RUNS.items():
            folder = Path(nowhere) / name
            strategies = ["single", "bon-sc", "bon", "iad"]
            evaluate(run.env, strategies, run.n_tasks, split=run.split, env_args=run.args, n=run.ns, out=folder)
            start = perf_counter()
            whole = read_pilot(Run(folder))
            figure(f"advice.{name}.read_s", perf_counter() - start, "s", n=len(whole.tasks))
            start = perf_counter()
            predict(whole)
            figure(f"advice.{name}.predict_s", perf_counter() - start, "s", n=len(whole.tasks))
            report(name, whole)


if __name__ == "__main__":
    main()
