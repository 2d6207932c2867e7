"""What a strategy may ask for. A strategy does no I/O: it yields one of these and is sent the answer.

Each request can be delegated to, `answer = yield from Propose(here, 3)`, which is the same as yielding it and gives the
answer its type. Where the budget does not cover a request, `BudgetExhausted` is thrown in at the yield.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from iad_policy.types import Candidate, Feedback, State


@dataclass(frozen=True, slots=True)
class Propose:
    """Ask the agent for up to `n` candidates in a state.

    Answered with 1..n candidates, fewer than `n` only when the budget is short. An answer that can't be parsed is a
    candidate with `error`. Without a temperature the agent uses its own.
    """

    at: State
    n: int = 1
    feedback: Feedback | None = None
    temperature: float | None = None

    def __iter__(self) -> Generator["Request", Any, list[Candidate]]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Verify:
    """Ask the verifier for a verdict on each candidate.

    Answered with the same candidates, each with a verdict; `among` are already verified ones, shown to verifiers that
    compare or count agreement, and not charged again. A candidate with `error` scores -inf at no cost. `draw` names
    the outcome that a preview shows, as in `Simulate`.
    """

    at: State
    candidates: Sequence[Candidate]
    among: Sequence[Candidate] = ()
    draw: int = 0

    def __iter__(self) -> Generator["Request", Any, list[Candidate]]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Simulate:
    """Ask what a candidate's action would lead to, beside the real environment.

    Answered with the state after it. `draw` names one of the outcomes where the environment is random.
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
    """Run generators side by side; answered with their results in order, None for one that let `BudgetExhausted` out.

    They advance in rounds, one request each, so that answers do not depend on the number of threads.
    """

    generators: Sequence[Generator["Request", Any, Any]]

    def __iter__(self) -> Generator["Request", Any, list[Any]]:
        return (yield self)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Commit:
    """Take the candidate's action in the real environment; answered with the state after it."""

    candidate: Candidate

    def __iter__(self) -> Generator["Request", Any, State]:
        return (yield self)  # type: ignore[no-any-return]


Request = Propose | Verify | Simulate | Ask | All | Commit

T = TypeVar("T")
Asking: TypeAlias = Generator[Request, Any, T]
"""A generator that asks and at last returns a T: a strategy, or a part of one."""
