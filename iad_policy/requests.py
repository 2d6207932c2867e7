"""Defines the requests that a strategy can yield. A strategy does no I/O: it yields a request and receives the answer.

`answer = yield from Propose(here, 3)` is the same as yielding the request, and gives the answer its type. If the budget
does not cover a request, `BudgetExhausted` is raised at the yield.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from iad_policy.types import Candidate, Feedback, State


@dataclass(frozen=True, slots=True)
class Propose:
    """Ask the agent for up to `n` candidates in a state.

    The answer has 1 to n candidates, fewer than `n` only when the budget is short. An answer of the agent that can't be
    parsed is a candidate with `error`. Without a temperature the agent uses its own.
    """

    at: State
    n: int = 1
    feedback: Feedback | None = None
    temperature: float | None = None

    def __iter__(self) -> Generator["Request", Any, list[Candidate]]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Verify:
    """Ask the verifier for a verdict on each candidate of a set.

    The answer is the same candidates, each with a verdict. A verifier that compares sees this set and nothing else, so
    a strategy passes all candidates that it holds, those with a verdict too: their verdicts may be revised. Only
    candidates without a verdict are charged as verifications. A candidate with `error` scores -inf at no cost. `draw`
    selects the outcome that a preview shows, as in `Simulate`.
    """

    at: State
    candidates: Sequence[Candidate]
    draw: int = 0

    def __iter__(self) -> Generator["Request", Any, list[Candidate]]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Simulate:
    """Simulate a candidate's action without stepping the real environment.

    The answer is the state after the action. In a random environment `draw` selects one of the outcomes.
    """

    at: State
    candidate: Candidate
    draw: int = 0

    def __iter__(self) -> Generator["Request", Any, State]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a role (critic, judge, ranker, evaluator, summariser, reflector, paraphraser) for a text."""

    role: str
    at: State
    subject: Any = None

    def __iter__(self) -> Generator["Request", Any, str]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class All:
    """Run generators in parallel.

    The answer is the list of their results in order, with None for a generator that did not catch `BudgetExhausted`.
    They advance in rounds, one request each, so answers do not depend on the number of threads.
    """

    generators: Sequence[Generator["Request", Any, Any]]

    def __iter__(self) -> Generator["Request", Any, list[Any]]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Keep:
    """Keep a search tree: it goes into the log, to be drawn and trained on, and into the decision's `trees`.

    The answer is None. It costs nothing and is never cut, so a strategy yields it before `Commit`, after a cut too.
    """

    tree: Any

    def __iter__(self) -> Generator["Request", Any, None]:
        yield self


@dataclass(frozen=True, slots=True)
class Commit:
    """Take the candidate's action in the real environment. The answer is the state after it."""

    candidate: Candidate

    def __iter__(self) -> Generator["Request", Any, State]:
        return (yield self)  # type: ignore[no-any-return]


Request = Propose | Verify | Simulate | Ask | All | Keep | Commit

T = TypeVar("T")
Asking: TypeAlias = Generator[Request, Any, T]
"""A generator that yields requests and returns a T: a strategy, or a part of one."""
