"""The table of a run: what it is, strategy by strategy what was reached and spent, and the differences."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from iad_policy.evaluation.config import RunConfig
from iad_policy.evaluation.episodes import EpisodeRecord
from iad_policy.evaluation.metrics import Difference, StrategySummary, differences, summarise
from iad_policy.evaluation.statistics import N_RESAMPLES, Interval

N_RESAMPLES_LIVE = 1000
NOTHING = "-"
LABELS = {
    "oracle": "oracle verifier: an upper bound, reads the answer",
    "proxy": "proxy verifier: executes, parses or matches; reads no answer",
    "self": "self verifier: a language model judges, seeing what the agent sees",
    "learned": "learned verifier: a trained value model",
    "": "no verifier",
}

Cell = Callable[[StrategySummary], str]


@dataclass(frozen=True, slots=True)
class Heading:
    """What stands above the table.

    Attributes:
        config: The run's configuration.
        information: The verifier's label, "" without one.
        n_tasks: Tasks that are run.
        data: Name and digest of the data, if the environment has any.
    """

    config: RunConfig
    information: str
    n_tasks: int
    data: Mapping[str, str]


class Results:
    """The results so far, as figures and as a table for the terminal.

    Args:
        heading: What the run is.
    """

    def __init__(self, heading: Heading) -> None:
        self.heading = heading
        self.records: dict[str, list[EpisodeRecord]] = {name: [] for name in heading.config.strategies}

    def add(self, record: EpisodeRecord) -> None:
        """Take in an episode."""
        self.records[record.strategy].append(record)

    @property
    def n_episodes(self) -> int:
        """Episodes so far."""
        return sum(map(len, self.records.values()))

    @property
    def n_expected(self) -> int:
        """Episodes of the whole run."""
        return self.heading.n_tasks * len(self.records)

    def summaries(self, n_resamples: int = N_RESAMPLES) -> dict[str, StrategySummary]:
        """Return every strategy's row."""
        seed = self.heading.config.seed
        return {name: summarise(own, seed=seed, n_resamples=n_resamples) for name, own in self.records.items()}

    def differences(self, n_resamples: int = N_RESAMPLES) -> dict[str, Difference]:
        """Return every other strategy's difference to the baseline."""
        config = self.heading.config
        return differences(self.records, config.compared_with, seed=config.seed, n_resamples=n_resamples)

    def as_json(self) -> dict[str, Any]:
        """Return the content of `summary.json`."""
        config = self.heading.config
        return {
            "env": config.env,
            "split": config.split,
            "seed": config.seed,
            "n_tasks": self.heading.n_tasks,
            "data": dict(self.heading.data),
            "agent": config.agent,
            "verifier": config.verifier,
            "information": self.heading.information,
            "label": LABELS[self.heading.information],
            "equal_on": config.equal_on(),
            "baseline": config.compared_with,
            "is_complete": self.n_episodes == self.n_expected,
            "strategies": {name: one.as_json() for name, one in self.summaries().items()},
            "differences": {name: one.as_json() for name, one in self.differences().items()},
        }

    def renderable(self, *, is_final: bool) -> "Board":
        """Return what the terminal shows."""
        return Board(self, N_RESAMPLES if is_final else N_RESAMPLES_LIVE)


class Board:
    """The results as they are drawn: scores and spending side by side where the terminal is wide enough."""

    def __init__(self, results: Results, n_resamples: int) -> None:
        self._results = results
        self._summaries = results.summaries(n_resamples)
        self._differences = results.differences(n_resamples)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield _heading(self._results.heading)
        scores, spent = _score_columns(list(self._summaries.values())), SPENT
        side_by_side = _table("", scores | spent, self._summaries)
        if Measurement.get(console, options, side_by_side).maximum <= options.max_width:
            yield side_by_side
        else:
            yield _table("", scores, self._summaries)
            yield _table("Spent, mean per episode", spent, self._summaries)
        if self._differences:
            yield _difference_table(self._differences, self._results.heading.config.compared_with)
        yield from _warnings(self._summaries)


def _heading(heading: Heading) -> RenderableType:
    config = heading.config
    data = f", {heading.data['name']} data {heading.data['digest']}" if heading.data else ""
    split = f", split {config.split}" if config.split else ""
    lines = [
        Text.assemble((config.env, "bold"), f"{split}, {_count(heading.n_tasks, 'task')}, seed {config.seed}{data}"),
        Text(f"Agent {config.agent}; verifier {config.verifier or 'none'}"),
        _label(heading.information),
        Text(f"Budget: {config.equal_on()}"),
    ]
    return Group(*lines)


def _label(information: str) -> Text:
    if information == "oracle":
        return Text(f"*** {LABELS[information]} ***", style="bold red")
    return Text(LABELS[information][:1].upper() + LABELS[information][1:])


def _score_columns(summaries: Sequence[StrategySummary]) -> dict[str, Cell]:
    columns: dict[str, Cell] = {
        "success": lambda one: _with_interval(one.success, one.success_95),
        "progress": lambda one: _with_interval(one.progress, one.progress_95),
        "reward": lambda one: _with_interval(one.reward, one.reward_95),
        "grounding\naccuracy": lambda one: _figure(one.grounding, 3),
    }
    if any(one.n_easy or one.n_hard for one in summaries):
        columns["success\neasy/hard"] = lambda one: f"{_figure(one.success_easy, 2)}/{_figure(one.success_hard, 2)}"
    columns["n"] = lambda one: str(one.n_episodes)
    if any(one.n_errored for one in summaries):
        columns["errored"] = lambda one: str(one.n_errored)
    if any(one.n_budget for one in summaries):
        columns["budget\nspent"] = lambda one: str(one.n_budget)
    return columns


SPENT: dict[str, Cell] = {
    "proposals": lambda one: _figure(one.spent["proposals"], 1),
    "verifications": lambda one: _figure(one.spent["verifications"], 1),
    "simulations": lambda one: _figure(one.spent["simulations"], 1),
    "tokens": lambda one: f"{one.spent['tokens']:,.0f}",
    "steps": lambda one: _figure(one.n_steps, 1),
    "seconds": lambda one: _seconds(one.wall_s),
}


def _table(title: str, columns: Mapping[str, Cell], summaries: Mapping[str, StrategySummary]) -> Table:
    table = _empty(title, list(columns))
    for name, one in summaries.items():
        table.add_row(name, *(cell(one) for cell in columns.values()))
    return table


def _difference_table(found: Mapping[str, Difference], baseline: str) -> Table:
    columns = ["success", "won:lost", "p (Holm)", "MDE", "progress", "MDE", "pairs"]
    table = _empty(f"Difference to {baseline} on the same tasks", columns)
    for name, one in found.items():
        table.add_row(
            name,
            _with_interval(one.success, one.success_95, signed=True),
            f"{one.n_better}:{one.n_worse}",
            NOTHING if one.p_holm is None else f"{one.p_holm:.3f}",
            _figure(one.detectable_success, 3),
            _with_interval(one.progress, one.progress_95, signed=True),
            _figure(one.detectable_progress, 3),
            str(one.n_pairs),
        )
    return table


def _warnings(summaries: Mapping[str, StrategySummary]) -> Iterable[Text]:
    errored = {name: one.n_errored for name, one in summaries.items() if one.n_errored}
    if errored:
        said = ", ".join(f"{n} of {name}" for name, n in errored.items())
        yield Text(
            f"ERRORED EPISODES ARE LEFT OUT of every mean: {said}. The same command tries them again.", style="bold red"
        )
    failed = {name: one.n_failed_verdicts for name, one in summaries.items() if one.n_failed_verdicts}
    if failed:
        said = ", ".join(f"{n} in {name}" for name, n in failed.items())
        yield Text(f"VERDICTS ARE MISSING because the verifier failed: {said}.", style="bold red")
    yield Text(
        "[low,high]: 95 % intervals (success: Wilson, else bootstrap over tasks). p: exact McNemar test on success. "
        "MDE: the smallest true difference that so many tasks show with 80 % power.",
        style="dim",
    )


def _empty(title: str, columns: Sequence[str]) -> Table:
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("strategy", overflow="fold", style="bold", vertical="bottom")
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True, vertical="bottom")
    return table


def _with_interval(value: float | None, interval: Interval | None, *, signed: bool = False) -> str:
    if value is None or interval is None:
        return _figure(value, 3)
    sign = "+" if signed else ""
    return f"{value:{sign}.3f} [{_bound(interval.low, sign)},{_bound(interval.high, sign)}]"


def _bound(value: float, sign: str) -> str:
    """Return two digits, without the zero that all of them would begin with."""
    return f"{value:{sign}.2f}".replace("0.", ".", 1) if abs(value) < 0.995 else f"{value:{sign}.2f}"


def _figure(value: float | None, digits: int) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def _seconds(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}" if value < 1 else f"{value:.1f}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
