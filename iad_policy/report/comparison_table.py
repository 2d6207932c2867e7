"""Prints comparisons, whichever command asks: means, pass@k, paired differences, and what has to be said of figures.

Each caution has one wording and one rule.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from rich.text import Text

from iad_policy.report.columns import NOTHING, Columns, counted, figure, p_value, with_interval
from iad_policy.report.compare import ArmFigures, Difference, Flaky, PairedDifference, TaskMean
from iad_policy.report.samples import PROGRESS, SUCCESS
from iad_policy.types.texts import isolated

DifferenceColumns = list[tuple[str, Callable[[Difference], str]]]
FEW = 30
"""Number of tasks below which a table warns, however many samples they have: bootstrap intervals are then too narrow,
and only large differences can be told."""
LEAST_APART = 6
"""Least number of tasks that have to differ for a p-value below 0.05."""
N_NAMES = 8
"""Number of tasks, problems and notes that are named. All of them are in the JSON."""
N_REASONS = 20
"""Number of reasons why tasks failed that are listed."""
LOUD = "bold red"
"""Style of what must not be overlooked."""


def difference_columns(
    differences: Iterable[Difference], headings: Mapping[str, str], *, tested: Sequence[str]
) -> DifferenceColumns:
    """Return the columns of a table of differences.

    Args:
        differences: The rows.
        headings: Metric -> its heading, for those that are shown.
        tested: Metrics whose test is shown, too.
    """

    def add(heading: str, metric: str, text: Callable[[PairedDifference], str]) -> None:
        columns.append((heading, lambda one: text(one.metrics[metric]) if metric in one.metrics else NOTHING))

    def detectable(one: PairedDifference) -> str:
        return figure(one.detectable, 3)

    def detectable_share(one: PairedDifference) -> str:  # no difference of shares is above 1
        return ">1" if one.detectable is not None and one.detectable > 1 else detectable(one)

    columns: DifferenceColumns = []
    for metric, heading in headings.items():
        add(heading, metric, lambda one: with_interval(one.value, one.interval_95, signed=True))
        if metric in tested:
            add("won:lost", metric, lambda one: f"{len(one.won)}:{len(one.lost)}")
            add("p (Holm)", metric, lambda one: p_value(one.p_holm))
        add("MDE", metric, detectable_share if metric in (SUCCESS, PROGRESS) else detectable)
    columns.append(("pairs", lambda one: str(one.n_pairs)))
    if any(one.n_unpaired for one in differences):
        columns.append(("unpaired", lambda one: str(one.n_unpaired)))
    return columns


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


def flaky_tasks(found: Mapping[str, Flaky], sample: str, *, n_names: int | None = 3) -> Iterable[Text]:
    """Yield which tasks are solved by chance: some of their samples succeed and others fail.

    Args:
        found: Row -> these tasks.
        sample: What a sample of a task is: `seed`, `run`.
        n_names: How many tasks of a row are named. None: all of them.
    """
    said = []
    for row, tasks in found.items():
        names = [f"{isolated(task)} {n}/{of}" for task, (n, of) in tasks.items()]
        shown = some(names, len(names) if n_names is None else n_names)
        said.append(f"{isolated(row)}: {len(tasks)}{f' ({shown})' if tasks and n_names != 0 else ''}")
    if any(found.values()):
        yield Text(f"Flaky tasks, which some {sample}s solve and others don't. {'; '.join(said)}.\n")


def failed_tasks(found: Mapping[str, Mapping[str, Sequence[str]]]) -> Iterable[Text]:
    """Yield why tasks failed: a line for each of the first reasons, and the number of the others.

    Args:
        found: Reason -> row -> its tasks, once per sample.
    """
    if not found:
        return
    yield Text("Why tasks failed, by frequency (a reason may quote gold)", style="bold")
    for reason, rows in list(found.items())[:N_REASONS]:
        tasks = named(list(dict.fromkeys(task for own in rows.values() for task in own)))
        counts = ", ".join(f"{isolated(row)}{f' {len(own)}' if len(own) > 1 else ''}" for row, own in rows.items())
        yield Text(f"{tasks} ({counts}): {isolated(reason)}")
    if len(found) > N_REASONS:
        yield Text(f"and {counted(len(found) - N_REASONS, 'more reason')}, in report.html")
    yield Text()


def mean_cell(one: TaskMean | None) -> str:
    """Return a mean with its interval."""
    return NOTHING if one is None else with_interval(one.value, one.interval_95)


def said_of(differences: Mapping[str, Difference]) -> Iterable[Text]:
    """Yield what has to be said of differences: tasks without a pair, and too few of them."""
    for arm, one in differences.items():
        name, baseline = isolated(arm), isolated(one.baseline)
        if one.n_unpaired:
            kinds = ((name, one.only_own), (baseline, one.only_baseline))
            said = [f"{len(tasks)} only of {own} ({named(tasks)})" for own, tasks in kinds if tasks]
            said += [f"{len(one.neither)} without a sample that counts ({named(one.neither)})"] if one.neither else []
            yield Text(f"UNPAIRED TASKS of {name} and {baseline}: {'; '.join(said)}.", style=LOUD)
        if one.reworded:
            yield Text(
                f"SAME NAME, OTHER TASK in {name} and {baseline}: {named(one.reworded)}. What they ask differs; "
                "--pair-by id pairs them all the same.",
                style=LOUD,
            )
    paired = {name: one for name, one in differences.items() if one.n_pairs}
    few = few_tasks(min((one.n_pairs for one in paired.values()), default=FEW))
    if few:
        few += " See MDE, and trust the test."
        most = LEAST_APART - 1
        silent = [f"{isolated(name)} ({one.n_apart})" for name, one in paired.items() if one.n_apart <= most]
        if silent:
            least = f"p is at least {2.0 ** (1 - most):g}, also unadjusted"
            few += f" Where {most} tasks differ or fewer, {least}: {some(silent)}."
        yield Text(few, style=LOUD)


def few_tasks(n_tasks: int) -> str:
    """Say that there are few tasks; "" if there are enough."""
    if n_tasks >= FEW:
        return ""
    few = counted(n_tasks, "task")
    return f"FEW TASKS: {few} can tell large differences only. Below {FEW}, intervals are rough."


def left_out(what: str, errors: Mapping[str, Mapping[str, int]], more: Mapping[str, str] | None = None) -> str:
    """Say what is in no mean.

    Args:
        what: What they are, such as EPISODES.
        errors: Row -> kind of error -> number. Rows without errors are left out.
        more: Row -> what else is said of its errors.
    """
    return f"ERRORED {what} ARE LEFT OUT of every mean: {by_kind(errors, more)}."


def by_kind(errors: Mapping[str, Mapping[str, int]], more: Mapping[str, str] | None = None) -> str:
    """Return the numbers of errors of each row, by kind."""
    return "; ".join(
        f"{sum(kinds.values())} of {isolated(row)} ({isolated(', '.join(f'{n} {kind}' for kind, n in kinds.items()))})"
        f"{(more or {}).get(row, '')}"
        for row, kinds in errors.items()
        if kinds
    )


def missing_verdicts(n_failed: Mapping[str, int]) -> str:
    """Say which rows have verdicts that are missing because the verifier failed; "" for none."""
    said = ", ".join(f"{n} in {row}" for row, n in n_failed.items() if n)
    return said and f"VERDICTS ARE MISSING because the verifier failed: {said}. The report shows the reason for each."


def some(names: Sequence[str], n_names: int = N_NAMES) -> str:
    """Return the first of many names, and how many more there are."""
    said = ", ".join(names[:n_names])
    return said if len(names) <= n_names else f"{said} and {len(names) - n_names} more"


def named(names: Sequence[str]) -> str:
    """Return the first of many names from logs, and how many more there are."""
    return some([*map(isolated, names)])


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
        names = {"mcnemar": "exact McNemar test on success", "sign-flip": "sign-flip test over tasks"}
        by = "; else ".join(text for name, text in names.items() if name in tests)
        said += [
            "pairs: tasks that both rows have. won:lost: those on which one is better.",
            f"p: {by}, adjusted by Holm for {counted(len(rows), 'row')}.",
            "MDE: the smallest true difference that this number of tasks detects with 80 % power.",
        ]
    return Text(" ".join(said), style="dim")
