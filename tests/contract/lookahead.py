"""Two methods that look ahead, in the shape of tree search and of ARTIS: they show that the contracts carry such."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import All, Ask, Asking, Commit, Propose, Simulate, Verify
from iad_policy.strategies import declares
from iad_policy.types import Candidate, State, score


def look_two_ahead(here: State, *, n: int = 2) -> Asking[None]:
    """Depth-2 search; what an action was worth is kept across steps and averaged."""
    worth: dict[str, list[float]] = {}
    while not here.done:
        firsts = yield from Propose(here, n)
        values = yield from All([_worth_of(here, first, n) for first in firsts])
        for first, value in zip(firsts, values, strict=True):
            if value is not None:  # None: the budget ended before anything was known
                worth.setdefault(first.key, []).append(value)
        best = max(firsts, key=lambda first: _mean(worth.get(first.key, [])))
        here = yield from Commit(best)


def _worth_of(here: State, first: Candidate, n: int) -> Asking[float]:
    there = yield from Simulate(here, first)
    if there.done:
        (first,) = yield from Verify(here, [first])
        return score(first)
    seconds = yield from Propose(there, n)
    seconds = yield from Verify(there, seconds)
    return max(map(score, seconds))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else float("-inf")


class Attempt(NamedTuple):
    """One attempt in simulation: its first candidate, where it got to, and what the evaluator says."""

    first: Candidate
    end: State
    evaluation: str


@declares(n="attempts per decision", needs="nothing")
def rehearse(here: State, *, n: int = 2, length: int = 2) -> Asking[None]:
    """Attempt n times in simulation, evaluate and sum up, then act once with the summary as a note."""
    while not here.done:
        attempts = yield from All([_attempt(here, length) for _ in range(n)])
        made = [attempt for attempt in attempts if attempt is not None]
        chosen = next(_usable_first(made))
        with suppress(BudgetExhausted):
            told = [(attempt.end, attempt.evaluation) for attempt in made]
            summary = yield from Ask("summariser", here, told)
            (chosen,) = yield from Propose(here.noted(summary), 1)
        here = yield from Commit(chosen)


def _attempt(here: State, length: int) -> Asking[Attempt]:
    (first,) = yield from Propose(here, 1)
    end, evaluation = here, ""
    with suppress(BudgetExhausted):
        end = yield from Simulate(here, first)
        for _ in range(length - 1):
            if end.done:
                break
            (step,) = yield from Propose(end, 1)
            end = yield from Simulate(end, step)
        evaluation = yield from Ask("evaluator", end, first)
    return Attempt(first, end, evaluation)


def _usable_first(attempts: list[Attempt]) -> Iterator[Candidate]:
    yield from (attempt.first for attempt in attempts if not attempt.first.error)
    yield attempts[0].first
