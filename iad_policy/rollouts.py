"""Simulated episodes: how methods that look ahead make, score and commit them.

A value is a verdict: what the chosen verifier says of the last action of a rollout, which is the true reward only under
the label `oracle`.
"""

from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from iad_policy.digest import digest
from iad_policy.errors import BudgetExhausted
from iad_policy.requests import Asking, Commit, Propose, Request, Simulate, Verify
from iad_policy.types import Candidate, State, score


@dataclass(frozen=True, slots=True)
class Rollout:
    """A sequence of simulated steps.

    Attributes:
        start: Where it begins.
        candidates: What was done, first to last.
        states: The simulated state after each of them.
        value: What the verifier says of the last step, in [0, 1]; NaN before it was asked.
    """

    start: State
    candidates: tuple[Candidate, ...] = ()
    states: tuple[State, ...] = ()
    value: float = float("nan")

    @property
    def end(self) -> State:
        """The last state."""
        return self.states[-1] if self.states else self.start

    def __len__(self) -> int:
        return len(self.candidates)


def value_of(candidate: Candidate) -> float:
    """Return a verdict's score as a value in [0, 1]: 0 for what failed or was not verified."""
    return min(1.0, max(0.0, score(candidate)))


def roll_out(
    start: State, *, depth: float = float("inf"), temperature: float | None = None, first: Candidate | None = None
) -> Asking[Rollout]:
    """Propose and simulate, one action at a time, until the episode is over there or `depth` actions were taken.

    When the budget is spent on the way, what there is so far is returned. `first` is done first, where it was proposed
    already: so a strategy keeps a candidate to commit when not even one step could be simulated.
    """
    rollout = Rollout(start)
    with suppress(BudgetExhausted):
        while len(rollout) < depth and not rollout.end.done:
            if first is not None and not len(rollout):
                candidate = first
            else:
                (candidate,) = yield from Propose(rollout.end, 1, temperature=temperature)
            there = yield from Simulate(rollout.end, candidate)
            rollout = replace(rollout, candidates=(*rollout.candidates, candidate), states=(*rollout.states, there))
    return rollout


def valued(rollout: Rollout) -> Asking[Rollout]:
    """Ask the verifier about the last step of a rollout; an empty one is worth 0.

    Raises:
        BudgetExhausted: At the yield, as everywhere.
    """
    if not rollout.candidates:
        return replace(rollout, value=0.0)
    before = (rollout.start, *rollout.states)[-2]
    (last,) = yield from Verify(before, [rollout.candidates[-1]])
    return replace(rollout, candidates=(*rollout.candidates[:-1], last), value=value_of(last))


def follow(here: State, rollout: Rollout) -> Generator[Request, Any, State]:
    """Commit a rollout's actions while the real environment answers as its simulation did; return where that leads."""
    for candidate, expected in zip(rollout.candidates, rollout.states, strict=True):
        if here.done:
            break
        here = yield from Commit(candidate)
        if digest(here.observation) != digest(expected.observation):
            break
    return here


def finish(here: State, *, temperature: float | None = None) -> Asking[None]:
    """Go on to the end of the episode with the agent's first answers."""
    while not here.done:
        (candidate,) = yield from Propose(here, 1, temperature=temperature)
        here = yield from Commit(candidate)
