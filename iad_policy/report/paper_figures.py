"""Draws the figures of *On the Role of Feedback in Test-Time Scaling* (arXiv 2504.01931 v2) for our own runs.

A figure has one or more panels with lines. Each point comes from a run of `evaluate` with its own folder below the
sweep's folder, so a stopped sweep can continue. In panels that say so, the strategy selects by a corrupted score. The
drawn value is always the environment's own score.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.report.compare import over_tasks
from iad_policy.report.curves import spent_on
from iad_policy.report.plots import Mark, Panel, draw
from iad_policy.report.results import Results
from iad_policy.report.samples import METRICS, SUCCESS
from iad_policy.strategies.building_blocks.feedback import FORMS
from iad_policy.types.atomic import write_atomically
from iad_policy.types.hashing import digest
from iad_policy.types.names import SPARSITY

NS = (1, 2, 4, 6)
LOW_TEMPERATURES = (0.1, 0.05, 0.0)
SDS = (0.0, 0.1, 0.2, 0.4, 0.8)
PAPERS_FORM = "best-worst"
"""The feedback form of the papers, which the figures use unless another one is given."""
N_OF_FIGURE_7 = 2
SUBSET = 0.2
"""Share of the tasks that the weak agent of figure 8 runs."""


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
    ns: tuple[int, ...] = NS
    parts: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def run(self, strategies: Sequence[str], **changes: Any) -> Results:
        """Run strategies with the sweep's options, overridden by `changes`, and return the results."""
        asked: dict[str, Any] = {"n": self.ns, "agent": self.agent, "verifier": self.verifier, "tasks": self.tasks}
        if "iad" in strategies:
            asked["feedback"] = PAPERS_FORM
        asked |= {**self.options, **changes}
        folder = self.out / f"{'-'.join(strategies)}-{digest(self.env, strategies, asked)[:8]}"
        return self.evaluate(self.env, list(strategies), out=folder, **asked)


Draw = Callable[[Sweep], list[Panel]]


def sweep_figures(names: Sequence[str], sweep: Sweep) -> Iterator[Path]:
    """Run, draw and write figures, and yield each file once it is written.

    Raises:
        UnknownName: There is no such figure or metric. Nothing has run yet.
        ValueError: Figure 5 is requested without parts of the reward. Nothing has run yet.
    """
    for name in names:
        if name not in FIGURES:
            raise UnknownName("figure", name, FIGURES)
    if sweep.metric not in METRICS:
        raise UnknownName("metric", sweep.metric, METRICS)
    if "5" in names and not sweep.parts:
        raise ValueError("expected parts of the reward for figure 5, as its verifiers, got none; pass --parts")
    for name in names:
        yield from write_figure(name, FIGURES[name](sweep), sweep)


def figure_3(sweep: Sweep) -> list[Panel]:
    """Draw the score by n, for the metric and each part of the reward, and for the weaker agent."""
    results = sweep.run(["single", "bon", "iad"])
    panels = [_by_n(results, metric) for metric in (sweep.metric, *sweep.parts)]
    if sweep.weak is not None:
        weak = sweep.run(["single", "bon", "iad"], agent=sweep.weak)
        panels.append(_by_n(weak, sweep.metric, f"agent {sweep.weak}"))
    return panels


def figure_5(sweep: Sweep) -> list[Panel]:
    """Draw figure 3 for the (weaker) agent with a part of the reward as the verifier. The title labels it an oracle."""
    agent = {} if sweep.weak is None else {"agent": sweep.weak}
    panels = []
    for part in sweep.parts:
        results = sweep.run(["single", "bon", "iad"], verifier=f"oracle:{part}", **agent)
        panels += [_by_n(results, metric, f"verifier oracle:{part}") for metric in dict.fromkeys((sweep.metric, part))]
    return panels


def figure_6(sweep: Sweep) -> list[Panel]:
    """Draw the score by n at low temperatures, where independent proposals hardly differ."""
    panels = []
    for temperature in LOW_TEMPERATURES:
        results = sweep.run(["single", "bon", "iad"], temperature=temperature)
        panels.append(_by_n(results, sweep.metric, f"temperature {temperature:g}"))
    return panels


def figure_7(sweep: Sweep) -> list[Panel]:
    """Draw four panels: sparse and noisy scores at n = 2, self-refine by rounds, and iad with the scalar score."""
    inner = sweep.verifier or "proxy"
    sparse, noisy = (
        {
            place: sweep.run(["bon", "iad"], n=N_OF_FIGURE_7, verifier=f"{kind}:{level}:{inner}")
            for place, level in places
        }
        for kind, places in (("sparse", list(enumerate(SPARSITY))), ("noisy", [(sd, f"{sd:g}") for sd in SDS]))
    )
    refined = sweep.run(["self-refine"])
    informed = sweep.run(["iad"], feedback="scalar")
    return [
        _by_setting(sweep, sparse, f"n = {N_OF_FIGURE_7}, sparse scores", "sparsity", dict(enumerate(SPARSITY))),
        _by_setting(sweep, noisy, f"n = {N_OF_FIGURE_7}, noise on scores", "noise sd"),
        _by_n(refined, sweep.metric, "no verifier", x="rounds"),
        _by_n(informed, sweep.metric, "scalar score as feedback"),
    ]


def figure_8(sweep: Sweep) -> list[Panel]:
    """Draw success by proposals spent, and progress by n for the weak agent on a fifth of the tasks."""
    results = sweep.run(["single", "bon", "iad"])
    config, lines = results.heading.config, dict[str, list[Mark]]()
    for arm in config.arms:
        own = results.records[config.label(arm)]
        spent = [spent_on(record, "proposals") for record in own if record.is_scored]
        if marks := _mark(sum(spent) / max(1, len(spent)), own, SUCCESS):
            lines.setdefault(arm.strategy, []).extend(marks)
    title = f"{results.heading.named(SUCCESS)} by proposals spent"
    panels = [_panel(results, SUCCESS, lines, title, "proposals per episode")]
    if sweep.weak is not None:
        n_tasks = max(1, round(SUBSET * sweep.tasks))
        weak = sweep.run(["bon-sc", "iad"], agent=sweep.weak, tasks=n_tasks)
        panels.append(_by_n(weak, "progress", f"agent {sweep.weak}, {n_tasks} tasks"))
    return panels


def figure_14(sweep: Sweep) -> list[Panel]:
    """Draw the score by n, with one line per level of sparsity."""
    inner = sweep.verifier or "proxy"
    by_level = {level: sweep.run(["bon", "iad"], verifier=f"sparse:{level}:{inner}") for level in SPARSITY}
    return [
        _panel(
            by_level["none"],
            sweep.metric,
            {f"sparsity {level}": _line(results, strategy, sweep.metric) for level, results in by_level.items()},
            f"{strategy}, sparse scores",
        )
        for strategy in ("bon", "iad")
    ]


def feedback_forms(sweep: Sweep) -> list[Panel]:
    """Draw the score of iad by n, with one line per form of feedback. The paper has no such figure."""
    by_form = {form: sweep.run(["iad"], feedback=form) for form in FORMS}
    lines = {form: _line(results, "iad", sweep.metric) for form, results in by_form.items()}
    return [_panel(by_form["none"], sweep.metric, lines, "iad by form of feedback")]


FIGURES: Mapping[str, Draw] = {
    "3": figure_3,
    "5": figure_5,
    "6": figure_6,
    "7": figure_7,
    "8": figure_8,
    "14": figure_14,
    "feedback": feedback_forms,
}
"""The figure's number in the paper, or our own name -> the function that draws it."""


def _mark(x: float, records: Sequence[EpisodeRecord], metric: str) -> list[Mark]:
    """Return the point of some episodes, with the mean and the interval that a table has; no point if none is known."""
    of_task: dict[str, list[float]] = {}
    for one in sorted((one for one in records if one.is_scored), key=lambda one: one.task_id):
        value = getattr(one, metric) if metric in METRICS else one.reward_parts.get(metric)
        if value is not None:
            of_task.setdefault(one.task_id, []).append(value)
    mean = over_tasks(of_task.values(), is_rate=metric == SUCCESS)
    return [] if mean is None else [Mark(x, mean.value, mean.interval_95, sum(map(len, of_task.values())))]


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


def _by_n(results: Results, metric: str, title: str = "", *, x: str = "n") -> Panel:
    lines = {name: _line(results, name, metric) for name in results.heading.config.strategies}
    return _panel(results, metric, lines, title, x)


def _by_setting(
    sweep: Sweep, runs: Mapping[float, Results], title: str, x: str, ticks: Mapping[float, str] | None = None
) -> Panel:
    lines: dict[str, list[Mark]] = {}
    for place, results in runs.items():
        for label, own in results.records.items():
            if marks := _mark(place, own, sweep.metric):
                lines.setdefault(label, []).extend(marks)
    return _panel(next(iter(runs.values())), sweep.metric, lines, title, x, ticks=ticks)


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
    with write_atomically(written[0]) as part:
        part.write_text(json.dumps({"title": title, "panels": points}, indent=2), encoding="utf-8")
    return written
