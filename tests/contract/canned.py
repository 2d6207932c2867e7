"""Drives a strategy with canned answers: no driver, no environment, no budget but the one that a test draws."""

import math
from collections.abc import Callable, Generator, Mapping
from typing import Any

from iad_policy import All, Ask, Candidate, Commit, Keep, Propose, Simulate, State, Verdict, Verify
from iad_policy.errors import BudgetExhausted

HERE = State("start", {"instruction": "Say what is asked."})
Answers = dict[type, Callable[[Any], Any]]


def drive(strategy: Generator[Any, Any, Any], answers: Mapping[type, Any], *, n_commits: int = 1) -> list[Any]:
    """Drive a strategy with a dictionary from request to a function; returns the actions it commits.

    A function that raises `BudgetExhausted` has it thrown in at the yield.
    """
    commits: list[Any] = []
    request = next(strategy)
    while len(commits) < n_commits:
        if isinstance(request, Commit):
            commits.append(request.candidate.action)
        if len(commits) < n_commits:
            request = _next(strategy, request, answers)
    strategy.close()
    return commits


def _next(strategy: Generator[Any, Any, Any], request: Any, answers: Mapping[type, Any]) -> Any:
    try:
        answer = _canned(request, answers)
    except BudgetExhausted as exhausted:
        return strategy.throw(exhausted)
    return strategy.send(answer)


def _canned(request: Any, answers: Mapping[type, Any]) -> Any:
    if isinstance(request, All):
        return [_returned(generator, answers) for generator in request.generators]
    return answers[type(request)](request)


def _returned(generator: Generator[Any, Any, Any], answers: Mapping[type, Any]) -> Any:
    try:
        request = next(generator)
        while True:
            request = _next(generator, request, answers)
    except StopIteration as stop:
        return stop.value
    except BudgetExhausted:
        return None


def canned(*actions: str) -> Answers:
    """Answers that propose the actions in order and score them by their length; "" is unparsable.

    After any action a simulated episode is over; a real one never is.
    """
    left = list(actions)

    def candidate() -> Candidate:
        action = left.pop(0)
        return Candidate(action, key=action, error="" if action else "nothing to parse")

    return {
        Propose: lambda request: [candidate() for _ in range(request.n)],
        Verify: lambda request: [
            Candidate(c.action, key=c.key, error=c.error, verdict=Verdict(-math.inf if c.error else len(c.action)))
            for c in request.candidates
        ],
        Simulate: lambda request: State(f"after {request.candidate.action}", {}, id=request.candidate.key, done=True),
        Ask: lambda request: f"the {request.role} said",
        Keep: lambda request: None,
        Commit: lambda request: HERE,
    }


def seen_by(answers: Answers, kind: type, n: float = math.inf) -> tuple[Answers, list[Any]]:
    """The answers, with every request of a kind refused after the first n, and a list of those that were answered."""
    seen: list[Any] = []

    def answer(request: Any) -> Any:
        if len(seen) >= n:
            raise BudgetExhausted(f"decision.{kind.__name__}")
        seen.append(request)
        return answers[kind](request)

    return {**answers, kind: answer}, seen


def cut(answers: Answers, kind: type, n: int) -> Answers:
    """The answers, with every request of a kind refused after the first n."""
    return seen_by(answers, kind, n)[0]
