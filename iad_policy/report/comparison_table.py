"""Prints comparisons, whichever command asks: means, pass@k, paired differences, and what has to be said of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from rich.text import Text

from iad_policy.report.cautions import LOUD, N_NAMES, QUIET, few_pairs, named
from iad_policy.report.columns import NOTHING, Columns, counted, figure, p_value, with_interval
from iad_policy.report.compare import MCNEMAR, SIGN_FLIP, ArmFigures, Difference, PairedDifference, TaskMean
from iad_policy.report.samples import PROGRESS, SUCCESS
from iad_policy.types.texts import isolated

DifferenceColumns = list[tuple[str, Callable[[Difference], str]]]


def difference_columns(
    differences: Iterable[Difference], headings: Mapping[str, str], *, tested: Sequence[str]
) -> DifferenceColumns:
    """Return the columns of a table of differences.

    Args:
        differences: The rows.
        headings: Metric -> its heading, for those that are shown.
        tested: Metrics whose test is shown, too.
    """
    rows = list(differences)
    columns: DifferenceColumns = []
    for metric, heading in headings.items():
        columns.append((heading, _cell(metric, lambda one: with_interval(one.value, one.interval_95, signed=True))))
        if metric in tested:
            columns.append(("won:lost", _cell(metric, lambda one: f"{len(one.won)}:{len(one.lost)}")))
            columns.append(("p (Holm)", _cell(metric, lambda one: p_value(one.p_holm))))
        columns.append(("MDE", _cell(metric, partial(_detectable, is_share=metric in (SUCCESS, PROGRESS)))))
    columns.append(("pairs", lambda one: str(one.n_pairs)))
    if any(one.n_unpaired for one in rows):
        columns.append(("unpaired", lambda one: str(one.n_unpaired)))
    return columns


def _cell(metric: str, text: Callable[[PairedDifference], str]) -> Callable[[Difference], str]:
    return lambda one: text(one.metrics[metric]) if metric in one.metrics else NOTHING


def _detectable(one: PairedDifference, *, is_share: bool) -> str:
    """Return a detectable difference. No difference of shares is above 1, so nothing at all is detected there."""
    return ">1" if is_share and one.detectable is not None and one.detectable > 1 else figure(one.detectable, 3)


def by_baseline(differences: Mapping[str, Difference]) -> dict[str, dict[str, Difference]]:
    """Return baseline -> arm -> difference, with names that can't change the terminal."""
    found: dict[str, dict[str, Difference]] = {}
    for name, one in differences.items():
        found.setdefault(isolated(one.baseline), {})[isolated(name)] = one
    return found


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


def mean_cell(one: TaskMean | None) -> str:
    """Return a mean with its interval."""
    return NOTHING if one is None else with_interval(one.value, one.interval_95)


def said_of(differences: Mapping[str, Difference]) -> Iterable[Text]:
    """Yield what has to be said of differences: tasks without a pair, and too few of them."""
    for name, one in differences.items():
        yield from _unpaired(isolated(name), one)
    paired = {name: one for name, one in differences.items() if one.n_pairs}
    few = few_pairs([one.n_pairs for one in paired.values()], {name: one.n_apart for name, one in paired.items()})
    if few:
        yield Text(few, style=LOUD)


def _unpaired(name: str, one: Difference) -> Iterable[Text]:
    where = f"{name} and {isolated(one.baseline)}"
    if one.n_unpaired:
        kinds = ((name, one.only_own), (isolated(one.baseline), one.only_baseline))
        said = [f"{len(tasks)} only of {arm} ({named(tasks)})" for arm, tasks in kinds if tasks]
        said += [f"{len(one.neither)} without a sample that counts ({named(one.neither)})"] if one.neither else []
        yield Text(f"UNPAIRED TASKS of {where}: {'; '.join(said)}.", style=LOUD)
    if one.reworded:
        yield Text(
            f"SAME NAME, OTHER TASK in {where}: {named(one.reworded)}. What they ask differs; --pair-by id pairs them "
            "all the same.",
            style=LOUD,
        )


def legend(differences: Iterable[Difference], *, tested: Sequence[str], sample: str, more: str = "") -> Text:
    """Return what the columns mean.

    Args:
        differences: The rows of the tables of differences.
        tested: Metrics whose test is shown.
        sample: What a sample of a task is: `seed`, `attempt`.
        more: What else is said, before the tests.
    """
    rows = list(differences)
    tests = {row.metrics[metric].test for row in rows for metric in tested if metric in row.metrics}
    said = [
        f"A task counts once, with the mean of its {sample}s.",
        f"[low,high]: 95 % intervals (success with one {sample} per task, and figures equal on all tasks: Wilson; else "
        "bootstrap over tasks).",
        *([more] if more else []),
    ]
    if tests:
        names = {MCNEMAR: "exact McNemar test on success", SIGN_FLIP: "sign-flip test over tasks"}
        by = "; else ".join(text for name, text in names.items() if name in tests)
        said += [
            "pairs: tasks that both rows have. won:lost: those on which one is better.",
            f"p: {by}, adjusted by Holm for {counted(len(rows), 'row')}.",
            "MDE: the smallest true difference that this number of tasks detects with 80 % power.",
        ]
    return Text(" ".join(said), style=QUIET)


def listed(what: str, said: Sequence[str], style: str = "") -> Iterable[Text]:
    """Yield a line for each of the first texts, and one with the number of the others.

    Args:
        what: What stands before each of them: `NOT READ: `, or "".
        said: The texts.
        style: Style of the lines.
    """
    for one in said[:N_NAMES]:
        yield Text(f"{what}{isolated(one)}", style=style)
    if len(said) > N_NAMES:
        yield Text(f"{what}{len(said) - N_NAMES} more, which are in --json", style=style)
