"""Prints advice: what the pilot shows, what further tasks would show, and what to take at which price."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from iad_policy.report.advice.choice import Advice, PricedChoice, PriceStep
from iad_policy.report.advice.evidence import Diversity, PilotUptake, Selection
from iad_policy.report.advice.prediction import BETWEEN, MODEL, PILOT, TREND, OptionForecast, RunnableOption
from iad_policy.report.columns import NOTHING, Columns, counted, fitting, with_interval
from iad_policy.report.comparison_table import LOUD, few_tasks
from iad_policy.report.statistics import Interval
from iad_policy.report.table import labels
from iad_policy.types.texts import isolated

MANY = 100_000
"""Number of tasks above which a difference counts as not to be told."""
SOURCES = {
    PILOT: "pilot: n that was run, or fewer; nothing is assumed",
    BETWEEN: "between: on a straight line over log n between two n that were run",
    MODEL: "model: larger n, from how often attempts are right and how well they are selected",
    TREND: "trend: larger n, from no further change to the last change per doubling of n",
}
AS_RUN = "pilot: n that was run; nothing is assumed"
"""What `pilot` means for whole episodes."""


class AdviceTable:
    """Advice for rich.

    Args:
        advice: The advice.
        name: Name of the run.
    """

    def __init__(self, advice: Advice, name: str) -> None:
        self._advice = advice
        self._name = name

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        advice, pilot = self._advice, self._advice.pilot
        split = f", split {isolated(pilot.split)}" if pilot.split else ""
        yield Text.assemble((isolated(pilot.env), "bold"), f"{split}, agent {isolated(pilot.agent)}")
        left_out = f" ({counted(pilot.n_left_out, 'other')} left out: not every strategy has them)"
        yield Text(
            f"Pilot: {counted(len(pilot.tasks), 'task')} of {isolated(self._name)}{left_out * bool(pilot.n_left_out)}"
        )
        if pilot.heading is not None:
            yield from labels(pilot.heading)
        yield ""
        yield from self._shown()
        yield Text(f"On {counted(advice.n_tasks, 'further task')} like these, with 95 % intervals", style="bold")
        rows = {f"{isolated(option.line)} {option.n}": one for option, one in advice.predictions.items()}
        yield from fitting("", self._columns(), rows, width=width, console=console, names="strategy, n")
        sources = SOURCES if pilot.one_decision else {**SOURCES, PILOT: AS_RUN}
        for source in dict.fromkeys(one.source for one in rows.values()):
            yield Text(sources[source], style="dim")
        yield ""
        if advice.steps:
            yield Text("What to take, by what a success is worth", style="bold")
            steps = {self._prices(place): one for place, one in enumerate(advice.steps)}
            yield from fitting(
                "", _STEP_COLUMNS, steps, width=width, console=console, names=f"{pilot.axis} per success"
            )
        unsure = [one for one in (BETWEEN, TREND) if any(own.source == one for own in advice.predictions.values())]
        if unsure:
            yield Text(f"Rows from {' and '.join(unsure)} are no reason to choose: run these n to know them.")
        if any(one.knows_gold for one in pilot.lines.values()):
            yield Text("Rows whose verifier reads gold are for diagnosis. They are never what to take.")
        if advice.choice is not None:
            yield Text(self._choice(advice.choice))
        yield from self._warnings()

    def _shown(self) -> Iterator[Text | Table | str]:
        found = self._advice.evidence
        if not self._advice.pilot.one_decision:
            yield Text(
                "Tasks take several decisions here, so no single candidate decides an episode. What follows is read "
                "from whole episodes."
            )
            yield ""
            return
        yield Text("What the pilot shows", style="bold")
        rows = Table.grid(padding=(0, 2))
        if found.diversity is None:
            rows.add_row("diversity", "not known: add bon and bon-sc with n of 4 or more to the pilot")
        else:
            rows.add_row("diversity", Text(_diversity(found.diversity)))
        for selection in found.selection:
            rows.add_row("selection", Text(_selection(selection)))
        for uptake in found.uptake:
            rows.add_row("refining" if uptake.is_told else "repeating", Text(_uptake(uptake)))
        if found.diversity is not None and not any(one.is_told for one in found.uptake):
            rows.add_row("refining", "not known: add iad with n of 4 or more to the pilot")
        yield rows
        yield ""

    def _columns(self) -> Columns[OptionForecast]:
        axis = self._advice.pilot.axis
        return [
            ("success", lambda one: with_interval(one.success, one.success_95)),
            (f"{axis} per episode", lambda one: _with_amounts(one.spent, one.spent_95)),
            (f"{axis} per success", lambda one: amount(one.spent / one.success) if one.success > 0.005 else NOTHING),
            ("from", lambda one: one.source),
        ]

    def _prices(self, place: int) -> str:
        """Return the prices of a success at which a step is the best."""
        steps = self._advice.steps
        low = amount(steps[place].above)
        if place + 1 == len(steps):
            return f"{low} or more" if place else "any"
        high = amount(steps[place + 1].above)
        return f"{low} to {high}" if place else f"up to {high}"

    def _choice(self, choice: PricedChoice) -> str:
        axis = self._advice.pilot.axis
        text = (
            f"If a success is worth {amount(choice.worth)} {axis}: take {_named(choice.option)}, the best in "
            f"{choice.share_best:.0%} of the draws."
        )
        if choice.next is None:
            return text
        return f"{text} Next is {_named(choice.next)}; {_tasks(choice.n_to_settle)} tasks would settle which."

    def _warnings(self) -> Iterator[Text]:
        pilot = self._advice.pilot
        few = few_tasks(len(pilot.tasks))
        if few:
            yield Text(few, style=LOUD)
        if pilot.split == "test":
            yield Text(
                "TEST SPLIT: this reads the true results of the candidates. What is chosen by it must be measured on "
                "other tasks.",
                style=LOUD,
            )


def amount(value: float) -> str:
    """Return a spending with three digits, thousands separated."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


_STEP_COLUMNS: Columns[PriceStep] = [
    ("take", lambda one: _named(one.option)),
    ("gain", lambda one: NOTHING if one.gain is None else f"{one.gain:+.3f}"),
    ("gain > 0 in", lambda one: NOTHING if one.share_gaining is None else f"{one.share_gaining:.0%}"),
    ("tasks to tell", lambda one: NOTHING if one.gain is None else _tasks(one.n_to_tell)),
]
"""Of the table of prices: the gain in success over the row before, how sure it is, and what would make it so."""


def _with_amounts(value: float, interval: Interval) -> str:
    low, high = amount(interval.low), amount(interval.high)
    return amount(value) if low == high else f"{amount(value)} [{low}, {high}]"


def _named(option: RunnableOption) -> str:
    return isolated(option.line) if option.line == "single" else f"{isolated(option.line)} with n = {option.n}"


def _tasks(n: int | None) -> str:
    return f"> {MANY:,}" if n is None or n > MANY else f"{n:,}"


def _diversity(one: Diversity) -> str:
    at = ", ".join(f"{value:.3f} of {k}" for k, value in one.pass_at.items() if k in (1, 2, one.n))
    low, high = one.pass_95
    new = f"{one.differing:.0%} of the further ones are new actions"
    return f"solved by one of k attempts: {at} [{low:.3f}, {high:.3f}]; {new}"


def _selection(one: Selection) -> str:
    if one.auc is None:
        area = f"AUC cannot be told ({one.n_right} right, {one.n_wrong} wrong)"
    else:
        low, high = one.auc.interval
        area = f"AUC {one.auc.value:.3f} [{low:.3f}, {high:.3f}]"
    gap = "" if one.share_of_gap is None else f", {one.share_of_gap:.0%} of the gap to the best attempt"
    return f"{isolated(one.line)}: {area}; it takes {one.best:.3f}{gap}"


def _uptake(one: PilotUptake) -> str:
    told = "with feedback" if one.is_told else "without feedback"
    right = "" if one.right is None else f"; after wrong ones only, {one.right:.1%} of {one.n_open} are right"
    return f"{isolated(one.line)}: of {one.n} attempts {told}, {one.differing:.0%} are new actions{right}"
