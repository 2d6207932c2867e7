"""Prints the tables of a run.

`ShortTable` is what `iad compare` shows: the scores, what they cost, and how many tasks are won and lost. `RunTable`
has intervals, all spending, all differences and why tasks failed, too: `report.txt`, and `--full`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from iad_policy.errors import ContractError
from iad_policy.ledger.episode_record import NOT_RECORDED
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
from iad_policy.report.comparison_table import (
    LOUD,
    difference_columns,
    failed_tasks,
    flaky_tasks,
    left_out,
    legend,
    missing_verdicts,
    pass_columns,
    said_of,
)
from iad_policy.report.figures import Figures, Heading
from iad_policy.report.matching import AtBudget, Matched
from iad_policy.report.metrics import LevelSummary, StrategySummary
from iad_policy.report.samples import PROGRESS, REWARD, RUN_BUDGET, SUCCESS
from iad_policy.types.names import NO_VERIFIER, PERFECT
from iad_policy.types.texts import isolated

CALLS = ("proposals", "verifications", "asks")
SPENT: Columns[StrategySummary] = [
    ("proposals", lambda one: _mean_spent(one, "proposals")),
    ("verifications", lambda one: _mean_spent(one, "verifications")),
    ("simulations", lambda one: _mean_spent(one, "simulations")),
    ("tokens", lambda one: _tokens(one.spent, "tokens") if one.n_episodes else NOTHING),
    ("steps", lambda one: figure(one.n_steps, 1)),
    ("seconds\nin calls", lambda one: duration(one.seconds)),
]


class RunTable:
    """A run's table for rich. Scores and spending share a table if the terminal is wide enough.

    Args:
        heading: The facts shown above the table.
        figures: The summaries, differences and curves of the run.
    """

    def __init__(self, heading: Heading, figures: Figures) -> None:
        self._heading = heading
        self._figures = figures

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heading, config = self._heading, self._heading.config
        summaries, differences = self._figures.summaries, self._figures.differences
        fit = partial(fitting, width=options.max_width, console=console)
        data = f", {isolated(heading.data['name'])} data {heading.data['digest']}" if heading.data else ""
        split = f", split {config.split}" if config.split else ""
        tasks = f"{counted(heading.n_tasks, 'task')}, {listed('seed', config.seed)}"
        yield Text.assemble((config.env, "bold"), f"{split}, {tasks}{data}")
        roles = "".join(f"; {role} {component}" for role, component in config.roles.items())
        simulator = heading.simulator_text(summaries.values())
        yield Text(f"{_components(heading, 'Agent')}{roles}; simulator {simulator}")
        yield from labels(heading)
        yield Text(f"Budget: {config.equal_on()}")
        yield from map(Text, config.notes)
        yield ""
        success = heading.named(SUCCESS).replace(" (", "\n(")
        scores = _score_columns(list(summaries.values()), success)
        of_roles = {  # of each role that was called, and of agents and verifiers that are language models
            f"{name}: {role}": axes
            for name, one in summaries.items()
            for role, axes in one.by_role.items()
            if any(axes.get(axis) for axis in ("asks", "prompt_tokens", "completion_tokens", "n_unpriced"))
        }
        spent = [*SPENT, ("usd", lambda one: _usd(one.spent))] if of_roles else SPENT
        together = fit("", [*scores, *spent], summaries)
        if len(together) == 1:
            yield from together
        else:
            yield from fit("", scores, summaries)
            yield from fit("Spent, mean per episode", spent, summaries)
        yield from _passes(self._figures, fit, n_names=None)
        if of_roles:
            ledger: Columns[Mapping[str, float]] = [
                ("calls", lambda one: f"{sum(one.get(axis, 0.0) for axis in CALLS):.1f}"),
                ("prompt\ntokens", lambda one: _tokens(one, "prompt_tokens")),
                ("completion\ntokens", lambda one: _tokens(one, "completion_tokens")),
                ("usd", lambda one: _usd(one)),
                ("seconds\nin calls", lambda one: duration(one.get("seconds", 0.0))),
            ]
            yield from fit("Spent by role, mean per episode", ledger, of_roles)
        yield _run_total(summaries.values())
        if differences:
            several = config.baseline_row is None and len(config.verifiers_of(config.compared_with)) > 1
            same = f" with the same verifier, else {config.verifier[0]}," if several else ""
            title = f"Difference to {config.baseline_name}{same} on the same tasks ({config.why_compared})"
            headings = {SUCCESS: success, PROGRESS: PROGRESS}
            columns = difference_columns(differences.values(), headings, tested=[SUCCESS])
            if config.baseline_row is None and len(config.ns_of(config.compared_with)) > 1:
                ns = {config.label(arm): arm.n for arm in config.arms}
                columns = [("to n", lambda one: str(ns[one.baseline])), *columns]
            yield from fit(title, columns, differences)
        yield from _not_matched(self._figures)
        for agent, one in self._figures.matched.items():
            of_agent = f" of {agent}" if len(self._figures.matched) > 1 else ""
            yield from _matched(one, f"{heading.named(one.metric)}{of_agent}", fit)
        metric = SUCCESS if any(one.success is not None for one in summaries.values()) else REWARD
        if comparisons := self._figures.comparisons(metric):
            yield Text(f"Mean {heading.named(metric)} over the budgets per episode that all curves cover", style="bold")
            for curve in comparisons:
                heights = ", ".join(f"{name} {height:.3f}" for name, height in curve.areas.items())
                crossed = "".join(f"; {a} and {b} cross at {at:.3g}" for a, b, at in curve.crossings)
                yield Text(f"{curve.axis} {curve.low:.3g} to {curve.high:.3g}: {heights}{crossed}")
            yield ""
        yield from failed_tasks(self._figures.failed)
        yield from _warnings(self._figures)
        yield legend(differences.values(), tested=[SUCCESS], sample="seed")


class ShortTable(RunTable):
    """The lines of a run that a reader needs first, for rich. Alarms and warnings are never left out."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        heading, config, figures = self._heading, self._heading.config, self._figures
        tasks = f"{counted(heading.n_tasks, 'task')}, {listed('seed', config.seed)}"
        yield Text(f"{config.env}: {tasks}; {_components(heading, 'agent')}; n = {', '.join(map(str, config.n))}")
        yield from labels(heading)
        simulator = heading.simulator_text(figures.summaries.values())
        if simulator != PERFECT:
            yield Text(f"Simulator: {isolated(simulator)}")
        if config.budget or not config.equal_on().startswith("equal"):
            yield Text(f"Budget: {config.equal_on()}")
        yield from map(Text, config.notes)
        yield ""
        rows = figures.summaries
        metric = SUCCESS if any(one.success is not None for one in rows.values()) else REWARD
        of_summaries: list[tuple[str, Callable[[StrategySummary], str]]] = [
            (heading.named(metric).replace(" (", "\n("), lambda one: figure(getattr(one, metric), 3)),
            ("progress", lambda one: figure(one.progress, 3)),
            ("proposals\nper episode", lambda one: _mean_spent(one, "proposals")),
        ]
        if any(one.spent.get("tokens") or one.spent.get("n_unmetered") for one in rows.values()):
            of_summaries.append(("tokens\nper episode", lambda one: _tokens(one.spent, "tokens")))
        if any(one.spent.get("usd") for one in rows.values()):
            of_summaries.append(("usd\nper episode", lambda one: _usd(one.spent)))
        of_summaries += _ended_early(rows.values())

        def of_row(cell: Callable[[StrategySummary], str]) -> Callable[[str], str]:
            return lambda name: cell(rows[name])

        columns = [(title, of_row(cell)) for title, cell in of_summaries]
        tested = {name: one.success for name, one in figures.differences.items() if one.success is not None}
        if tested:
            apart = {name: f"{len(one.won)}:{len(one.lost)}" for name, one in tested.items()}
            p = {name: p_value(one.p_holm) for name, one in tested.items()}
            columns.append((f"better:worse\nthan {config.baseline_name}", lambda name: apart.get(name, "")))
            columns.append(("p", lambda name: p.get(name, "")))
        yield from fitting("", columns, {name: name for name in rows}, width=options.max_width, console=console)
        if n_cached := round(sum(one.spent.get("n_cached", 0.0) * one.n_episodes for one in rows.values())):
            yield Text(f"From the cache: {counted(n_cached, 'answer')}.")
        yield from _passes(figures, partial(fitting, width=options.max_width, console=console), n_names=0)
        yield from _not_matched(figures)
        for one in figures.matched.values():  # at the largest spending of the baseline
            reached = ", ".join(_reached(one, name) for name in one.at)
            yield Text(f"At equal {one.axis} ({one.budgets[-1]:,.1f} per episode): {reached}.")
        yield from _warnings(figures)


def _passes(
    figures: Figures, fit: Callable[..., list[RenderableType]], *, n_names: int | None
) -> Iterator[RenderableType]:
    """Yield pass@k and pass^k over the seeds, if there are several, and the tasks that only some of them solve."""
    if columns := pass_columns(list(figures.passes.values())):
        yield from fit("Any (pass@k) or all (pass^k) of k seeds succeed", columns, figures.passes)
        yield from flaky_tasks({name: one.flaky for name, one in figures.passes.items()}, "seed", n_names=n_names)


def _components(heading: Heading, agent: str) -> str:
    verifiers = [one or NO_VERIFIER for one in heading.config.verifier]
    return f"{listed(agent, heading.config.agent)}; {listed('verifier', verifiers)}"


def labels(heading: Heading) -> Iterator[Text]:
    """Yield what makes figures unfair, and what is said of the verifiers."""
    for alarm in heading.alarms:
        yield Text(f"*** {alarm} ***", style=LOUD)
    for note in heading.notes:
        yield Text(f"{note[:1].upper()}{note[1:]}" if len(heading.informations) == 1 else note)


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
        heading = f"{success}\n{'/'.join(map(isolated, levels))}"
        columns.append((heading, lambda one: at_levels(one.by_difficulty, levels)))
    if any(one.evaluation_pass_rate is not None for one in summaries):
        columns.append(("evaluations\npassed", lambda one: figure(one.evaluation_pass_rate, 3)))
    return [*columns, ("n", lambda one: str(one.n_episodes)), *_ended_early(summaries)]


def at_levels(by_difficulty: Mapping[str, LevelSummary], levels: Sequence[str]) -> str:
    """Return the success at each of several difficulties."""
    found = (by_difficulty.get(level) for level in levels)
    return "/".join(NOTHING if one is None else figure(one.success, 2) for one in found)


def _ended_early(summaries: Collection[StrategySummary]) -> Columns[StrategySummary]:
    """Return the columns of episodes that failed or ran out of budget, if there are any."""
    columns: Columns[StrategySummary] = [
        ("errored", lambda one: str(one.n_errored)),
        ("budget\nspent", lambda one: str(one.n_budget)),
    ]
    return [column for column in columns if any(column[1](one) != "0" for one in summaries)]


def _run_total(summaries: Iterable[StrategySummary]) -> Text:
    """Return what the whole run spent, and how many of its calls were really made."""
    rows = list(summaries)
    total = {
        axis: sum(one.spent.get(axis, 0.0) * one.n_episodes for one in rows)
        for axis in (*CALLS, "tokens", "usd", "n_unpriced", "n_cached")
    }
    n_calls = round(sum(total[axis] for axis in CALLS))
    seconds = sum((one.seconds or 0.0) * one.n_episodes for one in rows)
    cached = f" ({round(total['n_cached']):,} answered from the cache)" if total["n_cached"] else ""
    tokens = f", {round(total['tokens']):,} tokens" if total["tokens"] else ""
    paid = f", ${_usd(total)}" if total["usd"] else ""
    return Text(f"The whole run: {n_calls:,} calls{cached}{tokens}{paid}, {duration(seconds)} s inside calls.\n")


def _reached(one: Matched, name: str) -> str:
    """Say what a strategy reaches at the baseline's largest spending, or else at its own."""
    found, own = one.at[name][-1], one.own[name]
    if found is not None:
        return f"{name} {found.value:.3f}"
    if own is None:
        return f"{name} not reached"
    return f"{name} {own.value:.3f} at its {own.budget:,.1f} ({own.difference:+.3f})"


def _matched(one: Matched, metric: str, fit: Callable[..., list[RenderableType]]) -> Iterable[RenderableType]:
    """Yield what each strategy reaches at the baseline's spending, and what the baseline's best value costs it."""
    digits = 0 if one.axis == "tokens" else 1

    def at_budget(place: int) -> Callable[[str], str]:
        def cell(name: str) -> str:
            found = one.at[name][place]
            if found is None or name == one.baseline:
                return "not reached" if found is None else f"{found.value:.3f}"
            return compared(found)

        return cell

    def compared(found: AtBudget) -> str:
        low, high = (bound(end, "+") for end in found.difference_95)
        return f"{found.value:.3f} ({found.difference:+.3f} [{low},{high}])"

    def at_own(name: str) -> str:
        found = one.own[name]
        return NOTHING if found is None else f"{found.budget:,.{digits}f}: {compared(found)}"

    def cost(name: str) -> str:
        found = one.costs[name]
        if found.spent is None:
            return "not reached"
        low, high = ("..." if end is None else f"{end:,.{digits}f}" for end in (found.low, found.high))
        return f"{found.spent:,.{digits}f} [{low},{high}]"

    best = max(cost.level for cost in one.costs.values())
    title = (
        f"{metric} at equal {one.axis} per episode: those of {one.baseline} with n = "
        f"{', '.join(f'{n:g}' for n in one.settings)}"
    )
    columns = [(f"{budget:,.{digits}f}", at_budget(place)) for place, budget in enumerate(one.budgets)]
    columns += [("at its own", at_own), (f"{one.axis} for\n{best:.3f}", cost)]
    yield from fit(title, columns, {name: name for name in one.at})
    others = f"; {counted(one.n_left_out, 'task')} without an episode of every row left out" if one.n_left_out else ""
    yield Text(
        "Interpolated between the n of each strategy, never extrapolated. In brackets: the difference to "
        f"{one.baseline}. Intervals: paired bootstrap over {counted(one.n_tasks, 'task')}{others}.",
        style="dim",
    )
    yield ""


def _not_matched(figures: Figures) -> Iterable[RenderableType]:
    if figures.unmatched:
        yield Text(f"Not compared at equal spending: {figures.unmatched}", style=LOUD)
        yield ""


def _mean_spent(one: StrategySummary, axis: str) -> str:
    return f"{one.spent[axis]:.1f}" if one.n_episodes else NOTHING


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


def _warnings(figures: Figures) -> Iterable[Text]:
    yield from said_of(figures.differences)
    errored = {name: one for name, one in figures.summaries.items() if one.n_errored}
    if errored:
        spent = {}
        for name, one in errored.items():
            axes = one.spent_errored
            n_tokens = int(axes.get("prompt_tokens", 0) + axes.get("completion_tokens", 0))
            parts = [counted(int(sum(axes.get(axis, 0) for axis in CALLS)), "call")]
            parts += [f"{n_tokens:,} tokens"] if n_tokens else []
            parts += [f"${axes['usd']:.4f}"] if axes.get("usd") else []
            spent[name] = f", which spent {', '.join(parts)}"
        said = left_out("EPISODES", {name: one.errors for name, one in errored.items()}, spent)
        # The same command meets these again: without --ask, or as long as the code or the budget is what it is.
        kept = (NOT_RECORDED, ContractError.kind, RUN_BUDGET)
        can_retry = any(kind not in kept for one in errored.values() for kind in one.errors)
        again = " Run the same command again to retry them." if can_retry else ""
        yield Text(f"{said}{again}", style=LOUD)
    cut_off = ", ".join(f"{one.n_cut_off} in {name}" for name, one in figures.summaries.items() if one.n_cut_off)
    if cut_off:
        yield Text(f"Answers cut off at max_tokens, or at the longest that is kept: {cut_off}.")
    missing = missing_verdicts({name: one.n_failed_verdicts for name, one in figures.summaries.items()})
    if missing:
        yield Text(missing, style=LOUD)
