"""Simulated episodes: how lookahead methods create, score and commit them.

A value is a verdict: the verifier's score of the last action of a rollout. It is the true reward only under the label
`oracle`.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from iad_policy.errors import BudgetExhausted
from iad_policy.requests import All, Asking, Commit, Propose, Request, Simulate, Verify
from iad_policy.types import Candidate, State, score
from iad_policy.types.hashing import digest

Decide: TypeAlias = Callable[[State], Asking[Candidate]]
"""Decides one step of a rollout."""
DEPTH = 50
"""Maximum number of steps of a simulated episode, if the environment does not end it earlier."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """A sequence of simulated steps.

    Attributes:
        start: The state where it begins.
        candidates: The actions, in order.
        states: The simulated state after each of them.
        value: The verifier's value of the last step, in [0, 1]. NaN before the verifier was asked.
        untried: A last proposal that was not simulated, as the budget was spent.
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
    """Return a verdict's score as a value in [0, 1]. It is 0 for candidates that failed or were not verified."""
    return min(1.0, max(0.0, score(candidate)))


def roll_out(
    start: State, *, depth: float = float("inf"), temperature: float | None = None, decide: Decide | None = None
) -> Asking[Rollout]:
    """Decide and simulate, one action at a time, until the simulated episode is over or has `depth` actions.

    A step is decided by `decide`, or is the agent's first answer. When the budget is spent, the rollout so far is
    returned.
    """
    return (yield from roll_on(Rollout(start), depth=depth, decide=decide or first_answer(temperature)))


def roll_on(rollout: Rollout, *, depth: float, decide: Decide) -> Asking[Rollout]:
    """Continue a rollout as `roll_out` does. Its existing steps count in `depth`."""
    with suppress(BudgetExhausted):
        while len(rollout) < depth and not rollout.end.done:
            candidate = yield from decide(rollout.end)
            rollout = replace(rollout, untried=candidate)
            there = yield from Simulate(rollout.end, candidate)
            rollout = rollout.then(candidate, there)
    return rollout


def first_answer(temperature: float | None = None) -> Decide:
    """Return a rule that takes the agent's first answer."""

    def decide(at: State) -> Asking[Candidate]:
        (candidate,) = yield from Propose(at, 1, temperature=temperature)
        return candidate

    return decide


def valued(rollout: Rollout) -> Asking[Rollout]:
    """Value a rollout by the verifier's score of its last step, unless there is a verdict. An empty one has value 0.

    Raises:
        BudgetExhausted: The budget is spent. It is raised at the yield, as in all requests.
    """
    last = rollout.last
    if last is None:
        return replace(rollout, value=0.0)
    draw = rollout.end.path[-1].draw if rollout.end.path else 0
    if last.verdict is None or draw:  # an existing verdict was given on draw 0
        fresh = replace(last, verdict=None)
        (last,) = yield from Verify((rollout.start, *rollout.states)[-2], [fresh], draw=draw)
    return replace(rollout, candidates=(*rollout.candidates[:-1], last), value=value_of(last))


def best_of(rollouts: Sequence[Rollout | None]) -> Asking[Rollout]:
    """Ask the verifier about each rollout, as far as the budget goes, and return the best, the first among equals.

    A finished rollout is preferred to an unfinished one. One that awaits the world counts as finished: it went as far
    as a simulation can. None, for a rollout cut before it began, is left out.
    """
    begun = [rollout for rollout in rollouts if rollout is not None]
    answers = yield from All([valued(rollout) for rollout in begun])
    scored = [old if new is None else new for old, new in zip(begun, answers, strict=True)]
    return max(scored, key=lambda one: (one.end.done, float("-inf") if one.last is None else score(one.last)))


def follow(here: State, rollout: Rollout) -> Generator[Request, Any, State]:
    """Commit a rollout's actions while the real environment answers as in the simulation, and return the last state.

    A rollout that awaits the world is followed up to the action that does.
    """
    for candidate, expected in zip(rollout.candidates, rollout.states, strict=True):
        if here.done:
            return here
        here = yield from Commit(candidate)
        if digest(here.observation) != digest(expected.observation):
            return here
    if rollout.untried is not None and not here.done:
        here = yield from Commit(rollout.untried)
    return here


def carry_out(
    here: State, rollout: Rollout, *, temperature: float | None = None, decide: Decide | None = None
) -> Generator[Request, Any, State]:
    """Follow a rollout, then continue step by step to the end of the episode, or until the world answers.

    Steps are decided by `decide` or are the agent's first answers. At least one action is committed. No rollout knew
    the answer of the world, so a method plans again after it.

    Returns:
        The last state.
    """
    there = yield from follow(here, rollout)
    while there is here or not (there.done or there.is_answered):
        there = yield from Commit((yield from (decide or first_answer(temperature))(there)))
    return there
