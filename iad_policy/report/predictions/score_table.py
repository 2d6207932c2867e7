"""Prints the scores of predictions: each arm's figures, the paired differences, and what has to be said of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from iad_policy.ledger.predictions.formats import SUCCESS
from iad_policy.report.columns import NOTHING, Columns, counted, figure, fitting
from iad_policy.report.other_logs.comparison import MCNEMAR, ArmDifference, ArmFigures
from iad_policy.report.other_logs.comparison_table import few_pairs, mean_cell, pass_columns, some, tested_columns
from iad_policy.report.predictions.scoring import WRONG, ArmScores, PredictionScores
from iad_policy.types.texts import isolated

N_SHOWN = 8
"""Number of problems and notes that are shown. All of them are in the JSON."""
_LOUD, _QUIET = "bold red", "dim"
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
        for baseline, rows in self._by_baseline().items():
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

    def _difference_columns(self) -> Columns[ArmDifference]:
        comparison = self._scores.comparison
        columns: list[tuple[str, Callable[[ArmDifference], str]]] = []
        if any(one.success for one in comparison.differences.values()):
            columns += tested_columns(self._headings[SUCCESS], lambda one: one.success)
        if not comparison.is_success_only:
            columns += tested_columns(self._headings.get(comparison.score, comparison.score), lambda one: one.score)
        columns.append(("pairs", lambda one: str(one.n_pairs)))
        if any(one.n_unpaired for one in comparison.differences.values()):
            columns.append(("unpaired", lambda one: str(one.n_unpaired)))
        return columns

    def _by_baseline(self) -> dict[str, dict[str, ArmDifference]]:
        found: dict[str, dict[str, ArmDifference]] = {}
        for name, one in self._scores.comparison.differences.items():
            found.setdefault(isolated(one.baseline), {})[isolated(name)] = one
        return found

    def _warnings(self) -> Iterable[Text]:
        files = self._scores.files
        yield from _listed("NOT READ", [problem for one in files for problem in one.problems], _LOUD)
        for one in files:
            if not one.attempts:
                yield Text(f"NOTHING READ from {isolated(str(one.path))}: it has no row.", style=_LOUD)
            if one.unknown:
                yield Text(
                    f"NO SUCH TASK: {counted(len(one.unknown), 'prediction')} of {isolated(str(one.path))} "
                    f"({some(one.unknown)})",
                    style=_LOUD,
                )
        for name, arm in self._scores.arms.items():
            yield from self._of_arm(isolated(name), arm)
        yield from few_pairs(self._scores.comparison.differences)
        yield from _listed("", [note for one in files for note in one.notes], "")
        for note in self._notes:
            yield Text(note)
        yield Text(self._legend(), style=_QUIET)

    def _of_arm(self, name: str, arm: ArmScores) -> Iterable[Text]:
        if arm.n_missing:
            named = f" ({some(arm.missing)})" if arm.missing else ""
            tasks = "" if arm.n_missing == len(arm.missing) else f"; {counted(len(arm.missing), 'task')} without any"
            whose = f", as {self._missing_as} has it" if self._missing_as else ""
            rule = (
                f"They count as wrong{whose}; --missing left-out leaves them out."
                if self._scores.missing == WRONG
                else f"They are left out; --missing wrong counts them as wrong{whose}."
            )
            yield Text(
                f"MISSING in {name}: {counted(arm.n_missing, 'prediction')}{tasks}{named}. {rule}",
                style=_LOUD,
            )
        if arm.errors:
            kinds = ", ".join(f"{n} {kind}" for kind, n in arm.errors.items())
            yield Text(f"NOT SCORED in {name}, and left out: {kinds}. {isolated(arm.first_error)}", style=_LOUD)
        if arm.n_unfinished:
            yield Text(
                f"UNFINISHED in {name}: {counted(arm.n_unfinished, 'attempt')} whose actions end before the episode. "
                "They count with what they reached."
            )
        if arm.n_unused:
            attempts = counted(arm.n_unused, "attempt")
            yield Text(f"In {name} {attempts} with actions after the end of the episode, which are not used.")

    def _legend(self) -> str:
        differences = self._scores.comparison.differences.values()
        tests = {test.test for one in differences for test in one.tested.values()}
        n_tests = sum(len(one.tested) for one in differences)
        said = [
            "A task counts once, with the mean of its attempts.",
            "[low,high]: 95 % intervals (success with one attempt per task, and figures equal on all tasks: "
            "Wilson; else bootstrap over tasks).",
        ]
        if tests:
            mcnemar = "exact McNemar test on success" if MCNEMAR in tests else ""
            flips = "sign-flip test over tasks" if tests - {MCNEMAR} else ""
            p = "; else ".join(filter(None, (mcnemar, flips)))
            said += [
                f"p: {p}, adjusted by Holm for {counted(n_tests, 'test')}.",
                "MDE: the smallest true difference that this number of tasks detects with 80 % power.",
            ]
        return " ".join(said)


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


def _listed(what: str, said: Sequence[str], style: str) -> Iterable[Text]:
    """Yield lines, and how many more there are."""
    before = f"{what}: " if what else ""
    for one in said[:N_SHOWN]:
        yield Text(f"{before}{isolated(one)}", style=style)
    if len(said) > N_SHOWN:
        yield Text(f"{before}{len(said) - N_SHOWN} more, which are in --json", style=style)
