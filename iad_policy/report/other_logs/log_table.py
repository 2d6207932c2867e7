"""Prints a comparison of logs: each arm's figures, the paired differences, and what has to be said of them."""

from collections.abc import Callable, Iterable
from functools import partial

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from iad_policy.report.cautions import LOUD, by_kind, left_out, named
from iad_policy.report.columns import NOTHING, Columns, counted, duration, figure, fitting
from iad_policy.report.compare import ArmFigures, Comparison
from iad_policy.report.comparison_table import (
    by_baseline,
    difference_columns,
    legend,
    listed,
    mean_cell,
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
        width = options.max_width
        fit = partial(fitting, width=width, console=console, names="arm")
        arms = {isolated(name): one for name, one in self._all.arms.items()}
        yield self._heading()
        for alarm in self._all.samples.alarms:
            yield Text(f"*** {isolated(alarm)} ***", style=LOUD)
        yield ""
        yield from fit("", self._score_columns(), arms)
        passes = pass_columns(list(arms.values()))
        if passes:
            yield from fit("Any (pass@k) or all (pass^k) of k samples succeed", passes, arms)
        headings = self._headings()
        differences = self._all.differences
        columns = difference_columns(differences.values(), headings, tested=list(headings))
        for baseline, rows in by_baseline(differences).items():
            yield from fit(f"Difference to {baseline} on the same tasks", columns, rows)
        yield from self._warnings()

    def _heading(self) -> RenderableType:
        samples = self._all.samples.samples
        n_tasks = len({sample.content or sample.task for sample in samples})
        parts = [counted(len(self._all.arms), "arm"), counted(n_tasks, "task"), counted(len(samples), "sample")]
        return Text.assemble((self._form, "bold"), f": {', '.join(parts)}; score: {isolated(self._all.score)}")

    def _headings(self) -> dict[str, str]:
        """Return the headings of the metrics that are shown."""
        at, score = self._all.rules.success_at, isolated(self._all.score)
        has_success = any(one.success for one in self._all.arms.values())
        return {
            **({SUCCESS: "success" if at is None else f"success\n({score} >= {at:g})"} if has_success else {}),
            **({} if self._all.is_success_only else {self._all.score: score}),
        }

    def _score_columns(self) -> Columns[ArmFigures]:
        arms, headings = list(self._all.arms.values()), self._headings()
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

    def _warnings(self) -> Iterable[Text]:
        samples = self._all.samples
        yield from listed("NOT READ: ", samples.problems, LOUD)
        yield from self._of_errors()
        yield from said_of(self._all.differences)
        if self._all.alone and len(self._all.arms) > 1:
            yield Text(f"COMPARED WITH NOTHING, because no other arm has the same tasks: {named(self._all.alone)}.")
        yield from listed("", samples.notes)
        if not any(one.success for one in self._all.arms.values()):
            yield Text("Success is not known: scores are not only 0 and 1. --success-at SCORE says what counts as one.")
        costs = "Tokens, usd, seconds: mean per sample." if self._has_costs() else ""
        tested = list(self._headings())
        yield legend(self._all.differences.values(), tested=tested, sample="sample", more=costs)

    def _of_errors(self) -> Iterable[Text]:
        errors = {name: one.errors for name, one in self._all.arms.items() if one.n_errored}
        if not errors:
            return
        n_scored = sum(one.n_scored_errors for one in self._all.arms.values())
        if self._all.rules.errors == WRONG:
            yield Text(f"SAMPLES THAT FAILED COUNT AS WRONG: {by_kind(errors)}.", style=LOUD)
        elif self._all.rules.errors == SCORED:
            said = by_kind(errors)
            yield Text(f"{n_scored} SAMPLES THAT FAILED COUNT with the score in their log, of {said}.", style=LOUD)
        else:
            scored = f" Their logs score {n_scored} of them all the same: --errors scored." if n_scored else ""
            said = left_out("SAMPLES", errors)
            yield Text(f"{said} --errors wrong counts them as wrong.{scored}", style=LOUD)

    def _has_costs(self) -> bool:
        return any(cost is not None for one in self._all.arms.values() for cost in (one.tokens, one.usd, one.seconds))
