"""Prints a comparison of logs: each arm's figures, the paired differences, and what has to be said of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from iad_policy.report.columns import (
    NOTHING,
    Columns,
    counted,
    duration,
    figure,
    fitting,
    p_value,
    with_interval,
)
from iad_policy.report.other_logs.comparison import (
    MCNEMAR,
    ArmDifference,
    ArmFigures,
    LogComparison,
    PairedDifference,
    TaskMean,
)
from iad_policy.report.other_logs.counting import SCORED, WRONG
from iad_policy.types.texts import isolated

FEW = 30
"""Number of tasks below which intervals are rough."""
N_NAMES = 8
"""Number of tasks, problems and notes that are named. All of them are in the JSON."""
LEVEL = 0.05
LEAST_APART = 6
"""Least number of tasks that have to differ for a p-value below `LEVEL`."""
_LOUD, _QUIET = "bold red", "dim"


class LogTable:
    """A comparison for rich.

    Args:
        comparison: The figures.
        form: Name of the logs' format.
    """

    def __init__(self, comparison: LogComparison, form: str) -> None:
        self._form = form
        self._all = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        fit = partial(fitting, width=width, console=console, names="arm")
        arms = {isolated(name): one for name, one in self._all.arms.items()}
        yield self._heading()
        for alarm in self._all.logs.alarms:
            yield Text(f"*** {isolated(alarm)} ***", style=_LOUD)
        yield ""
        yield from fit("", self._score_columns(), arms)
        passes = pass_columns(list(arms.values()))
        if passes:
            yield from fit("Any (pass@k) or all (pass^k) of k samples succeed", passes, arms)
        for baseline, rows in self._by_baseline().items():
            yield from fit(f"Difference to {baseline} on the same tasks", self._difference_columns(), rows)
        yield from self._warnings()

    def _heading(self) -> RenderableType:
        logs = self._all.logs
        n_tasks = len({sample.content or sample.task for sample in logs.samples})
        parts = [counted(len(self._all.arms), "arm"), counted(n_tasks, "task"), counted(len(logs.samples), "sample")]
        return Text.assemble((self._form, "bold"), f": {', '.join(parts)}; score: {isolated(self._all.score)}")

    def _score_columns(self) -> Columns[ArmFigures]:
        arms = list(self._all.arms.values())
        columns: list[tuple[str, Callable[[ArmFigures], str]]] = []
        if any(one.success for one in arms):
            columns.append((self._success_heading(), lambda one: mean_cell(one.success)))
        if not self._all.is_success_only:
            columns.append((isolated(self._all.score), lambda one: mean_cell(one.score)))
        columns += [("tasks", lambda one: str(one.n_tasks)), ("samples", lambda one: str(one.n_samples))]
        if any(one.n_errored for one in arms):
            columns.append(("errored", lambda one: str(one.n_errored)))
        if any(one.tokens is not None for one in arms):
            columns.append(("tokens", lambda one: NOTHING if one.tokens is None else f"{one.tokens:,.0f}"))
        if any(one.usd is not None for one in arms):
            columns.append(("usd", lambda one: figure(one.usd, 4)))
        if any(one.seconds is not None for one in arms):
            columns.append(("seconds", lambda one: duration(one.seconds)))
        return columns

    def _success_heading(self) -> str:
        at = self._all.rules.success_at
        return "success" if at is None else f"success\n({isolated(self._all.score)} >= {at:g})"

    def _difference_columns(self) -> Columns[ArmDifference]:
        columns: list[tuple[str, Callable[[ArmDifference], str]]] = []
        if any(one.success for one in self._all.differences.values()):
            columns += tested_columns(self._success_heading(), lambda one: one.success)
        if not self._all.is_success_only:
            columns += tested_columns(isolated(self._all.score), lambda one: one.score)
        columns += [("pairs", lambda one: str(one.n_pairs)), ("unpaired", lambda one: str(one.n_unpaired))]
        return columns

    def _by_baseline(self) -> dict[str, dict[str, ArmDifference]]:
        found: dict[str, dict[str, ArmDifference]] = {}
        for name, one in self._all.differences.items():
            found.setdefault(isolated(one.baseline), {})[isolated(name)] = one
        return found

    def _warnings(self) -> Iterable[Text]:
        logs = self._all.logs
        for problem in logs.problems[:N_NAMES]:
            yield Text(f"NOT READ: {isolated(problem)}", style=_LOUD)
        if len(logs.problems) > N_NAMES:
            yield Text(f"NOT READ: {len(logs.problems) - N_NAMES} more, which are in --json", style=_LOUD)
        yield from self._of_errors()
        for name, one in self._all.differences.items():
            yield from _unpaired(isolated(name), one)
        yield from few_pairs(self._all.differences)
        if self._all.alone and len(self._all.arms) > 1:
            yield Text(f"COMPARED WITH NOTHING, because no other arm has the same tasks: {some(self._all.alone)}.")
        for note in logs.notes[:N_NAMES]:
            yield Text(isolated(note))
        if len(logs.notes) > N_NAMES:
            yield Text(f"{len(logs.notes) - N_NAMES} more notes are in --json.")
        if not any(one.success for one in self._all.arms.values()):
            yield Text("Success is not known: scores are not only 0 and 1. --success-at SCORE says what counts as one.")
        yield Text(self._legend(), style=_QUIET)

    def _of_errors(self) -> Iterable[Text]:
        errored = {name: one for name, one in self._all.arms.items() if one.n_errored}
        if not errored:
            return
        said = "; ".join(
            f"{one.n_errored} of {isolated(name)} "
            f"({isolated(', '.join(f'{n} {kind}' for kind, n in one.errors.items()))})"
            for name, one in errored.items()
        )
        n_scored = sum(one.n_scored_errors for one in errored.values())
        if self._all.rules.errors == WRONG:
            yield Text(f"SAMPLES THAT FAILED COUNT AS WRONG: {said}.", style=_LOUD)
        elif self._all.rules.errors == SCORED:
            yield Text(f"{n_scored} SAMPLES THAT FAILED COUNT with the score in their log, of {said}.", style=_LOUD)
        else:
            scored = f" Their logs score {n_scored} of them all the same: --errors scored." if n_scored else ""
            yield Text(
                f"SAMPLES THAT FAILED ARE LEFT OUT: {said}. --errors wrong counts them as wrong.{scored}", style=_LOUD
            )

    def _has_costs(self) -> bool:
        return any(cost is not None for one in self._all.arms.values() for cost in (one.tokens, one.usd, one.seconds))

    def _legend(self) -> str:
        tests = {test.test for one in self._all.differences.values() for test in one.tested.values()}
        n_tests = sum(len(one.tested) for one in self._all.differences.values())
        mcnemar = "exact McNemar test on success" if MCNEMAR in tests else ""
        flips = "sign-flip test over tasks" if tests - {MCNEMAR} else ""
        p = "; else ".join(filter(None, (mcnemar, flips)))
        said = [
            "A task counts once, with the mean of its samples.",
            "[low,high]: 95 % intervals (success with one sample per task, and figures equal on all tasks: "
            "Wilson; else bootstrap over tasks).",
            *(["Tokens, usd, seconds: mean per sample."] if self._has_costs() else []),
        ]
        if tests:
            said += [
                f"p: {p}, adjusted by Holm for {counted(n_tests, 'test')}.",
                "MDE: the smallest true difference that this number of tasks detects with 80 % power.",
            ]
        return " ".join(said)


def tested_columns(heading: str, of: Callable[[ArmDifference], PairedDifference | None]) -> Columns[ArmDifference]:
    """Return the columns of a metric's difference and its test."""

    def cell(text: Callable[[PairedDifference], str]) -> Callable[[ArmDifference], str]:
        return lambda one: NOTHING if (tested := of(one)) is None else text(tested)

    return [
        (heading, cell(lambda one: with_interval(one.value, one.interval_95, signed=True))),
        ("won:lost", cell(lambda one: f"{len(one.won)}:{len(one.lost)}")),
        ("p (Holm)", cell(lambda one: p_value(one.p_holm))),
        ("MDE", cell(lambda one: figure(one.detectable, 3))),
    ]


def pass_columns(arms: Sequence[ArmFigures]) -> Columns[ArmFigures]:
    """Return the columns of pass@k and pass^k, and of their tasks where some have fewer samples than k."""
    ks = list(dict.fromkeys(k for one in arms for k in one.pass_at))

    def column(
        name: str, of: Callable[[ArmFigures], Mapping[int, TaskMean]], k: int
    ) -> tuple[str, Callable[[ArmFigures], str]]:
        return f"{name}{k}", lambda one: mean_cell(of(one).get(k))

    def tasks(one: ArmFigures) -> str:
        return "/".join(str(one.pass_at[k].n_tasks) if k in one.pass_at else NOTHING for k in ks)

    is_of_fewer = any(mean.n_tasks != one.n_tasks for one in arms for mean in one.pass_at.values())
    return [
        *(column("pass@", lambda one: one.pass_at, k) for k in ks),
        *(column("pass^", lambda one: one.pass_hat, k) for k in ks),
        *([(f"tasks\nk = {'/'.join(map(str, ks))}", tasks)] if is_of_fewer else []),
    ]


def _unpaired(name: str, one: ArmDifference) -> Iterable[Text]:
    where = f"{name} and {isolated(one.baseline)}"
    if one.n_unpaired:
        kinds = ((name, one.only_own), (isolated(one.baseline), one.only_baseline))
        said = [f"{len(tasks)} only of {arm} ({some(tasks)})" for arm, tasks in kinds if tasks]
        said += [f"{len(one.neither)} without a sample that counts ({some(one.neither)})"] if one.neither else []
        yield Text(f"UNPAIRED TASKS of {where}: {'; '.join(said)}.", style=_LOUD)
    if one.reworded:
        yield Text(
            f"SAME NAME, OTHER TASK in {where}: {some(one.reworded)}. What they ask differs; --pair-by id pairs them "
            "all the same.",
            style=_LOUD,
        )


def few_pairs(differences: Mapping[str, ArmDifference]) -> Iterable[Text]:
    """Warn of few pairs, and of so few that differ that the tests can't find anything."""
    few = {
        isolated(name): (one.n_pairs, max((len(test.won) + len(test.lost) for test in one.tested.values()), default=0))
        for name, one in differences.items()
        if 0 < one.n_pairs < FEW
    }
    if not few:
        return
    said = ", ".join(f"{name} has {counted(n, 'pair')}, different in {n_apart}" for name, (n, n_apart) in few.items())
    floor = ""
    if any(_least_p(n_apart) > LEVEL for _, n_apart in few.values()):
        floor = f" Where {LEAST_APART - 1} pairs differ or fewer, p can't be below {_least_p(LEAST_APART - 1):g}."
    yield Text(f"FEW TASKS: {said}. Below {FEW}, intervals are rough: trust the test.{floor}", style=_LOUD)


def _least_p(n_apart: int) -> float:
    """Return the smallest p-value of both tests if so many tasks differ."""
    return min(1.0, 2.0 ** (1 - n_apart))


def mean_cell(one: TaskMean | None) -> str:
    """Return a mean with its interval."""
    return NOTHING if one is None else with_interval(one.value, one.interval_95)


def some(names: Sequence[str]) -> str:
    """Return the first names of many, and how many more there are."""
    said = ", ".join(map(isolated, names[:N_NAMES]))
    return said if len(names) <= N_NAMES else f"{said} and {len(names) - N_NAMES} more"
