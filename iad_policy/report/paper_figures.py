"""Draws the figures of *On the Role of Feedback in Test-Time Scaling* (arXiv 2504.01931 v2) for our own runs.

What a figure shows is in `iad_policy.papers.iad`. Each point comes from a run of `evaluate` with its own folder below
the sweep's folder, so a stopped sweep can continue. In panels that say so, the strategy selects by a corrupted score.
The drawn value is always the environment's own score.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.papers import FigurePanel, experiments_of
from iad_policy.registry.domain import default_agent
from iad_policy.report.compare import over_tasks
from iad_policy.report.curves import spent_on
from iad_policy.report.metrics import per_task
from iad_policy.report.plots import Mark, Panel, draw
from iad_policy.report.results import Results
from iad_policy.report.samples import METRICS, SUCCESS
from iad_policy.strategies.building_blocks.feedback_forms import FORMS
from iad_policy.types.atomic import write_text
from iad_policy.types.hashing import digest

FIGURES: Mapping[str, tuple[FigurePanel, ...]] = {
    **{number: panels for one in experiments_of("iad").values() for number, panels in one.figures.items()},
    "feedback": (
        FigurePanel(
            strategies=("iad",),
            title="iad by form of feedback",
            settings={form: {"feedback": form} for form in FORMS},
        ),
    ),
}
"""The figure's number in the paper, or the name of our own -> its panels."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """The environment, components and tasks that the figures are drawn for.

    Attributes:
        evaluate: Runs and measures: `iad_policy.evaluate`.
        env: The environment's id.
        out: Folder for runs and figures.
        tasks: Number of tasks.
        metric: Name of the metric: `success`, `progress` or `reward`.
        agent: Name of the agent, or None for the environment's own.
        weak: Name of a weaker agent for figures 3, 5 and 8. None leaves out its panels.
        verifier: Name of the verifier, or None for the environment's proxy.
        ns: Numbers of proposals per decision.
        parts: Parts of the reward. Figure 3 draws them in addition to the metric, and figure 5 uses them as verifiers.
        options: Other options of `evaluate`.
    """

    evaluate: Callable[..., Results]
    env: str
    out: Path
    tasks: int = 100
    metric: str = "success"
    agent: str | None = None
    weak: str | None = None
    verifier: str | None = None
    ns: tuple[int, ...] = (1, 2, 4, 6)
    parts: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, strategies: Sequence[str], **changes: Any) -> Results:
        """Run strategies with the sweep's options, overridden by `changes`, and return the results."""
        asked: dict[str, Any] = {"n": self.ns, "agent": self.agent, "verifier": self.verifier, "tasks": self.tasks}
        if "iad" in strategies:
            asked |= {"feedback": "best-worst", "instruct": "improve"}  # the paper's, unless others are given
        asked |= {**self.options, **changes}
        folder = self.out / f"{'-'.join(strategies)}-{digest(self.env, strategies, asked)[:8]}"
        return self.evaluate(self.env, list(strategies), out=folder, **asked)


def sweep_figures(names: Sequence[str], sweep: Sweep) -> Iterator[Path]:
    """Run, draw and write figures, and yield each file once it is written.

    Raises:
        UnknownName: There is no such figure or metric. Nothing has run yet.
        ValueError: Figure 5 is requested without parts of the reward. Nothing has run yet.
        NoAgent: No agent is given, and the environment has none of its own. Nothing has run yet.
    """
    for name in names:
        if name not in FIGURES:
            raise UnknownName("figure", name, FIGURES)
    if sweep.metric not in METRICS:
        raise UnknownName("metric", sweep.metric, METRICS)
    if "5" in names and not sweep.parts:
        raise ValueError("expected parts of the reward for figure 5, as its verifiers, got none; pass --parts")
    if sweep.agent is None:
        default_agent(sweep.env, n_proposals=sum(_n_proposals(one, sweep) for name in names for one in FIGURES[name]))
    for name in names:
        yield from write_figure(name, [made for panel in FIGURES[name] for made in panels_of(panel, sweep)], sweep)


def _n_proposals(panel: FigurePanel, sweep: Sweep) -> int:
    """Return how many proposals per decision the runs of a panel make together."""
    if panel.agent == "weak" and sweep.weak is None:
        return 0
    n_runs = max(1, len(panel.settings)) * max(1, len(sweep.parts) if panel.parts == "verifiers" else 1)
    own = panel.options.get("n")
    return n_runs * sum(1 if one == "single" else own or sum(sweep.ns) for one in panel.strategies)


def panels_of(panel: FigurePanel, sweep: Sweep) -> Iterator[Panel]:
    """Run what a panel shows, and yield it, or one for each metric, strategy or verifier, as `FigurePanel` says."""
    if panel.agent == "weak" and sweep.weak is None:
        return
    changes: dict[str, Any] = {}
    n_tasks = max(1, round(panel.subset * sweep.tasks))
    if panel.subset < 1:
        changes["tasks"] = n_tasks
    if panel.agent and sweep.weak is not None:
        changes["agent"] = sweep.weak
    for part in sweep.parts if panel.parts == "verifiers" else ("",):
        names = {"agent": sweep.weak, "tasks": n_tasks, "verifier": sweep.verifier or "proxy", "part": part}
        runs: dict[str | float, Results] = {}
        lines: dict[str, list[Mark]]
        records: Sequence[EpisodeRecord]
        for place, own in (panel.settings or {"": {}}).items():
            options = {**panel.options, **own}
            filled = {key: one.format(**names) if isinstance(one, str) else one for key, one in options.items()}
            runs[place] = sweep.run(list(panel.strategies), **changes, **filled)
        first, metric = next(iter(runs.values())), panel.metric or sweep.metric
        if panel.settings and panel.x == "n":
            for strategy in panel.strategies:
                lines = {str(place): _line(results, strategy, metric) for place, results in runs.items()}
                yield _panel(first, metric, lines, panel.title.format(strategy=strategy))
        elif panel.settings:  # on the axis: numbers, or names in their order
            lines = {}
            ticks: dict[float, str] = {place: name for place, name in enumerate(runs) if isinstance(name, str)}
            for place, (name, results) in enumerate(runs.items()):
                for label, records in results.records.items():
                    lines.setdefault(label, []).extend(_mark(place if isinstance(name, str) else name, records, metric))
            yield _panel(first, metric, lines, panel.title, panel.x, ticks=ticks)
        elif panel.x == "proposals":
            lines = {}
            for arm in first.heading.config.arms:
                records = first.records[first.heading.config.label(arm)]
                spent = [spent_on(record, "proposals") for record in records if record.is_scored]
                lines.setdefault(arm.strategy, []).extend(_mark(sum(spent) / max(1, len(spent)), records, metric))
            title = f"{first.heading.named(metric)} by proposals spent"
            yield _panel(first, metric, lines, title, "proposals per episode")
        else:
            others = {"metrics": sweep.parts, "verifiers": (part,)}.get(panel.parts, ())
            for one in dict.fromkeys((metric, *others)):
                lines = {name: _line(first, name, one) for name in panel.strategies}
                yield _panel(first, one, lines, panel.title.format(**names), panel.x)


def _mark(x: float, records: Sequence[EpisodeRecord], metric: str) -> list[Mark]:
    """Return the point of some episodes, with the mean and the interval that a table has; no point if none is known."""
    of_tasks = per_task([one for one in records if one.is_scored], metric)
    mean = over_tasks(of_tasks, is_rate=metric == SUCCESS)
    return [] if mean is None else [Mark(x, mean.value, mean.interval_95, sum(map(len, of_tasks)))]


def _line(results: Results, strategy: str, metric: str) -> list[Mark]:
    """Return a strategy's points by n. A strategy without n gets the same value at each n."""
    config, records = results.heading.config, results.records
    arms = [arm for arm in config.arms if arm.strategy == strategy]
    by_n = [(arm.n, arm) for arm in arms] if config.has_n(strategy) else [(n, arms[0]) for n in config.n]
    return [mark for n, arm in by_n for mark in _mark(n, records[config.label(arm)], metric)]


def _panel(
    results: Results,
    metric: str,
    lines: Mapping[str, Sequence[Mark]],
    title: str = "",
    x: str = "n",
    *,
    ticks: Mapping[float, str] | None = None,
) -> Panel:
    heading = results.heading
    title = title or f"verifier {heading.config.verifier[0] or 'none'}"
    return Panel(title, x, heading.named(metric), lines, heading.information, heading.verifier_text, ticks or {})


def write_figure(name: str, panels: Sequence[Panel], sweep: Sweep) -> list[Path]:
    """Write a figure as PNG, SVG and JSON, and return the files."""
    stem = f"figure-{name}"
    labels = dict.fromkeys(panel.verifier_text for panel in panels)
    title = f"{sweep.env}, {sweep.tasks} tasks at most; {'; '.join(labels)}"
    written = [sweep.out / f"{stem}.json", *draw(panels, title, sweep.out / stem)]
    points = [
        {
            "title": panel.title,
            "x": panel.x,
            "y": panel.y,
            "information": panel.information,
            "lines": {line: [mark._asdict() for mark in marks] for line, marks in panel.lines.items()},
            "ticks": {str(place): tick for place, tick in panel.ticks.items()},
        }
        for panel in panels
    ]
    write_text(written[0], json.dumps({"title": title, "panels": points}, indent=2))
    return written
