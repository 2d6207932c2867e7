"""Prints advice: what the pilot shows, what further tasks would show, and what to take at which price."""

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from iad_policy.report.advice.choice import Advice, PricedChoice, PriceStep
from iad_policy.report.advice.evidence import PilotEvidence
from iad_policy.report.advice.pilot import Pilot
from iad_policy.report.advice.prediction import BETWEEN, MODEL, PILOT, TREND, OptionForecast, RunnableOption
from iad_policy.report.columns import NOTHING, Columns, counted, fitting, with_interval
from iad_policy.report.comparison_table import FEW, LOUD, few_tasks
from iad_policy.report.figures import amount
from iad_policy.report.samples import SUCCESS
from iad_policy.report.table import labels
from iad_policy.types.plan import REFINE, SAMPLE, STOP, AdaptivePlan
from iad_policy.types.texts import isolated

MOVES = {SAMPLE: "sample", REFINE: "refine", STOP: "stop"}
SHOWN_CANDIDATES, SHOWN_OPTIONS = 4, 3
MANY_TASKS = 1000
"""A difference that takes more tasks counts as not to be told."""
SOURCES = {
    PILOT: "pilot: n that was run, or smaller; assumes only that further tasks are alike",
    BETWEEN: "between: on a straight line over log n between two n that were run",
    MODEL: "model: larger n; each doubling adds .5 to 1.1 times what the last one added (votes: up to 1.6)",
    TREND: "trend: larger n; each doubling adds 0 to 1 times what the last one added",
}


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
        advice, pilot = self._advice, self._advice.pilot
        fit = partial(fitting, "", width=options.max_width, console=console)
        split = f", split {isolated(pilot.split)}" if pilot.split else ""
        yield Text.assemble((isolated(pilot.env), "bold"), f"{split}, agent {isolated(pilot.agent)}")
        left_out = f" ({counted(pilot.n_left_out, 'other')} left out: not every strategy has them)"
        yield Text(
            f"Pilot: {counted(len(pilot.tasks), 'task')} of {isolated(self._name)}{left_out * bool(pilot.n_left_out)}"
        )
        if pilot.heading is not None:
            yield from labels(pilot.heading)
        yield ""
        if pilot.one_decision:
            yield Text("What the pilot shows", style="bold")
            rows = Table.grid(padding=(0, 2))
            for name, said in _shown(advice.evidence, pilot.metric):
                rows.add_row(name, Text(said))
            yield rows
        else:
            yield Text(
                "Tasks take several decisions here, so no single candidate decides an episode. What follows is read "
                "from whole episodes."
            )
        yield ""
        yield Text(f"On {counted(advice.n_tasks, 'further task')} like these, with 95 % intervals", style="bold")
        found = {f"{isolated(option.line)} {option.n}": one for option, one in advice.predictions.items()}
        unit = "success" if pilot.metric == SUCCESS else "reward of 1"
        yield from fit(_columns(pilot), found, names="strategy, n")
        for source in dict.fromkeys(one.source for one in found.values()):
            as_run = source == PILOT and not pilot.one_decision
            yield Text(SOURCES[source].replace(", or smaller", "") if as_run else SOURCES[source], style="dim")
        yield ""
        few = few_tasks(len(pilot.tasks))
        if advice.steps and not few:
            yield Text(f"What to take, by what a {unit} is worth", style="bold")
            edges, ranges = [amount(one.above) for one in advice.steps[1:]], ["any"]
            if edges:
                ranges = [f"up to {edges[0]}", *map(" to ".join, pairwise(edges)), f"{edges[-1]} or more"]
            steps = dict(zip(ranges, advice.steps, strict=True))
            # The gain in success over the row before, how sure it is, and what would make it so.
            columns: Columns[PriceStep] = [
                ("take", lambda one: _named(one.option)),
                ("gain", lambda one: NOTHING if one.gain is None else f"{one.gain:+.3f}"),
                ("gain > 0 in", lambda one: NOTHING if one.share_gaining is None else f"{one.share_gaining:.0%}"),
                ("tasks to tell", lambda one: NOTHING if one.gain is None else _tasks(one.n_to_tell)),
                (
                    "as good, same cost",
                    lambda one: ", ".join(f"{isolated(o.line)} {o.n}" for o in one.as_good) or NOTHING,
                ),
            ]
            yield from fit(columns, steps, names=f"{pilot.axis} per {unit}")
        unsure = [one for one in (BETWEEN, TREND) if any(own.source == one for own in found.values())]
        given = (own for line in pilot.lines.values() for own in line.success.values())
        if pilot.metric == SUCCESS and not any(map(any, (own.values() for own in given))):
            yield Text("No episode of the pilot succeeds. If rewards say how well a task is solved: --metric reward.")
        if unsure:
            yield Text(f"Rows from {' and '.join(unsure)} are no reason to choose: run these n to know them.")
        if any(one.knows_gold for one in pilot.lines.values()):
            yield Text("Rows whose verifier reads gold are for diagnosis. They are never what to take.")
        if (choice := advice.choice) is not None:
            said = _said(choice, len(pilot.tasks))
            yield Text(f"If a {unit} is worth {amount(choice.worth)} {pilot.axis}: {said}")
        if few:
            yield Text(f"{few} Which option pays at which price is said from {FEW} on.", style=LOUD)
        if pilot.split == "test":
            yield Text(
                "TEST SPLIT: this reads the true results of the candidates. What is chosen by it must be measured on "
                "other tasks.",
                style=LOUD,
            )


class PlanTable:
    """A plan for rich: what to do by the incumbent's score, and what that gives.

    Args:
        plan: The plan.
        name: Name of its file.
    """

    def __init__(self, plan: AdaptivePlan, name: str) -> None:
        self._plan = plan
        self._name = name

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        plan, pilot = self._plan, self._plan.pilot
        yield Text(f"Plan for {isolated(plan.env)}, agent {isolated(plan.agent)}, verifier {isolated(plan.verifier)}")
        yield Text(
            f"From {counted(int(pilot['tasks']), 'task')} that spent {amount(pilot['spent'])} {plan.axis}. "
            f"{f'A success is worth {amount(plan.worth)}. ' * bool(plan.worth)}A sample costs "
            f"{amount(pilot['sample_costs'])}, a refinement {amount(pilot['refinement_costs'])}."
        )
        edges, ranges = [f"{edge:.3g}" for edge in plan.edges], ["any score"]
        if edges:
            between = (f"{low} to {high}" for low, high in pairwise(edges))
            ranges = [f"score below {edges[0]}", *between, f"{edges[-1]} or more"]
        rows = {row: letters for row, letters in plan.rows.items() if sum(map(int, row.split(","))) <= SHOWN_CANDIDATES}
        columns: Columns[str] = [
            (name, lambda letters, place=place: MOVES[letters[place]])  # type: ignore[misc]
            for place, name in enumerate(ranges)
        ]
        named = {row.replace(",", " + "): letters for row, letters in rows.items()}
        yield from fitting("", columns, named, names="samples + refinements", width=options.max_width, console=console)
        yield Text(
            f"The file has the rows for more candidates, up to {plan.n}; without a row it stops. Measured on tasks "
            f"that the plan was not made from: success {plan.success:.3f}, {amount(plan.spent)} {plan.axis}."
        )
        if plan.share < 1:
            yield Text(
                f"So that the mean spending is met, {1 - plan.share:.0%} of the decisions follow a cheaper table of "
                "the file."
            )
        if plan.only_samples:
            yield Text(f"It only samples: {plan.only_samples}.")
        else:
            gain, error = pilot["gain_of_refining"], pilot["standard_error"]
            yield Text(f"Refining adds {gain:+.3f} successes per decision there (standard error {error:.3f}).")
        yield Text(f"Use it: iad compare ... --strategies adaptive --strategy-arg adaptive.plan={isolated(self._name)}")


def _shown(found: PilotEvidence, metric: str) -> Iterator[tuple[str, str]]:
    """Yield what the attempts show: its name, and its figures in words."""
    best, wrong, right = "solved by at least one of k attempts", "only wrong ones", "right"
    if metric != SUCCESS:
        best, wrong, right = f"{metric} of the best of k attempts", "no full reward", "better than all before"
    if (one := found.diversity) is None:
        yield "diversity", "not known: add bon and bon-sc with n of 4 or more to the pilot"
    else:
        at = ", ".join(f"{value:.3f} (k={k})" for k, value in one.pass_at.items() if k in (1, 2, one.n))
        new = f"{one.differing:.0%} of the attempts after the first are new actions"
        low, high = one.pass_95
        yield "diversity", f"{best}: {at} [{low:.3f}, {high:.3f}]; {new}"
        more = one.pass_at[one.n] - one.pass_at[1]
        yield "", f"a perfect verifier of {one.n} attempts adds {more:+.3f}; no other adds more"
    for selected in found.selection:
        area = f"AUC cannot be told ({selected.n_right} right, {selected.n_wrong} wrong)"
        if selected.auc is not None:
            low, high = selected.auc.interval
            area = f"AUC {selected.auc.value:.3f} [{low:.3f}, {high:.3f}]"
        share = selected.share_of_gap
        gap = "" if share is None else f", {share:.0%} of the gap between one attempt and the best"
        yield "selection", f"{isolated(selected.line)}: {area}; its choices reach {selected.best:.3f}{gap}"
        if (fitted := selected.calibration) is not None:
            before = "its scores are no chances of success"
            if fitted.error_before is not None:
                before = f"as chances of success its scores are off by {fitted.error_before:.3f} on average"
            name = isolated(f"calibrated:{fitted.offset:.3g}:{fitted.slope:.3g}:{selected.verifier}")
            yield "calibration", f"{isolated(selected.line)}: {before}; those of {name} are off by {fitted.error:.3f}"
    for told in found.uptake:
        how = f"{told.n} attempts {'with' if told.is_told else 'without'} feedback"
        after = ""
        if told.right is not None:
            after = f"; of the {told.n_open} that followed {wrong}, {told.right:.1%} are {right}"
        name = "refining" if told.is_told else "repeating"
        yield name, f"{isolated(told.line)}: of {how}, {told.differing:.0%} are new actions{after}"
    if found.diversity is not None and not any(one.is_told for one in found.uptake):
        yield "refining", "not known: add iad with n of 4 or more to the pilot"


def _columns(pilot: Pilot) -> Columns[OptionForecast]:
    axis = pilot.axis

    def spent(one: OptionForecast) -> str:
        low, high = map(amount, one.spent_95)
        return amount(one.spent) if low == high else f"{amount(one.spent)} [{low}, {high}]"

    return [
        (pilot.metric, lambda one: with_interval(one.success, one.success_95)),
        (f"{axis} per episode", spent),
        (
            f"{axis} per {pilot.metric}",
            lambda one: amount(one.spent / one.success) if one.success > 0.005 else NOTHING,
        ),
        ("from", lambda one: one.source),
    ]


def _named(option: RunnableOption) -> str:
    return isolated(option.line) if option.line == "single" else f"{isolated(option.line)} with n = {option.n}"


def _said(choice: PricedChoice, n_tasks: int) -> str:
    """Return what to take in words, and which options can't be told from it."""
    taken, tasks = _named(choice.option), f"these {counted(n_tasks, 'task')}"
    if len(choice.as_good) == 1:
        return f"take {taken}. No other option is as good on {tasks}."
    others = [one for one in choice.as_good if one != choice.option]
    named = list(map(_named, others[:SHOWN_OPTIONS]))
    if more := len(others) - len(named):
        named.append(counted(more, "other option"))
    text = f"take {taken}, the cheapest. {tasks.capitalize()} can't tell it from {', '.join(named)}."
    if choice.option == choice.best or n_tasks < FEW:
        return text
    return f"{text} To tell it from {_named(choice.best)} takes {_tasks(choice.n_to_tell, 'more than ')} tasks."


def _tasks(n: int | None, more: str = "> ") -> str:
    return f"{more}{MANY_TASKS:,}" if n is None or n > MANY_TASKS else f"{n:,}"
