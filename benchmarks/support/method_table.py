"""Compares every strategy on the bundled tasks of every environment at the same budget, and prints a Markdown table.

With rule-based agents it checks the mechanism and says nothing about language models. Runs are stored in a folder, so
the table can be made in parts (`--env`, `--strategies`) and continued. The same command prints it again.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import gymnasium as gym
from support.figures import ROOT, figure

import iad_envs  # noqa: F401 (registers)
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.registry.domain import domain_by_id
from iad_policy.report.compare import Difference, differences
from iad_policy.report.figures import heading_of
from iad_policy.report.metrics import StrategySummary, summarise
from iad_policy.report.statistics import Interval
from iad_policy.run.components import load_components
from iad_policy.run.config import FREE, REFERENCE, RunConfig
from iad_policy.run.runner import Runner
from iad_policy.strategies import PROPOSALS, STRATEGIES, declaration_of, find_strategy, options_of

BASELINE = "bon"
N = 8
RUNS = Path("runs") / "methods"
FOLDERS = {
    "IAD/WebShop-v0": "webshop",
    "IAD/InterCodeBash-v0": "intercode",
    "IAD/BIRD-v0": "bird",
    "IAD/Sketch2Code-v0": "sketch2code",
    "IAD/Booking-v0": "booking",
}
WITHOUT_FEEDBACK = "iad (feedback none)"
VARIANTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    WITHOUT_FEEDBACK: ("iad", {"feedback": "none"}),
    "artis (agent plan-following)": ("artis", {"agent": "plan-following"}),
}
"""Row -> strategy and its settings. Rule-based agents can't read summaries, but `plan-following` can."""
EPISODES = {"simulated episodes": 0, "attempts per episode": 1}
"""Unit of n -> number of further episodes at the commit, for methods that use the table's n. Other simulating
methods have their own n, and the cap ends them."""
ALL_TASKS = 1_000_000
N_PILOT = 20
MAX_PILOTS = 5
SLACK = 1.05


@dataclass(frozen=True)
class Asked:
    """The runs to make in one environment.

    Attributes:
        env: The environment's id.
        agent: The agent's name.
        data_dir: The environment's data.
        strategies: Names of strategies and variants. The baseline is always run.
        n: Number of proposals per decision.
        n_tasks: Number of tasks from the start of the split. None takes all.
        verifier: The verifier of all strategies that need one.
        runs: The folder that keeps the runs.
    """

    env: str
    agent: str
    data_dir: Path
    strategies: tuple[str, ...]
    n: int
    n_tasks: int | None
    verifier: str
    runs: Path


@dataclass(frozen=True)
class Row:
    """One strategy's row of a table. `success` is the column's heading, with the rule if that is not a reward of 1."""

    records: list[EpisodeRecord]
    information: str
    cap: int
    success: str


@dataclass(frozen=True)
class Table:
    """One environment's table."""

    asked: Asked
    total: int
    rows: Mapping[str, Row]


def measured(asked: Asked) -> Table:
    """Run the missing parts of one environment. The baseline is first, as its episodes give the number of decisions."""
    baseline = _row(asked, BASELINE, asked.n)
    n_decisions = fmean(record.n_steps for record in baseline.records if record.is_scored)
    total = math.ceil(asked.n * n_decisions)
    rows = {
        name: baseline if name == BASELINE else _row(asked, name, _cap(asked, name, total)) for name in asked.strategies
    }
    return Table(asked, total, rows if BASELINE in rows else {BASELINE: baseline, **rows})


def _cap(asked: Asked, name: str, total: int) -> int:
    """Return the proposals per decision with which an episode has at most `total` on average.

    A method that simulates ahead may spend all of them in one decision. One that does so repeatedly gets less: the
    number that gives the total on the first tasks.
    """
    strategy, _ = VARIANTS.get(name, (name, {}))
    if declaration_of(strategy).n == PROPOSALS:
        return 1 if name == REFERENCE else asked.n
    cap = total
    for _ in range(MAX_PILOTS):
        pilot = _row(replace(asked, n_tasks=min(N_PILOT, asked.n_tasks or N_PILOT)), name, cap)
        spent = summarise(pilot.records).spent["proposals"]
        if spent <= SLACK * total or cap == 1:
            break
        cap = max(1, int(cap * total / spent))
    return cap


def _n(asked: Asked, strategy: str) -> int:
    means = declaration_of(strategy).n
    if means in EPISODES:
        return max(1, asked.n - EPISODES[means])
    return asked.n if means == PROPOSALS else int(options_of(find_strategy(strategy))["n"])


def _row(asked: Asked, name: str, cap: int) -> Row:
    strategy, options = VARIANTS.get(name, (name, {}))
    needs = declaration_of(strategy).needs
    config = RunConfig(
        env=asked.env,
        verifier="oracle" if needs == "oracle" else asked.verifier,
        strategies=(strategy,),
        data_dir=str(asked.data_dir),
        n=_n(asked, strategy),
        tasks=asked.n_tasks or ALL_TASKS,
        budget={"decision.proposals": cap},
        **({"agent": asked.agent} | options),
    )
    runner = Runner(config, lambda: gym.make(asked.env, data_dir=asked.data_dir), load_components)
    with RunFolder(asked.runs / config.name(), runner.recorded_config(), free=FREE) as folder:
        records = list(runner.episodes(folder))
    success = heading_of(config, runner.recorded_config(), len(records)).named("success")
    runner.close()
    information = "" if needs == "nothing" else runner.recorded_config()["identity"][config.agent[0]]["information"]
    print(f"{asked.env} {name}: {len(records)} episodes", file=sys.stderr, flush=True)
    return Row(records, information, cap, success)


def markdown(table: Table) -> Iterator[str]:
    """Yield the lines of a table."""
    rows = {name: row.records for name, row in table.rows.items()}
    changes = differences(rows, {name: BASELINE for name in rows if name != BASELINE})
    n_tasks = len(table.rows[BASELINE].records)
    n = table.asked.n
    yield f"### {table.asked.env}"
    yield ""
    yield (
        f"{n_tasks} tasks, agent `{table.asked.agent}`, seed 0. At most {n} proposals per decision; methods that "
        f"simulate ahead: {table.total} per episode, which is {n} times the mean number of decisions of `{BASELINE}`."
    )
    yield ""
    columns = [table.rows[BASELINE].success if column == "success" else column for column in COLUMNS]
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(COLUMNS)}"
    for name, row in table.rows.items():
        cells = _cells(name, row, summarise(row.records), changes.get(name))
        yield f"| {' | '.join(cells)} |"
    yield ""


COLUMNS = (
    *("strategy", "verifier", "cap", "success", "progress", f"success - {BASELINE}", "won:lost", "p (Holm)"),
    *(f"progress - {BASELINE}", "proposals", "verifications", "simulations", "steps", "seconds"),
)


def _cells(name: str, row: Row, one: StrategySummary, change: Difference | None) -> Iterator[str]:
    yield f"`{name}`"
    yield f"**{row.information}**" if row.information == "oracle" else row.information or "none"
    yield str(row.cap)
    yield _with_interval(one.success, one.success_95)
    yield _with_interval(one.progress, one.progress_95)
    if change is None:
        yield from ("", "", "", "")
    else:
        success, progress = change.success, change.progress
        yield _with_interval(success and success.value, success and success.interval_95, "+")
        yield f"{len(success.won)}:{len(success.lost)}" if success else "0:0"
        yield "" if success is None else "<0.001" if success.p_holm < 0.001 else f"{success.p_holm:.3f}"
        yield _with_interval(progress and progress.value, progress and progress.interval_95, "+")
    for axis in ("proposals", "verifications", "simulations"):
        yield f"{one.spent[axis]:.1f}"
    yield "" if one.n_steps is None else f"{one.n_steps:.1f}"
    yield "" if one.wall_s is None else f"{one.wall_s:.3f}"


def _with_interval(value: float | None, interval: Interval | None, sign: str = "") -> str:
    if value is None or interval is None:
        return "" if value is None else f"{value:{sign}.3f}"
    return f"{value:{sign}.3f} [{interval.low:{sign}.2f}, {interval.high:{sign}.2f}]"


def figures_of(table: Table) -> None:
    """Print one figure per strategy: its success with the baseline's, and the gain of IAD without feedback."""
    base = summarise(table.rows[BASELINE].records)
    for name, row in table.rows.items():
        one = summarise(row.records)
        if one.success is not None:
            row_name = (
                f"{name} {row.information or 'no verifier'}".replace("(", "")
                .replace(")", "")
                .replace("-", "_")
                .replace(" ", "_")
            )
            metric = f"{FOLDERS[table.asked.env]}_{row_name}_success"
            figure(metric, one.success, "share", n=one.n_episodes, better="higher", baseline=base.success)

    if WITHOUT_FEEDBACK in table.rows:
        records = {name: table.rows[name].records for name in (WITHOUT_FEEDBACK, BASELINE)}
        gain = differences(records, {WITHOUT_FEEDBACK: BASELINE})[WITHOUT_FEEDBACK]
        if gain.success is not None:
            name = f"{FOLDERS[table.asked.env]}_gain_without_feedback"
            figure(name, gain.success.value, "share", n=gain.n_pairs, better="higher")
            low, high = gain.success.interval_95
            holds = float(low <= 0 <= high)
            figure(f"{name}_interval_holds_0", holds, "share", n=gain.n_pairs, target=1.0, better="higher")


def tables(asked: Sequence[Asked], n_processes: int) -> list[Table]:
    """Run several environments in parallel."""
    if n_processes == 1:
        return [measured(one) for one in asked]
    with ProcessPoolExecutor(n_processes) as pool:
        return list(pool.map(measured, asked))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", action="append", choices=FOLDERS, help="an environment; all by default")
    parser.add_argument("--strategies", help="names, separated by commas; all by default")
    parser.add_argument("--agent", help="the agent that proposes; the environment's rule-based agent by default")
    parser.add_argument("--data-dir", type=Path, help="the environment's data; the bundled ones by default")
    parser.add_argument("--tasks", type=int, help="how many tasks; all by default")
    parser.add_argument("--n", type=int, default=N, help="proposals per decision")
    parser.add_argument("--verifier", default="proxy")
    parser.add_argument("--runs", type=Path, default=RUNS, help="the folder in which runs are kept and continued")
    parser.add_argument("--out", type=Path, help="a file for the table")
    parser.add_argument("--processes", type=int, default=1, help="how many environments to run in parallel")
    given = parser.parse_args(arguments)
    strategies = (*STRATEGIES, *VARIANTS) if given.strategies is None else tuple(given.strategies.split(","))
    asked = [
        Asked(
            env=env,
            agent=given.agent or domain_by_id(env).agent,
            data_dir=given.data_dir or ROOT / "data" / FOLDERS[env],
            strategies=strategies,
            n=given.n,
            n_tasks=given.tasks,
            verifier=given.verifier,
            runs=given.runs,
        )
        for env in given.env or FOLDERS
    ]
    found = tables(asked, given.processes)
    for table in found:
        figures_of(table)
    lines = [line for table in found for line in markdown(table)]
    if given.out is None:
        print("\n".join(lines), file=sys.stderr)
    else:
        given.out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
