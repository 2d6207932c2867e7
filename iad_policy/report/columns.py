"""Columns of a table in the terminal, and how figures stand in its cells."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from rich import box
from rich.cells import cell_len, chop_cells
from rich.console import Console, Group, RenderableType
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from iad_policy.report.statistics import Interval

NOTHING = "-"
T = TypeVar("T")
Columns: TypeAlias = Sequence[tuple[str, Callable[[T], str]]]
"""For each column, its heading and the function that turns a row into a cell."""


def fitting(
    title: str,
    columns: Columns[T],
    rows: Mapping[str, T],
    *,
    width: int,
    console: Console,
    names: str = "strategy",
) -> list[RenderableType]:
    """Split the columns into tables that fit the width, each with a blank line after it.

    If all columns do not fit beside each other, names of more than a third of the width are folded, because a figure
    is read beside others and not beside a long name.

    Args:
        title: Title of the first table; "" for none.
        columns: The columns, without the first one, which has the rows' names.
        rows: Name -> row.
        width: Columns of the terminal.
        console: The console that the tables are measured for.
        names: Heading of the first column.
    """

    def table(columns: Columns[T], title: str = "") -> Table:
        made = Table(
            title=title or None,
            title_justify="left",
            title_style="bold",
            box=box.SIMPLE_HEAD,
            show_edge=False,
            padding=(0, 1, 0, 0),
        )
        made.add_column(names, overflow="fold", style="bold", vertical="bottom")
        for name, _ in columns:
            made.add_column(Text(name), justify="right", no_wrap=True, vertical="bottom")
        for name, one in rows.items():
            made.add_row(Text(name), *(cell(one) for _, cell in columns))
        return made

    def is_wider(columns: Columns[T]) -> bool:
        options = console.options.update(max_width=10_000)
        return Measurement.get(console, options, table(columns)).maximum > width

    if is_wider(columns):
        rows = {folded(name, max(16, width // 3)): one for name, one in rows.items()}
    groups: list[list[tuple[str, Callable[[T], str]]]] = [[]]
    for column in columns:
        if groups[-1] and is_wider([*groups[-1], column]):
            groups.append([])
        groups[-1].append(column)
    return [Group(table(group, title * (place == 0)), "") for place, group in enumerate(groups)]


def folded(name: str, width: int) -> str:
    """Return a name in lines of at most this width, broken at spaces where possible, all but the first indented."""
    lines = [""]
    for word in name.split(" "):
        for place, piece in enumerate(chop_cells(word, width - 2)):
            if lines == [""]:
                lines = [piece]
            elif not place and cell_len(lines[-1]) + 1 + cell_len(piece) <= width:
                lines[-1] += f" {piece}"
            else:
                lines.append(" " * (1 + (place > 0)) + piece)
    return "\n".join(lines)


def with_interval(value: float | None, interval: Interval | None, *, signed: bool = False) -> str:
    """Return a figure with three digits, and its interval with two."""
    if value is None or interval is None:
        return figure(value, 3)
    sign = "+" if signed else ""
    return f"{value:{sign}.3f} [{bound(interval.low, sign)},{bound(interval.high, sign)}]"


def bound(value: float, sign: str) -> str:
    """Return the end of an interval: two digits without a leading zero, with a sign if `sign` is "+"."""
    return f"{value:{sign}.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:{sign}.2f}"


def figure(value: float | None, digits: int) -> str:
    """Return a number with so many digits after the point."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def p_value(value: float | None) -> str:
    """Return a p-value. Very small ones are not spelled out."""
    return "<0.001" if value is not None and value < 0.001 else figure(value, 3)


def duration(value: float | None) -> str:
    """Return seconds, short ones with more digits."""
    return NOTHING if value is None else f"{value:.3f}" if value < 1 else f"{value:.1f}"


def listed(noun: str, values: Sequence[object]) -> str:
    """Return values after their noun: `seed 0`, `seeds 0, 1`."""
    return f"{noun}{'s' if len(values) > 1 else ''} {', '.join(map(str, values))}"


def counted(n: int, noun: str) -> str:
    """Return a number before its noun: `1 task`, `2 tasks`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
