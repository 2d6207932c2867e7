"""Two methods that look ahead, in the shape of tree search and of ARTIS: they show that the contracts carry such."""

from collections import defaultdict
from contextlib import suppress
from math import inf
from statistics import mean

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import All, Ask, Asking, Commit, Propose, Simulate, Verify
from iad_policy.strategies import declares
from iad_policy.types import Candidate, State, score


def look_two_ahead(here: State, *, n: int = 2) -> Asking[None]:
    """Depth-2 search; what an action was worth is kept across steps and averaged."""
    worth: dict[str, list[float]] = defaultdict(list)
    while not here.done:
        firsts = yield from Propose(here, n)
        values = yield from All([_worth_of(here, first, n) for first in firsts])
        for first, value in zip(firsts, values, strict=True):
            worth[first.key] += [] if value is None else [value]  # None: the budget ended before anything was known
        here = yield from Commit(max(firsts, key=lambda first: mean(worth[first.key] or [-inf])))


def _worth_of(here: State, first: Candidate, n: int) -> Asking[float]:
    there = yield from Simulate(here, first)
    if there.done:
        (first,) = yield from Verify(here, [first])
        return score(first)
    seconds = yield from Propose(there, n)
    return max(map(score, (yield from Verify(there, seconds))))


@declares(n="attempts per decision", needs="nothing")
def rehearse(here: State, *, n: int = 2, length: int = 2) -> Asking[None]:
    """Attempt n times in simulation, evaluate and sum up, then act once with the summary as a note."""
    while not here.done:
        attempts = yield from All([_attempt(here, length) for _ in range(n)])
        made = [attempt for attempt in attempts if attempt is not None]
        chosen: Candidate = next((first for first, *_ in made if not first.error), made[0][0])
        with suppress(BudgetExhausted):
            summary = yield from Ask("summariser", here, [(end, said) for _, end, said in made])
            (chosen,) = yield from Propose(here.noted(summary), 1)
        here = yield from Commit(chosen)


def _attempt(here: State, length: int) -> Asking[tuple[Candidate, State, str]]:
    """Return the first candidate, where it got to, and what the evaluator says."""
    (first,) = yield from Propose(here, 1)
    end, evaluation = here, ""
    with suppress(BudgetExhausted):
        end = yield from Simulate(here, first)
        for _ in range(length - 1):
            if not end.done:
                (step,) = yield from Propose(end, 1)
                end = yield from Simulate(end, step)
        evaluation = yield from Ask("evaluator", end, first)
    return first, end, evaluation
