"""Says which option to take at which price of a success, and which others can't be told from it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from iad_policy.ledger.run import Run
from iad_policy.report.advice.evidence import PilotEvidence, evidence_of
from iad_policy.report.advice.pilot import Pilot, read_pilot
from iad_policy.report.advice.prediction import MODEL, NS, PILOT, Array, OptionForecast, RunnableOption, predict
from iad_policy.report.samples import SUCCESS
from iad_policy.report.statistics import CONFIDENCE, discordance, minimum_detectable_effect

SAME_COST = 1.1
"""Largest ratio of two options' spending at which they count as equally expensive."""


class AdviceSettings(NamedTuple):
    """What advice is asked for.

    Attributes:
        agent: The agent, if the run has several.
        axis: What a price counts; "" for dollars, tokens or calls, as the run has them.
        worth: What a success is worth, on that axis; None for a table of all prices.
        n_tasks: Number of further tasks that the intervals are for; None for as many as the pilot has.
        ns: Numbers of proposals to predict, besides the pilot's.
        seed: Seed of the draws.
        with_paths: Whether the pilot is read with what a plan is made of.
        metric: `success`, or `reward` for tasks that are solved more or less well.
        max_calls: Most calls that an episode may take on average; None for no limit. Other options are predicted, but
            not advised.
    """

    agent: str = ""
    axis: str = ""
    worth: float | None = None
    n_tasks: int | None = None
    ns: tuple[int, ...] = NS
    seed: int = 0
    with_paths: bool = False
    metric: str = SUCCESS
    max_calls: float | None = None


class PriceStep(NamedTuple):
    """An option that is the best for a range of prices.

    Attributes:
        option: The option.
        above: The price of a success from which on it is the best.
        gain: Its success minus that of the step before; None for the first.
        share_gaining: Share of the draws in which the gain is more than nothing; None for the first.
        n_to_tell: Number of tasks that would tell the gain from nothing, in both; None for the first, or for no gain.
        as_good: Options that cost the same, and whose success can't be told from its success.
    """

    option: RunnableOption
    above: float
    gain: float | None = None
    share_gaining: float | None = None
    n_to_tell: int | None = None
    as_good: tuple[RunnableOption, ...] = ()


class PricedChoice(NamedTuple):
    """What to take at one price.

    Attributes:
        worth: The price.
        option: The cheapest of those that can't be told from the best.
        best: The option with the highest expected value: price times success, minus spending.
        as_good: All that can't be told from the best, the best one first; more than one if it can't be told which.
        n_to_tell: Number of tasks that would tell the best from `option`; None where their values are equal.
    """

    worth: float
    option: RunnableOption
    best: RunnableOption
    as_good: tuple[RunnableOption, ...]
    n_to_tell: int | None


@dataclass(frozen=True)
class Advice:
    """What a pilot says.

    Attributes:
        pilot: The pilot.
        n_tasks: Number of further tasks that the intervals are for.
        evidence: What its attempts show.
        predictions: RunnableOption -> what it would give.
        steps: The options worth taking, from the cheapest on.
        choice: What to take at the given price; None without one.
    """

    pilot: Pilot
    n_tasks: int
    evidence: PilotEvidence
    predictions: Mapping[RunnableOption, OptionForecast]
    steps: tuple[PriceStep, ...]
    choice: PricedChoice | None

    def as_json(self) -> dict[str, Any]:
        """Return all figures as values for JSON."""
        of_pilot = ("env", "split", "agent", "n_left_out", "axis", "one_decision", "metric")
        of_row = ("success", "success_95", "spent", "spent_95", "calls", "source")
        rows = [
            {"strategy": option.line, "n": option.n, **{name: getattr(one, name) for name in of_row}}
            for option, one in self.predictions.items()
        ]
        return {
            "pilot": {**{name: getattr(self.pilot, name) for name in of_pilot}, "n_tasks": len(self.pilot.tasks)},
            "n_tasks": self.n_tasks,
            "evidence": _plain(self.evidence),
            "predictions": rows,
            "steps": [_plain(one) for one in self.steps],
            "choice": None if self.choice is None else _plain(self.choice),
        }


def advise(run: Run | Path | str, settings: AdviceSettings | None = None) -> Advice:
    """Return what a run says as a pilot.

    Args:
        run: The run or its folder. It may be unfinished.
        settings: What is asked for; None for the defaults.

    Raises:
        UnknownName: The run has no such agent, or there is no such axis.
        ValueError: The run has no tasks that every strategy has finished, or several agents and none is named; or a
            setting is out of range.
        DamagedEpisode: An episode of it can't be read.
    """
    settings = settings or AdviceSettings()
    opened = run if isinstance(run, Run) else Run(run)
    pilot = read_pilot(
        opened, agent=settings.agent, axis=settings.axis, with_paths=settings.with_paths, metric=settings.metric
    )
    found = predict(pilot, n_tasks=settings.n_tasks, ns=settings.ns, seed=settings.seed)
    # A line between two n, or beyond the last one, can be far off. What reads gold is for diagnosis.
    known = {
        option: one
        for option, one in found.items()
        if one.source in (PILOT, MODEL) and not pilot.lines[option.line].knows_gold
        if settings.max_calls is None or one.calls <= settings.max_calls
    }
    if settings.max_calls is not None and not known:
        least = min((one.calls for one in found.values()), default=0.0)
        raise ValueError(
            f"expected --max-calls of {least:.3g} or more, the fewest that an option of this pilot takes, got "
            f"{settings.max_calls:g}"
        )
    return Advice(
        pilot,
        settings.n_tasks or len(pilot.tasks),
        evidence_of(pilot),
        found,
        steps_of(known),
        choose(known, settings.worth) if known and settings.worth is not None else None,
    )


def steps_of(predictions: Mapping[RunnableOption, OptionForecast]) -> tuple[PriceStep, ...]:
    """Return the options that are the best at some price of a success, from the price 0 on; none of no options."""
    if not predictions:
        return ()

    def as_good(at: RunnableOption) -> tuple[RunnableOption, ...]:
        now = predictions[at]
        return tuple(
            one
            for one, own in predictions.items()
            if one != at and max(own.spent, now.spent) <= SAME_COST * min(own.spent, now.spent)
            if _is_as_good(own.rates, now.rates)
        )

    at = min(predictions, key=lambda one: (predictions[one].spent, -predictions[one].success))
    steps = [PriceStep(at, 0.0, as_good=as_good(at))]
    while True:
        now = predictions[at]
        better = {
            one: (own.spent - now.spent) / (own.success - now.success)
            for one, own in predictions.items()
            if own.success > now.success
        }
        if not better:
            return tuple(steps)
        nearest = min(better.values())
        cheapest = [one for one, price in better.items() if math.isclose(price, nearest)]
        at = max(cheapest, key=lambda one: predictions[one].success)
        gain = predictions[at].rates - now.rates
        share_gaining = float((gain > 0).mean())
        n = _n_to_tell(predictions[at], now, float(gain.mean()))
        steps.append(PriceStep(at, max(0.0, nearest), float(gain.mean()), share_gaining, n, as_good(at)))


def choose(predictions: Mapping[RunnableOption, OptionForecast], worth: float) -> PricedChoice:
    """Return what to take if a success is worth so much.

    Raises:
        ValueError: The price is negative or not finite.
    """
    if not 0 <= worth < math.inf:
        raise ValueError(f"expected a price of 0 or more, got {worth}; say what a success is worth")
    values = {option: worth * one.rates - one.costs for option, one in predictions.items()}
    best, *others = sorted(values, key=lambda one: -float(values[one].mean()))
    as_good = (best, *(one for one in others if _is_as_good(values[one], values[best])))
    taken = min(as_good, key=lambda one: predictions[one].spent)
    gap = float((values[best] - values[taken]).mean())
    n = _n_to_tell(predictions[best], predictions[taken], gap / worth) if worth else None
    return PricedChoice(worth, taken, best, as_good, n)


def _is_as_good(one: Array, best: Array) -> bool:
    """Whether the interval of how much better the best one is has 0 in it."""
    return float((one >= best).mean()) > (1 - CONFIDENCE) / 2


def _n_to_tell(one: OptionForecast, other: OptionForecast, difference: float) -> int | None:
    """Return the number of tasks that detect a difference, if both are run on all of them."""
    if abs(difference) < 1e-9:
        return None
    # Two runs of a task are as independent as its attempts are: this is the share of tasks that only one solves.
    n_apart = float(np.sum(one.by_task * (1 - other.by_task) + other.by_task * (1 - one.by_task)))
    variance = one.grain * discordance(n_apart, len(one.by_task))
    return math.ceil((minimum_detectable_effect(variance, 1) / difference) ** 2)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return value
