"""Draws lines and bars as PNG and SVG with matplotlib (the extra `plots`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from iad_policy.errors import MissingExtra
from iad_policy.report.statistics import Interval
from iad_policy.types.atomic import write_atomically


class Mark(NamedTuple):
    """One point: x, the mean of the metric, and, if known, its 95 % interval and the number of episodes."""

    x: float
    value: float
    interval: Interval | None = None
    n_episodes: int = 0


@dataclass(frozen=True, slots=True)
class Panel:
    """One set of axes.

    Attributes:
        title: Title above the panel.
        x: Label of the horizontal axis.
        y: Name of the metric.
        lines: Name of a line -> its points.
        information: The verifier's information label, or "" without a verifier.
        verifier_text: What is said of the verifier.
        ticks: Position on the horizontal axis -> its name, for settings that are not numbers.
        is_bars: Whether each point is a bar, from the top down, with its tick beside it.
        text: What is said in place of lines.
    """

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[Mark]]
    information: str = ""
    verifier_text: str = ""
    ticks: Mapping[float, str] = field(default_factory=dict)
    is_bars: bool = False
    text: str = ""


def draw(panels: Sequence[Panel], title: str, stem: Path) -> list[Path]:
    """Draw the panels in one picture, each point with its interval, and return the two files written.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra("matplotlib", "plots") from None
    n_columns = max(1, min(3, len(panels)))
    n_rows = max(1, -(-len(panels) // n_columns))
    figure = Figure(figsize=(4.4 * n_columns, 3.4 * n_rows + 0.4), layout="constrained")  # in inches
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=9, wrap=True)
    axes = list(figure.subplots(n_rows, n_columns, squeeze=False).flat)
    for panel, ax in zip(panels, axes, strict=False):
        for place, (name, marks) in enumerate(panel.lines.items()):
            xs, values = [mark.x for mark in marks], [mark.value for mark in marks]
            intervals = [mark.interval or Interval(mark.value, mark.value) for mark in marks]
            error_bars = [
                [max(0.0, value - own.low) for value, own in zip(values, intervals, strict=True)],
                [max(0.0, own.high - value) for value, own in zip(values, intervals, strict=True)],
            ]
            known = error_bars if any(mark.interval for mark in marks) else None
            if panel.is_bars:
                bars = ax.barh(xs, values, xerr=known, height=0.65, alpha=0.7, capsize=2)
                ax.bar_label(bars, fmt="%.3f" if known else "%g", padding=3, fontsize=8)
                continue
            ax.errorbar(
                xs,
                values,
                yerr=known,
                label=name if marks else None,  # a line without points keeps the colours of the others
                marker="osD^vP*X"[place % 8],
                capsize=2,
                linewidth=1.4,
                markersize=4,
            )
        ax.set_title(panel.title, fontsize=9)
        across, up = (panel.y, panel.x) if panel.is_bars else (panel.x, panel.y)
        ax.set_xlabel(across, fontsize=8)
        ax.set_ylabel(up, fontsize=8)
        if panel.x in ("n", "rounds"):
            ax.set_xticks(sorted({mark.x for marks in panel.lines.values() for mark in marks}))
        if panel.is_bars:
            ax.set_yticks(list(panel.ticks), list(panel.ticks.values()))
            ax.set_ylim(len(panel.ticks) - 0.4, -0.6)  # the first is on top
            ax.margins(x=0.2)  # room for the values
        elif panel.ticks:
            ax.set_xticks(list(panel.ticks), list(panel.ticks.values()))
        ax.tick_params(labelsize=8)
        ax.set_axisbelow(True)
        ax.grid(alpha=0.3)
        if panel.text:
            ax.text(0.5, 0.5, panel.text, ha="center", va="center", fontsize=8, transform=ax.transAxes, wrap=True)
            ax.set_axis_off()
        elif any(marks for name, marks in panel.lines.items() if name):
            ax.legend(fontsize=7, frameon=False)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    stem.parent.mkdir(parents=True, exist_ok=True)
    written = [stem.with_suffix(suffix) for suffix in (".png", ".svg")]
    for path in written:
        with write_atomically(path) as part:
            figure.savefig(part, dpi=140, format=path.suffix[1:])
    return written
