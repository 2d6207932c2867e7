"""Prints the scores of predictions: each arm's figures, the paired differences, and what has to be said of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from iad_policy.ledger.predictions.formats import SUCCESS
from iad_policy.report.columns import Columns, counted, fitting
from iad_policy.report.comparison_table import (
    LOUD,
    by_baseline,
    difference_columns,
    legend,
    listed,
    mean_cell,
    named,
    pass_columns,
    said_of,
)
from iad_policy.report.predictions.scoring import WRONG, ArmScores, PredictionScores
from iad_policy.report.table import at_levels
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
        fit = partial(fitting, width=options.max_width, console=console, names="arm")
        arms = {isolated(name): one for name, one in self._scores.arms.items()}
        files, comparison = self._scores.files, self._scores.comparison
        n_attempts = counted(sum(one.n_attempts for one in arms.values()), "attempt")
        yield self._heading
        yield Text(f"{n_attempts} in {counted(len(files), 'file')}, {counted(len(arms), 'arm')}")
        yield ""
        yield from fit("", self._columns(), arms)
        of_k = self._columns_of_k()
        if of_k:
            majority = "a majority (majority@k), " if any(one.majority_at for one in arms.values()) else ""
            yield Text(f"Of k attempts, right is {majority}any (pass@k), all (pass^k)", style="bold")
            yield from fit("", of_k, arms)
        differences, score = comparison.differences, comparison.score
        headings = {SUCCESS: self._headings[SUCCESS]} if any(one.success for one in differences.values()) else {}
        if not comparison.is_success_only:
            headings[score] = self._headings.get(score, score)
        for baseline, rows in by_baseline(differences).items():
            yield Text(f"Difference to {baseline} on the same tasks", style="bold")
            yield from fit("", difference_columns(differences.values(), headings, tested=list(headings)), rows)
        yield from listed("NOT READ: ", [problem for one in files for problem in one.problems], LOUD)
        for one in files:
            path = isolated(str(one.path))
            if not one.attempts:
                yield Text(f"NOTHING READ from {path}: it has no row.", style=LOUD)
            if one.unknown:
                unknown = counted(len(one.unknown), "prediction")
                yield Text(f"NO SUCH TASK: {unknown} of {path} ({named(one.unknown)})", style=LOUD)
        for name, arm in arms.items():
            yield from self._of_arm(name, arm)
        yield from said_of(differences)
        yield from listed("", [note for one in files for note in one.notes])
        yield from map(Text, self._notes)
        yield legend(differences.values(), tested=(SUCCESS, score), sample="attempt")

    def _columns(self) -> Columns[ArmScores]:
        arms = list(self._scores.arms.values())
        columns: Cells = []
        if any(one.figures.success for one in arms):
            columns.append((self._headings[SUCCESS], lambda one: mean_cell(one.figures.success)))

        def of_score(name: str) -> Callable[[ArmScores], str]:
            return lambda one: mean_cell(one.scores.get(name))

        for name, heading in self._headings.items():
            if any(name in one.scores for one in arms):
                columns.append((heading, of_score(name)))
        levels = list(dict.fromkeys(level for one in arms for level in one.by_difficulty))
        if levels:
            heading = f"{self._headings[SUCCESS]}\n{'/'.join(map(isolated, levels))}"
            columns.append((heading, lambda one: at_levels(one.by_difficulty, levels)))
        columns += [("tasks", lambda one: str(one.figures.n_tasks)), ("attempts", lambda one: str(one.n_attempts))]
        counts: Cells = [
            ("missing", lambda one: str(one.n_missing)),
            ("not\nscored", lambda one: str(sum(one.errors.values()))),
            ("unfinished", lambda one: str(one.n_unfinished)),
            ("rejected", lambda one: str(one.verdicts.get("rejected", 0))),
        ]
        return columns + [count for count in counts if any(count[1](one) != "0" for one in arms)]

    def _columns_of_k(self) -> Columns[ArmScores]:
        arms = list(self._scores.arms.values())

        def majority(k: int) -> Callable[[ArmScores], str]:
            return lambda one: mean_cell(one.majority_at.get(k))

        majorities = dict.fromkeys(k for one in arms for k in one.majority_at)
        columns: Cells = [(f"majority@{k}", majority(k)) for k in majorities]
        for heading, cell in pass_columns([one.figures for one in arms]):
            columns.append((heading, lambda one, cell=cell: cell(one.figures)))  # type: ignore[misc]
        return columns

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
            predictions = counted(arm.n_missing, "prediction")
            yield Text(f"MISSING in {name}: {predictions}{tasks}{which}. {rule}", style=LOUD)
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
