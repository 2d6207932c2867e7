"""Simulated episodes: how methods that look ahead make, score and commit them.

A value is a verdict: what the chosen verifier says of the last action of a rollout, which is the true reward only under
the label `oracle`.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from iad_policy.errors import BudgetExhausted
from iad_policy.hashing import digest
from iad_policy.requests import All, Asking, Commit, Propose, Request, Simulate, Verify
from iad_policy.types import Candidate, State, score

Decide: TypeAlias = Callable[[State], Asking[Candidate]]
"""How one step is decided, for rollouts that take more than the agent's first answer."""
DEPTH = 50
"""Steps of a simulated episode at most, where the environment has no limit of its own."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A sequence of simulated steps.

    Attributes:
        start: Where it begins.
        candidates: What was done, first to last.
        states: The simulated state after each of them.
        value: What the verifier says of the last step, in [0, 1]; NaN before it was asked.
        untried: What was proposed at the end and not simulated any more, as the budget was spent.
    """

    start: State
    candidates: tuple[Candidate, ...] = ()
    states: tuple[State, ...] = ()
    value: float = float("nan")
    untried: Candidate | None = None

    @property
    def last(self) -> Candidate | None:
        """The last step."""
        return self.candidates[-1] if self.candidates else None

    @property
    def end(self) -> State:
        """The last state."""
        return self.states[-1] if self.states else self.start

    def __len__(self) -> int:
        return len(self.candidates)

    def then(self, candidate: Candidate, there: State) -> "Rollout":
        """Return this rollout with one more step, not valued yet."""
        return Rollout(self.start, (*self.candidates, candidate), (*self.states, there))


def value_of(candidate: Candidate) -> float:
    """Return a verdict's score as a value in [0, 1]: 0 for what failed or was not verified."""
    return min(1.0, max(0.0, score(candidate)))


def roll_out(
    start: State, *, depth: float = float("inf"), temperature: float | None = None, decide: Decide | None = None
) -> Asking[Rollout]:
    """Decide and simulate, one action at a time, until the episode is over there or `depth` actions were taken.

    A step is decided by `decide`, or is the agent's first answer. When the budget is spent on the way, what there is so
    far is returned.
    """
    return (yield from roll_on(Rollout(start), depth=depth, decide=decide or first_answer(temperature)))


def roll_on(rollout: Rollout, *, depth: float, decide: Decide) -> Asking[Rollout]:
    """Go on with a rollout as `roll_out` does; its steps so far count in `depth`."""
    with suppress(BudgetExhausted):
        while len(rollout) < depth and not rollout.end.done:
            candidate = yield from decide(rollout.end)
            rollout = replace(rollout, untried=candidate)
            there = yield from Simulate(rollout.end, candidate)
            rollout = rollout.then(candidate, there)
    return rollout


def first_answer(temperature: float | None = None) -> Decide:
    """Return the way to decide that takes the agent's first answer."""

    def decide(at: State) -> Asking[Candidate]:
        (candidate,) = yield from Propose(at, 1, temperature=temperature)
        return candidate

    return decide


def valued(rollout: Rollout) -> Asking[Rollout]:
    """Ask the verifier about the last step of a rollout, unless it was asked already; an empty one is worth 0.

    Raises:
        BudgetExhausted: At the yield, as everywhere.
    """
    last = rollout.last
    if last is None:
        return replace(rollout, value=0.0)
    draw = rollout.end.path[-1].draw if rollout.end.path else 0
    if last.verdict is None or draw:  # a verdict that is there already was given on draw 0
        (last,) = yield from Verify((rollout.start, *rollout.states)[-2], [last], draw=draw)
    return replace(rollout, candidates=(*rollout.candidates[:-1], last), value=value_of(last))


def best_of(rollouts: Sequence[Rollout | None]) -> Asking[Rollout]:
    """Ask the verifier about each rollout, as far as the budget goes, and return the best-scored; the first of equals.

    One that came to its end goes before one that did not, and None, which the budget cut before it began, is left out.
    """
    made = [rollout for rollout in rollouts if rollout is not None]
    asked = yield from All([valued(rollout) for rollout in made])
    judged = [old if new is None else new for old, new in zip(made, asked, strict=True)]
    return max(judged, key=lambda one: (one.end.done, float("-inf") if one.last is None else score(one.last)))


def follow(here: State, rollout: Rollout) -> Generator[Request, Any, State]:
    """Commit a rollout's actions while the real environment answers as its simulation did; return where that leads."""
    for candidate, expected in zip(rollout.candidates, rollout.states, strict=True):
        if here.done:
            return here
        here = yield from Commit(candidate)
        if digest(here.observation) != digest(expected.observation):
            return here
    if rollout.untried is not None and not here.done:
        here = yield from Commit(rollout.untried)
    return here


def finish(here: State, *, temperature: float | None = None, decide: Decide | None = None) -> Asking[None]:
    """Go on to the end of the episode, step by step by `decide`, or with the agent's first answers."""
    while not here.done:
        here = yield from Commit((yield from (decide or first_answer(temperature))(here)))
