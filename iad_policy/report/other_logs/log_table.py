"""Prints a comparison of logs: each arm's figures, the paired differences, and what has to be said of them."""

from collections.abc import Callable, Iterable
from functools import partial

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from iad_policy.report.columns import NOTHING, Columns, counted, duration, figure, fitting
from iad_policy.report.compare import ArmFigures, Comparison
from iad_policy.report.comparison_table import (
    LOUD,
    by_baseline,
    by_kind,
    difference_columns,
    flaky_tasks,
    left_out,
    legend,
    listed,
    mean_cell,
    named,
    pass_columns,
    said_of,
)
from iad_policy.report.samples import SCORED, SUCCESS, WRONG
from iad_policy.types.texts import isolated


class LogTable:
    """A comparison for rich.

    Args:
        comparison: The figures.
        form: Name of the logs' format.
    """

    def __init__(self, comparison: Comparison, form: str) -> None:
        self._form = form
        self._all = comparison

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        fit = partial(fitting, width=options.max_width, console=console, names="arm")
        arms = {isolated(name): one for name, one in self._all.arms.items()}
        samples, score, at = self._all.samples, isolated(self._all.score), self._all.rules.success_at
        n_tasks = len({sample.content or sample.task for sample in samples.samples})
        parts = [counted(len(arms), "arm"), counted(n_tasks, "task"), counted(len(samples.samples), "sample")]
        yield Text.assemble((self._form, "bold"), f": {', '.join(parts)}; score: {score}")
        for alarm in samples.alarms:
            yield Text(f"*** {isolated(alarm)} ***", style=LOUD)
        yield ""
        headings = {self._all.score: score} if not self._all.is_success_only else {}
        if any(one.success for one in arms.values()):
            headings = {SUCCESS: "success" if at is None else f"success\n({score} >= {at:g})", **headings}
        columns = self._columns(headings)
        yield from fit("", columns, arms)
        passes = pass_columns(list(arms.values()))
        if passes:
            yield from fit("Any (pass@k) or all (pass^k) of k samples succeed", passes, arms)
        yield from flaky_tasks({name: one.flaky for name, one in arms.items()}, "sample")
        yield from flaky_tasks(self._all.flaky, "repeat")
        differences = self._all.differences
        tested = list(headings)
        for baseline, rows in by_baseline(differences).items():
            shown = difference_columns(differences.values(), headings, tested=tested)
            yield from fit(f"Difference to {baseline} on the same tasks", shown, rows)
        yield from listed("NOT READ: ", samples.problems, LOUD)
        yield from self._of_errors()
        yield from said_of(differences)
        if self._all.alone and len(arms) > 1:
            yield Text(f"COMPARED WITH NOTHING, because no other arm has the same tasks: {named(self._all.alone)}.")
        yield from listed("", samples.notes)
        if SUCCESS not in headings:
            yield Text("Success is not known: scores are not only 0 and 1. --success-at SCORE says what counts as one.")
        has_costs = {"tokens", "usd", "seconds", "seconds\nin calls"} & {name for name, _ in columns}
        costs = "Tokens, usd, seconds: mean per sample." if has_costs else ""
        yield legend(differences.values(), tested=tested, sample="sample", more=costs)

    def _columns(self, headings: dict[str, str]) -> Columns[ArmFigures]:
        arms = self._all.arms.values()
        columns: list[tuple[str, Callable[[ArmFigures], str]]] = []
        if SUCCESS in headings:
            columns.append((headings[SUCCESS], lambda one: mean_cell(one.success)))
        if not self._all.is_success_only:
            columns.append((headings[self._all.score], lambda one: mean_cell(one.score)))
        columns += [("tasks", lambda one: str(one.n_tasks)), ("samples", lambda one: str(one.n_samples))]
        if any(one.n_errored for one in arms):
            columns.append(("errored", lambda one: str(one.n_errored)))
        if any(one.tokens is not None for one in arms):
            columns.append(("tokens", lambda one: NOTHING if one.tokens is None else f"{one.tokens:,.0f}"))
        if any(one.usd is not None for one in arms):
            columns.append(("usd", lambda one: figure(one.usd, 4)))
        if any(one.seconds is not None for one in arms):
            in_calls = "seconds\nin calls" if self._all.samples.is_of_runs else "seconds"
            columns.append((in_calls, lambda one: duration(one.seconds)))
        return columns

    def _of_errors(self) -> Iterable[Text]:
        errors = {name: one.errors for name, one in self._all.arms.items() if one.n_errored}
        if not errors:
            return
        n_scored = sum(one.n_scored_errors for one in self._all.arms.values())
        if self._all.rules.errors == WRONG:
            said = f"SAMPLES THAT FAILED COUNT AS WRONG: {by_kind(errors)}."
        elif self._all.rules.errors == SCORED:
            said = f"{n_scored} SAMPLES THAT FAILED COUNT with the score in their log, of {by_kind(errors)}."
        else:
            scored = f" Their logs score {n_scored} of them all the same: --errors scored." if n_scored else ""
            said = f"{left_out('SAMPLES', errors)} --errors wrong counts them as wrong.{scored}"
        yield Text(said, style=LOUD)
