"""Prints the scores of predictions: each arm's figures, the paired differences, and what has to be said of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from iad_policy.ledger.predictions.formats import SUCCESS
from iad_policy.report.cautions import LOUD, named
from iad_policy.report.columns import NOTHING, Columns, counted, figure, fitting
from iad_policy.report.compare import ArmFigures
from iad_policy.report.comparison_table import (
    DifferenceColumns,
    by_baseline,
    difference_columns,
    legend,
    listed,
    mean_cell,
    pass_columns,
    said_of,
)
from iad_policy.report.predictions.scoring import WRONG, ArmScores, PredictionScores
from iad_policy.types.texts import isolated

Cells = list[tuple[str, Callable[[ArmScores], str]]]


class ScoreTable:
    """The scores of predictions for rich.

    Args:
        scores: The figures.
        heading: What was scored: the environment with its tasks and data.
        headings: Score -> its heading, for those that are shown. Success comes first.
        notes: What a reader of the figures has to know.
        missing_as: Whose rule it is that a task without a prediction counts as wrong, "" if it is only ours.
    """

    def __init__(
        self,
        scores: PredictionScores,
        heading: Text,
        headings: Mapping[str, str],
        notes: Sequence[str] = (),
        missing_as: str = "",
    ) -> None:
        self._scores = scores
        self._heading = heading
        self._headings = headings
        self._notes = notes
        self._missing_as = missing_as

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        fit = partial(fitting, width=width, console=console, names="arm")
        arms = {isolated(name): one for name, one in self._scores.arms.items()}
        yield self._heading
        yield Text(self._counts())
        yield ""
        yield from fit("", self._columns(), arms)
        votes = self._columns_of_k()
        if votes:
            majority = "a majority (majority@k), " if any(one.majority_at for one in arms.values()) else ""
            yield Text(f"Of k attempts, right is {majority}any (pass@k), all (pass^k)", style="bold")
            yield from fit("", votes, arms)
        for baseline, rows in by_baseline(self._scores.comparison.differences).items():
            yield Text(f"Difference to {baseline} on the same tasks", style="bold")
            yield from fit("", self._difference_columns(), rows)
        yield from self._warnings()

    def _counts(self) -> str:
        n_attempts = sum(one.n_attempts for one in self._scores.arms.values())
        parts = [counted(n_attempts, "attempt"), counted(len(self._scores.files), "file")]
        return f"{' in '.join(parts)}, {counted(len(self._scores.arms), 'arm')}"

    def _columns(self) -> Columns[ArmScores]:
        arms = list(self._scores.arms.values())
        columns: Cells = []
        if any(one.figures.success for one in arms):
            columns.append((self._headings[SUCCESS], lambda one: mean_cell(one.figures.success)))
        shown = [name for name in self._headings if any(name in one.scores for one in arms)]
        columns += [_score_column(name, self._headings[name]) for name in shown]
        levels = list(dict.fromkeys(level for one in arms for level in one.by_difficulty))
        if levels:
            heading = f"{self._headings[SUCCESS]}\n{'/'.join(map(isolated, levels))}"
            columns.append((heading, lambda one: "/".join(_at_levels(one, levels))))
        columns += [("tasks", lambda one: str(one.figures.n_tasks)), ("attempts", lambda one: str(one.n_attempts))]
        return columns + [_count_column(*count) for count in _COUNTS.items() if any(map(count[1], arms))]

    def _columns_of_k(self) -> Columns[ArmScores]:
        arms = list(self._scores.arms.values())
        majorities = dict.fromkeys(k for one in arms for k in one.majority_at)
        return [
            *(_majority_column(k) for k in majorities),
            *((heading, _of_figures(cell)) for heading, cell in pass_columns([one.figures for one in arms])),
        ]

    def _difference_columns(self) -> DifferenceColumns:
        comparison = self._scores.comparison
        rows, score = comparison.differences.values(), comparison.score
        headings = {SUCCESS: self._headings[SUCCESS]} if any(one.success for one in rows) else {}
        if not comparison.is_success_only:
            headings[score] = self._headings.get(score, score)
        return difference_columns(rows, headings, tested=list(headings))

    def _warnings(self) -> Iterable[Text]:
        files = self._scores.files
        yield from listed("NOT READ: ", [problem for one in files for problem in one.problems], LOUD)
        for one in files:
            if not one.attempts:
                yield Text(f"NOTHING READ from {isolated(str(one.path))}: it has no row.", style=LOUD)
            if one.unknown:
                yield Text(
                    f"NO SUCH TASK: {counted(len(one.unknown), 'prediction')} of {isolated(str(one.path))} "
                    f"({named(one.unknown)})",
                    style=LOUD,
                )
        for name, arm in self._scores.arms.items():
            yield from self._of_arm(isolated(name), arm)
        yield from said_of(self._scores.comparison.differences)
        yield from listed("", [note for one in files for note in one.notes])
        for note in self._notes:
            yield Text(note)
        comparison = self._scores.comparison
        yield legend(comparison.differences.values(), tested=(SUCCESS, comparison.score), sample="attempt")

    def _of_arm(self, name: str, arm: ArmScores) -> Iterable[Text]:
        if arm.n_missing:
            which = f" ({named(arm.missing)})" if arm.missing else ""
            tasks = "" if arm.n_missing == len(arm.missing) else f"; {counted(len(arm.missing), 'task')} without any"
            whose = f", as {self._missing_as} has it" if self._missing_as else ""
            rule = (
                f"They count as wrong{whose}; --missing left-out leaves them out."
                if self._scores.missing == WRONG
                else f"They are left out; --missing wrong counts them as wrong{whose}."
            )
            yield Text(
                f"MISSING in {name}: {counted(arm.n_missing, 'prediction')}{tasks}{which}. {rule}",
                style=LOUD,
            )
        if arm.errors:
            kinds = ", ".join(f"{n} {kind}" for kind, n in arm.errors.items())
            yield Text(f"NOT SCORED in {name}, and left out: {kinds}. {isolated(arm.first_error)}", style=LOUD)
        if arm.n_unfinished:
            yield Text(
                f"UNFINISHED in {name}: {counted(arm.n_unfinished, 'attempt')} whose actions end before the episode. "
                "They count with what they reached."
            )
        if arm.n_unused:
            attempts = counted(arm.n_unused, "attempt")
            yield Text(f"In {name} {attempts} with actions after the end of the episode, which are not used.")


_COUNTS: Mapping[str, Callable[[ArmScores], int]] = {
    "missing": lambda one: one.n_missing,
    "not\nscored": lambda one: sum(one.errors.values()),
    "unfinished": lambda one: one.n_unfinished,
    "rejected": lambda one: one.verdicts.get("rejected", 0),
}
"""Heading -> number, shown where an arm has any."""


def _score_column(name: str, heading: str) -> tuple[str, Callable[[ArmScores], str]]:
    return heading, lambda one: mean_cell(one.scores.get(name))


def _count_column(heading: str, number: Callable[[ArmScores], int]) -> tuple[str, Callable[[ArmScores], str]]:
    return heading, lambda one: str(number(one))


def _of_figures(cell: Callable[[ArmFigures], str]) -> Callable[[ArmScores], str]:
    return lambda one: cell(one.figures)


def _majority_column(k: int) -> tuple[str, Callable[[ArmScores], str]]:
    return f"majority@{k}", lambda one: mean_cell(one.majority_at.get(k))


def _at_levels(one: ArmScores, levels: Sequence[str]) -> Iterable[str]:
    for level in levels:
        found = one.by_difficulty.get(level)
        yield NOTHING if found is None else figure(found.success, 2)
