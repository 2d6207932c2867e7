"""Prints the tables of a run.

`ShortTable` is what `iad compare` shows: the scores, what they cost, and how many tasks are won and lost. `RunTable`
has intervals, all spending and all differences, too: `report.txt`, and `--full`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from iad_policy.errors import ContractError
from iad_policy.ledger.episode_record import NOT_RECORDED
from iad_policy.report.cautions import LOUD, left_out, missing_verdicts
from iad_policy.report.columns import (
    NOTHING,
    Columns,
    bound,
    counted,
    duration,
    figure,
    fitting,
    listed,
    p_value,
    with_interval,
)
from iad_policy.report.compare import Difference
from iad_policy.report.comparison_table import difference_columns, legend, said_of
from iad_policy.report.figures import Figures, Heading
from iad_policy.report.matching import Matched
from iad_policy.report.metrics import StrategySummary
from iad_policy.report.samples import PROGRESS, REWARD, RUN_BUDGET, SUCCESS
from iad_policy.run.config import RunConfig
from iad_policy.types.names import NO_VERIFIER
from iad_policy.types.texts import isolated

NOT_RETRIED = (NOT_RECORDED, ContractError.kind, RUN_BUDGET)
"""Kinds of errors that the same command meets again: without `--ask`, or as long as the code or the budget is what it
is."""


class RunTable:
    """A run's table for rich. Scores and spending share a table if the terminal is wide enough.

    Args:
        heading: The facts shown above the table.
        figures: The summaries, differences and curves of the run.
    """

    def __init__(self, heading: Heading, figures: Figures) -> None:
        self._heading = heading
        self._figures = figures
        self._summaries, self._differences = figures.summaries, figures.differences

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        fit = partial(fitting, width=options.max_width, console=console)
        yield _heading(self._heading, self._summaries.values())
        yield ""
        success = self._heading.named("success").replace(" (", "\n(")
        scores = _score_columns(list(self._summaries.values()), success)
        roles = _roles(self._summaries)
        spent = [*SPENT, USD] if roles else SPENT
        together = fit("", [*scores, *spent], self._summaries)
        if len(together) == 1:
            yield from together
        else:
            yield from fit("", scores, self._summaries)
            yield from fit("Spent, mean per episode", spent, self._summaries)
        if roles:
            yield from fit("Spent by role, mean per episode", LEDGER, roles)
        yield _run_total(self._summaries)
        if self._differences:
            config = self._heading.config
            several = len(config.verifiers_of(config.compared_with)) > 1
            same = f" with the same verifier, else {config.verifier[0]}," if several else ""
            title = f"Difference to {config.compared_with}{same} on the same tasks ({config.why_compared})"
            headings = {SUCCESS: success, PROGRESS: PROGRESS}
            columns = difference_columns(self._differences.values(), headings, tested=[SUCCESS])
            yield from fit(title, [*_baseline_n(config), *columns], self._differences)
        yield from _matched(self._figures, self._heading, fit)
        yield from _curves(self._figures, self._heading)
        yield from _warnings(self._summaries, self._differences)
        yield legend(self._differences.values(), tested=[SUCCESS], sample="seed")


class ShortTable:
    """The lines of a run that a reader needs first, for rich. Alarms and warnings are never left out.

    Args:
        heading: The facts shown above the table.
        figures: The summaries, differences and curves of the run.
    """

    def __init__(self, heading: Heading, figures: Figures) -> None:
        self._heading = heading
        self._figures = figures

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        config, figures = self._heading.config, self._figures
        components = f"{listed('agent', config.agent)}; {listed('verifier', _names(config.verifier))}"
        tasks = f"{counted(self._heading.n_tasks, 'task')}, {listed('seed', config.seed)}"
        yield Text(f"{config.env}: {tasks}; {components}; n = {', '.join(map(str, config.n))}")
        yield from labels(self._heading)
        if config.budget or not config.equal_on().startswith("equal"):
            yield Text(f"Budget: {config.equal_on()}")
        yield from map(Text, config.notes)
        yield ""
        yield from fitting(
            "",
            [*_short_columns(self._heading, figures), *_won_and_lost(config.compared_with, figures.differences)],
            {name: name for name in figures.summaries},
            width=options.max_width,
            console=console,
        )
        yield from _at_the_baselines_spending(figures)
        yield from _warnings(figures.summaries, figures.differences)


def _short_columns(heading: Heading, figures: Figures) -> Columns[str]:
    rows = figures.summaries
    metric = SUCCESS if any(one.success is not None for one in rows.values()) else REWARD
    columns: list[tuple[str, Callable[[str], str]]] = [
        (heading.named(metric).replace(" (", "\n("), lambda name: figure(getattr(rows[name], metric), 3)),
        ("progress", lambda name: figure(rows[name].progress, 3)),
        ("proposals\nper episode", lambda name: _mean_spent(rows[name], "proposals", 1)),
    ]
    if any(one.spent.get("tokens") or one.spent.get("n_unmetered") for one in rows.values()):
        columns.append(("tokens\nper episode", lambda name: _tokens(rows[name].spent, "tokens")))
    if any(one.spent.get("usd") for one in rows.values()):
        columns.append(("usd\nper episode", lambda name: _usd(rows[name].spent)))
    of_rows = [(name, partial(_of_row, rows, cell)) for name, cell in _ended_early(rows.values())]
    return [*columns, *of_rows]


def _of_row(rows: Mapping[str, StrategySummary], cell: Callable[[StrategySummary], str], name: str) -> str:
    return cell(rows[name])


def _won_and_lost(baseline: str, differences: Mapping[str, Difference]) -> Columns[str]:
    found = {name: one.success for name, one in differences.items() if one.success is not None}
    if not found:
        return []
    apart = {name: f"{len(one.won)}:{len(one.lost)}" for name, one in found.items()}
    p = {name: p_value(one.p_holm) for name, one in found.items()}
    return [(f"better:worse\nthan {baseline}", lambda name: apart.get(name, "")), ("p", lambda name: p.get(name, ""))]


def _at_the_baselines_spending(figures: Figures) -> Iterable[RenderableType]:
    """Yield what each strategy reaches at the largest spending of the baseline."""
    yield from _not_matched(figures)
    for one in figures.matched.values():
        reached = {name: at[-1] for name, at in one.at.items()}
        values = ", ".join(
            f"{name} {'not reached' if at is None else f'{at.value:.3f}'}" for name, at in reached.items()
        )
        yield Text(f"At equal {one.axis} ({one.budgets[-1]:,.1f} per episode): {values}.")


def _heading(heading: Heading, rows: Iterable[StrategySummary]) -> RenderableType:
    config = heading.config
    data = f", {isolated(heading.data['name'])} data {heading.data['digest']}" if heading.data else ""
    split = f", split {config.split}" if config.split else ""
    lines = [
        Text.assemble(
            (config.env, "bold"), f"{split}, {counted(heading.n_tasks, 'task')}, {listed('seed', config.seed)}{data}"
        ),
        Text(f"{listed('Agent', config.agent)}; {listed('verifier', _names(config.verifier))}{_others(heading, rows)}"),
        *labels(heading),
        Text(f"Budget: {config.equal_on()}"),
        *map(Text, config.notes),
    ]
    return Group(*lines)


def _others(heading: Heading, rows: Iterable[StrategySummary]) -> str:
    """Return the components of the roles, if the run names any, and the simulator."""
    roles = "".join(f"; {role} {component}" for role, component in heading.config.roles.items())
    return f"{roles}; simulator {heading.simulator_text(rows)}"


def labels(heading: Heading) -> Iterator[Text]:
    """Yield what makes figures unfair, and what is said of the verifiers."""
    for alarm in heading.alarms:
        yield Text(f"*** {alarm} ***", style=LOUD)
    for note in heading.notes:
        yield Text(f"{note[:1].upper()}{note[1:]}" if len(heading.informations) == 1 else note)


def _names(verifiers: Sequence[str]) -> list[str]:
    return [one or NO_VERIFIER for one in verifiers]


def _score_columns(summaries: Sequence[StrategySummary], success: str) -> Columns[StrategySummary]:
    columns: list[tuple[str, Callable[[StrategySummary], str]]] = [
        (success, lambda one: with_interval(one.success, one.success_95)),
        ("progress", lambda one: with_interval(one.progress, one.progress_95)),
        ("reward", lambda one: with_interval(one.reward, one.reward_95)),
        ("grounding\naccuracy", lambda one: figure(one.grounding, 3)),
    ]
    if any(one.unreadable for one in summaries):
        columns.append(("unreadable\nanswers", lambda one: figure(one.unreadable, 3)))
    levels = list(dict.fromkeys(level for one in summaries for level in one.by_difficulty))
    if levels:
        columns.append((f"{success}\n{'/'.join(map(isolated, levels))}", lambda one: "/".join(_at_levels(one, levels))))
    if any(one.evaluation_pass_rate is not None for one in summaries):
        columns.append(("evaluations\npassed", lambda one: figure(one.evaluation_pass_rate, 3)))
    return [*columns, ("n", lambda one: str(one.n_episodes)), *_ended_early(summaries)]


def _ended_early(summaries: Iterable[StrategySummary]) -> Columns[StrategySummary]:
    """Return the columns of episodes that failed or ran out of budget, if there are any."""
    summaries = list(summaries)
    columns: list[tuple[str, Callable[[StrategySummary], str]]] = []
    if any(one.n_errored for one in summaries):
        columns.append(("errored", lambda one: str(one.n_errored)))
    if any(one.n_budget for one in summaries):
        columns.append(("budget\nspent", lambda one: str(one.n_budget)))
    return columns


def _at_levels(one: StrategySummary, levels: Sequence[str]) -> Iterable[str]:
    for level in levels:
        found = one.by_difficulty.get(level)
        yield NOTHING if found is None else figure(found.success, 2)


SPENT: Columns[StrategySummary] = [
    ("proposals", lambda one: _mean_spent(one, "proposals", 1)),
    ("verifications", lambda one: _mean_spent(one, "verifications", 1)),
    ("simulations", lambda one: _mean_spent(one, "simulations", 1)),
    ("tokens", lambda one: _tokens(one.spent, "tokens") if one.n_episodes else NOTHING),
    ("steps", lambda one: figure(one.n_steps, 1)),
    ("seconds\nin calls", lambda one: duration(one.seconds)),
]

USD: tuple[str, Callable[[StrategySummary], str]] = ("usd", lambda one: _usd(one.spent))

LEDGER: Columns[Mapping[str, float]] = [
    ("calls", lambda one: f"{sum(one.get(axis, 0.0) for axis in ('proposals', 'verifications', 'asks')):.1f}"),
    ("prompt\ntokens", lambda one: _tokens(one, "prompt_tokens")),
    ("completion\ntokens", lambda one: _tokens(one, "completion_tokens")),
    ("usd", lambda one: _usd(one)),
    ("seconds\nin calls", lambda one: duration(one.get("seconds", 0.0))),
]


def _baseline_n(config: RunConfig) -> Columns[Difference]:
    """Return the column of the n that each row is compared with, if the baseline has several."""
    if len(config.ns_of(config.compared_with)) < 2:
        return []
    ns = {config.label(arm): arm.n for arm in config.arms}
    return [("to n", lambda one: str(ns[one.baseline]))]


def _curves(figures: Figures, heading: Heading) -> Iterable[RenderableType]:
    """Yield the mean of each curve over n at equal spending, and where curves cross."""
    has_success = any(one.success is not None for one in figures.summaries.values())
    metric = "success" if has_success else "reward"
    comparisons = figures.comparisons(metric)
    if not comparisons:
        return
    yield Text(f"Mean {heading.named(metric)} over the budgets per episode that all curves cover", style="bold")
    for one in comparisons:
        heights = ", ".join(f"{name} {height:.3f}" for name, height in one.areas.items())
        crossed = "; ".join(f"{a} and {b} cross at {at:.3g}" for a, b, at in one.crossings)
        yield Text(f"{one.axis} {one.low:.3g} to {one.high:.3g}: {heights}{f'; {crossed}' if crossed else ''}")
    yield ""


def _run_total(summaries: Mapping[str, StrategySummary]) -> Text:
    """Return what the whole run spent, and how many of its calls were really made."""
    total = {
        axis: sum(one.spent.get(axis, 0.0) * one.n_episodes for one in summaries.values())
        for axis in ("proposals", "verifications", "asks", "tokens", "usd", "n_unpriced", "n_cached")
    }
    n_calls = round(sum(total[axis] for axis in ("proposals", "verifications", "asks")))
    seconds = sum((one.seconds or 0.0) * one.n_episodes for one in summaries.values())
    cached = f" ({round(total['n_cached']):,} answered from the cache)" if total["n_cached"] else ""
    tokens = f", {round(total['tokens']):,} tokens" if total["tokens"] else ""
    paid = f", ${_usd(total)}" if total["usd"] else ""
    return Text(f"The whole run: {n_calls:,} calls{cached}{tokens}{paid}, {duration(seconds)} s inside calls.\n")


def _matched(figures: Figures, heading: Heading, fit: Callable[..., list[RenderableType]]) -> Iterable[RenderableType]:
    """Yield what each strategy reaches at the baseline's spending, and what the baseline's best value costs it."""
    yield from _not_matched(figures)
    for agent, one in figures.matched.items():
        of_agent = f" of {agent}" if len(figures.matched) > 1 else ""
        title = (
            f"{heading.named(one.metric)}{of_agent} at equal {one.axis} per episode: those of {one.baseline} "
            f"with n = {', '.join(f'{n:g}' for n in one.settings)}"
        )
        columns = [
            (f"{budget:,.{0 if one.axis == 'tokens' else 1}f}", partial(_at_budget, matched=one, place=place))
            for place, budget in enumerate(one.budgets)
        ]
        best = max(cost.level for cost in one.costs.values())
        columns.append((f"{one.axis} for\n{best:.3f}", partial(_cost, matched=one)))
        yield from fit(title, columns, {name: name for name in one.at})
        left_out = (
            f"; {counted(one.n_left_out, 'task')} without an episode of every row left out" if one.n_left_out else ""
        )
        yield Text(
            f"Interpolated between the n of each strategy, never extrapolated. In brackets: the difference to "
            f"{one.baseline}. Intervals: paired bootstrap over {counted(one.n_tasks, 'task')}{left_out}.",
            style="dim",
        )
        yield ""


def _not_matched(figures: Figures) -> Iterable[RenderableType]:
    if figures.unmatched:
        yield Text(f"Not compared at equal spending: {figures.unmatched}", style="bold red")
        yield ""


def _at_budget(name: str, *, matched: Matched, place: int) -> str:
    found = matched.at[name][place]
    if found is None:
        return "not reached"
    if name == matched.baseline:
        return f"{found.value:.3f}"
    low, high = (bound(end, "+") for end in found.difference_95)
    return f"{found.value:.3f} ({found.difference:+.3f} [{low},{high}])"


def _cost(name: str, *, matched: Matched) -> str:
    found = matched.costs[name]
    if found.spent is None:
        return "not reached"
    digits = 0 if matched.axis == "tokens" else 1
    low, high = ("..." if end is None else f"{end:,.{digits}f}" for end in (found.low, found.high))
    return f"{found.spent:,.{digits}f} [{low},{high}]"


def _roles(summaries: Mapping[str, StrategySummary]) -> dict[str, Mapping[str, float]]:
    """Return the spending of each role that was called, and of agents and verifiers that are language models."""
    return {
        f"{name}: {role}": axes
        for name, one in summaries.items()
        for role, axes in one.by_role.items()
        if axes.get("asks") or axes.get("prompt_tokens") or axes.get("completion_tokens") or axes.get("n_unpriced")
    }


def _mean_spent(one: StrategySummary, axis: str, digits: int) -> str:
    return f"{one.spent[axis]:{',' if digits == 0 else ''}.{digits}f}" if one.n_episodes else NOTHING


def _total(spent: Mapping[str, float]) -> str:
    """Return how many calls were made in all, and their tokens and dollars where there are any."""
    n_calls = int(sum(spent.get(axis, 0) for axis in ("proposals", "verifications", "asks")))
    n_tokens = int(spent.get("prompt_tokens", 0) + spent.get("completion_tokens", 0))
    parts = [counted(n_calls, "call"), *([f"{n_tokens:,} tokens"] if n_tokens else [])]
    return ", ".join(parts + ([f"${spent['usd']:.4f}"] if spent.get("usd") else []))


def _tokens(spent: Mapping[str, float], axis: str) -> str:
    """Return tokens. What was not reported is not shown as 0."""
    known = f"{spent.get(axis, 0.0):,.0f}"
    if spent.get("n_unmetered"):
        return f"{known} + unmetered" if spent.get(axis) else "unmetered"
    return known


def _usd(spent: Mapping[str, float]) -> str:
    """Return dollars. An unknown price is not shown as 0."""
    usd, is_unpriced = spent.get("usd", 0.0), bool(spent.get("n_unpriced"))
    if is_unpriced:
        return f"{usd:.4f} + unpriced" if usd else "unpriced"
    return f"{usd:.4f}"


def _warnings(summaries: Mapping[str, StrategySummary], differences: Mapping[str, Difference]) -> Iterable[Text]:
    yield from said_of(differences)
    errored = {name: one for name, one in summaries.items() if one.n_errored}
    if errored:
        spent = {name: f", which spent {_total(one.spent_errored)}" for name, one in errored.items()}
        said = left_out("EPISODES", {name: one.errors for name, one in errored.items()}, spent)
        can_retry = any(kind not in NOT_RETRIED for one in errored.values() for kind in one.errors)
        again = " Run the same command again to retry them." if can_retry else ""
        yield Text(f"{said}{again}", style=LOUD)
    missing = missing_verdicts({name: one.n_failed_verdicts for name, one in summaries.items()})
    if missing:
        yield Text(missing, style=LOUD)
