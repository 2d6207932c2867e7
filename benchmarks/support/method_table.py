"""Compares every strategy on the bundled tasks of every environment at the same budget, and prints a Markdown table.

With rule-based agents it checks the mechanism and says nothing about language models. Runs are stored in a folder, so
the table can be made in parts (`--env`, `--strategies`) and continued. The same command prints it again.
"""

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
from iad_policy.run.resolve import env_of
from iad_policy.run.runner import Runner
from iad_policy.strategies import PROPOSALS, STRATEGIES, declaration_of, find_strategy, options_of

BASELINE = "bon"
NAMES = ("WebShop", "InterCodeBash", "BIRD", "Sketch2Code", "Booking")
ENVIRONMENTS = tuple(f"IAD/{name}-v0" for name in NAMES)
VARIANTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "iad (feedback none)": ("iad", {"feedback": "none"}),
    "artis (agent plan-following)": ("artis", {"agent": "plan-following"}),
}
"""Row -> strategy and its settings. Rule-based agents can't read summaries, but `plan-following` can."""
EPISODES = {"simulated episodes": 0, "attempts per episode": 1}
"""Unit of n -> number of further episodes at the commit, for methods that use the table's n. Other simulating
methods have their own n, and the cap ends them."""
N_PILOT = 20


@dataclass(frozen=True)
class Row:
    """One strategy's row of a table. `success` is the column's heading, with the rule if that is not a reward of 1."""

    records: list[EpisodeRecord]
    information: str
    cap: int
    success: str


@dataclass(frozen=True)
class Table:
    """The runs of one environment, and what they are run with: the fields of `argparse`."""

    env: str
    given: argparse.Namespace

    def row(self, name: str, cap: int, n_tasks: int | None = None) -> Row:
        """Return the episodes of a strategy with at most `cap` proposals per decision. Missing ones are run."""
        strategy, options = VARIANTS.get(name, (name, {}))
        declared, given = declaration_of(strategy), self.given
        if declared.n in EPISODES:
            n = max(1, given.n - EPISODES[declared.n])
        else:
            n = given.n if declared.n == PROPOSALS else int(options_of(find_strategy(strategy))["n"])
        config = RunConfig(
            env=self.env,
            verifier="oracle" if declared.needs == "oracle" else given.verifier,
            strategies=(strategy,),
            n=n,
            tasks=n_tasks or given.tasks or 1_000_000,
            budget={"decision.proposals": cap},
            data_dir=given.data_dir,
            **({"agent": given.agent or domain_by_id(self.env).agent} | options),
        )
        runner = Runner(config, partial(env_of, config), load_components)
        with RunFolder(given.runs / config.name(), runner.recorded_config(), free=FREE) as folder:
            records = list(runner.episodes(folder))
        recorded = runner.recorded_config()
        runner.close()
        success = heading_of(config, recorded, len(records)).named("success")
        information = "" if declared.needs == "nothing" else recorded["identity"][config.agent[0]]["information"]
        print(f"{self.env} {name}: {len(records)} episodes", file=sys.stderr, flush=True)
        return Row(records, information, cap, success)

    def cap(self, name: str, total: int) -> int:
        """Return the proposals per decision with which an episode has at most `total` on average.

        A method that simulates ahead may spend all of them in one decision. One that does so repeatedly gets less: the
        number that gives the total on the first tasks.
        """
        if declaration_of(VARIANTS.get(name, (name, {}))[0]).n == PROPOSALS:
            return 1 if name == REFERENCE else int(self.given.n)
        cap = total
        for _ in range(5):
            pilot = self.row(name, cap, min(N_PILOT, self.given.tasks or N_PILOT))
            spent = summarise(pilot.records).spent["proposals"]
            if spent <= 1.05 * total or cap == 1:
                break
            cap = max(1, int(cap * total / spent))
        return cap

    def markdown(self) -> Iterator[str]:
        """Run what is missing, the baseline first, and yield the lines of the table."""
        n = self.given.n
        rows = {BASELINE: self.row(BASELINE, n)}
        total = math.ceil(n * fmean(one.n_steps for one in rows[BASELINE].records if one.is_scored))
        for name in self.given.strategies:
            if name != BASELINE:
                rows[name] = self.row(name, self.cap(name, total))
        records = {name: row.records for name, row in rows.items()}
        changes = differences(records, {name: BASELINE for name in rows if name != BASELINE})
        yield f"### {self.env}\n"
        yield (
            f"{len(records[BASELINE])} tasks, agent `{self.given.agent or domain_by_id(self.env).agent}`, seed 0. At "
            f"most {n} proposals per decision; methods that simulate ahead: {total} per episode, which is {n} times "
            f"the mean number of decisions of `{BASELINE}`.\n"
        )
        columns = [rows[BASELINE].success if column == "success" else column for column in COLUMNS]
        yield f"| {' | '.join(columns)} |\n|{'---|' * len(COLUMNS)}"
        for name, row in rows.items():
            yield f"| {' | '.join(_cells(name, row, summarise(row.records), changes.get(name)))} |"
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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", action="append", choices=ENVIRONMENTS, help="an environment; all by default")
    parser.add_argument(
        "--strategies",
        type=lambda names: names.split(","),
        default=[*STRATEGIES, *VARIANTS],
        help="a,b; all by default",
    )
    parser.add_argument("--agent", help="the agent that proposes; the environment's rule-based agent by default")
    parser.add_argument("--data-dir", help="the environment's data; the bundled ones by default")
    parser.add_argument("--tasks", type=int, help="how many tasks; all by default")
    parser.add_argument("--n", type=int, default=8, help="proposals per decision")
    parser.add_argument("--verifier", default="proxy")
    parser.add_argument("--runs", type=Path, default=Path("runs/methods"), help="folder that keeps and continues runs")
    parser.add_argument("--out", type=Path, help="a file for the table")
    given = parser.parse_args(arguments)
    lines = [line for env in given.env or ENVIRONMENTS for line in Table(env, given).markdown()]
    if given.out is None:
        print("\n".join(lines))
    else:
        given.out.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
