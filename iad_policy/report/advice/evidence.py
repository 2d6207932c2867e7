"""What a pilot shows: how different its attempts are, how well the verifier selects, and what feedback does."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from iad_policy.report.advice.calibration import Calibration, calibration_of
from iad_policy.report.advice.pilot import Pilot, PilotAttempt, PilotLine
from iad_policy.report.advice.within import best_of, first
from iad_policy.report.statistics import Interval, mean_interval
from iad_policy.report.verifier_evidence import LEAST_PER_CLASS, Auc, auc


class Diversity(NamedTuple):
    """How different independent attempts are.

    Attributes:
        line: The row whose attempts they are.
        n: Number of attempts at each task.
        pass_at: k -> what the best of k attempts gives: the share of tasks that at least one of them solves.
        pass_95: 95 % interval of that for all n, over tasks.
        n_further: Number of attempts after the first of each episode.
        differing: Share of these that are an action which was not tried before.
    """

    line: str
    n: int
    pass_at: Mapping[int, float]
    pass_95: Interval
    n_further: int
    differing: float


class Selection(NamedTuple):
    """How well a verifier selects among independent attempts.

    Attributes:
        line: The row whose attempts it scored.
        verifier: Its name.
        n_right: Number of right attempts with a score.
        n_wrong: Number of wrong ones.
        auc: Chance that a right attempt scores above a wrong one, of the same task or of another, with its interval;
            None for too few.
        calibration: What turns its scores into this agent's chances of success; None for too few attempts.
        best: Success of the best-scored of all attempts at a task.
        share_of_gap: How much of the gap between one attempt and the best of all is closed; None where there is none.
    """

    line: str
    verifier: str
    n_right: int
    n_wrong: int
    auc: Auc | None
    calibration: Calibration | None
    best: float
    share_of_gap: float | None


class PilotUptake(NamedTuple):
    """What becomes of attempts that follow others, with feedback or without.

    Attributes:
        line: The row.
        is_told: Whether they were made with feedback.
        n: Number of such attempts.
        differing: Share of them that are an action which was not tried before.
        n_open: Number of them after wrong attempts only.
        right: Share of these that are better than all before them, which is to be right where attempts are right or
            wrong; None without any.
    """

    line: str
    is_told: bool
    n: int
    differing: float
    n_open: int
    right: float | None


class PilotEvidence(NamedTuple):
    """What the pilot shows; empty where its tasks take several decisions, as no candidate decides an episode there."""

    diversity: Diversity | None = None
    selection: tuple[Selection, ...] = ()
    uptake: tuple[PilotUptake, ...] = ()


def evidence_of(pilot: Pilot) -> PilotEvidence:
    """Return what the attempts of a pilot show."""
    if not pilot.one_decision:
        return PilotEvidence()
    independent = {name: one for name, one in pilot.lines.items() if one.strategy in ("bon", "bon-sc") and one.n > 1}
    diversity, selections, uptake = None, [], []
    if independent:
        name = max(independent, key=lambda one: independent[one].n)
        repeated = _uptake(name, independent[name], is_told=False)
        uptake.append(repeated)
        tasks = [own for _, own in _pooled(independent[name])]
        n = min(map(len, tasks))
        at = {k: [best_of(own, k, by=lambda one: one.value) for own in tasks] for k in range(1, n + 1)}
        pass_at = {k: float(np.mean(own)) for k, own in at.items()}
        diversity = Diversity(name, n, pass_at, mean_interval(at[n]), repeated.n, repeated.differing)
    for name, line in independent.items():
        if line.strategy == "bon":
            selections.append(_selection(name, line))
    for name, line in pilot.lines.items():
        if line.strategy == "iad" and line.n > 1:
            uptake.append(_uptake(name, line, is_told=True))
    return PilotEvidence(diversity, tuple(selections), tuple(uptake))


def _selection(name: str, line: PilotLine) -> Selection:
    # An answer that is no action and one without a verdict have no score to rank.
    rows = [(task, one) for task, own in _pooled(line) for one in own if one.key and math.isfinite(one.score)]
    n_right = sum(one.is_right for _, one in rows)
    found = calibrated = None
    if min(n_right, len(rows) - n_right) >= LEAST_PER_CLASS:
        scores, labels, tasks = zip(*((one.score, one.is_right, task) for task, one in rows), strict=True)
        found = auc(scores, labels, tasks=tasks)
        calibrated = calibration_of(scores, labels, tasks)
    episodes = [own for given in line.attempts.values() for own in given if own]
    best = float(np.mean([best_of(own, len(own)) for own in episodes]))
    one = float(np.mean([first(own, 1) for own in episodes]))
    gap = float(np.mean([max(attempt.value for attempt in own) for own in episodes])) - one
    share = (best - one) / gap if gap > 0 else None
    return Selection(name, line.verifier, n_right, len(rows) - n_right, found, calibrated, best, share)


def _uptake(name: str, line: PilotLine, *, is_told: bool) -> PilotUptake:
    n = n_new = n_open = n_right = 0
    for own in (one for given in line.attempts.values() for one in given):
        for place, attempt in enumerate(own[1:], 1):
            if attempt.is_told is not is_told:
                continue
            earlier = own[:place]
            n += 1
            n_new += bool(attempt.key) and all(attempt.key != one.key for one in earlier)
            if not any(one.is_right for one in earlier):
                n_open += 1
                n_right += attempt.value > max(one.value for one in earlier)
    return PilotUptake(name, is_told, n, n_new / n if n else 0.0, n_open, n_right / n_open if n_open else None)


def _pooled(line: PilotLine) -> Iterator[tuple[str, Sequence[PilotAttempt]]]:
    for task, given in line.attempts.items():
        own = [one for episode in given for one in episode]
        if own:
            yield task, own
