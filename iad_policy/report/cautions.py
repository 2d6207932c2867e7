"""What has to be said of figures. Each caution has one wording and one rule, whichever command says it."""

from collections.abc import Collection, Mapping, Sequence

from iad_policy.report.columns import counted
from iad_policy.types.texts import isolated

FEW = 30
"""Number of tasks below which a table warns, however many samples they have: bootstrap intervals are then too narrow,
and only large differences can be told."""
LEVEL = 0.05
LEAST_APART = 6
"""Least number of tasks that have to differ for a p-value below `LEVEL`."""
N_NAMES = 8
"""Number of tasks, problems and notes that are named. All of them are in the JSON."""
LOUD, QUIET = "bold red", "dim"
"""Styles of what must not be overlooked, and of what explains."""


def few_tasks(n_tasks: int) -> str:
    """Say that there are few tasks; "" if there are enough."""
    if n_tasks >= FEW:
        return ""
    few = counted(n_tasks, "task")
    return f"FEW TASKS: {few} can tell large differences only. Below {FEW}, intervals are rough."


def few_pairs(n_pairs: Collection[int], n_apart: Mapping[str, int]) -> str:
    """Say of paired tests that they have few tasks, or so few different ones that they can't find anything.

    Args:
        n_pairs: For each difference, its number of tasks.
        n_apart: Name of a difference -> number of its tasks that differ.
    """
    said = few_tasks(min(n_pairs, default=FEW))
    if not said:
        return ""
    said += " See MDE, and trust the test."
    most = LEAST_APART - 1
    silent = [f"{isolated(name)} ({n})" for name, n in n_apart.items() if n <= most]
    if silent:
        said += f" Where {most} tasks differ or fewer, p can't be below {least_p(most):g}: {some(silent)}."
    return said


def least_p(n_apart: int) -> float:
    """Return the smallest p-value of both tests if so many tasks differ."""
    return min(1.0, 2.0 ** (1 - n_apart))


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


def some(names: Sequence[str]) -> str:
    """Return the first of many names, and how many more there are."""
    said = ", ".join(names[:N_NAMES])
    return said if len(names) <= N_NAMES else f"{said} and {len(names) - N_NAMES} more"


def named(names: Sequence[str]) -> str:
    """Return the first of many names from logs, and how many more there are."""
    return some([*map(isolated, names)])
