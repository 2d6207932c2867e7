"""Former signatures of users' code. They work for one version, with a `DeprecationWarning`.

Each function returns its argument as it is if it has today's signature.
"""

import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from iad_policy.types import Candidate, State, Verdict


def verifying_sets(verifier: Any) -> Any:
    """Return a verifier whose `verify` takes the state and a set of candidates.

    One that also takes `among` gets the whole set as `candidates`, and no others.

    Raises:
        TypeError: `verify` can't be replaced, because attributes can't be set on the verifier.
    """
    if _n_required(verifier.verify) != 3:
        return verifier
    _warn(
        f"expected verify(state, candidates) of {type(verifier).__name__}, got verify(state, candidates, among); drop "
        "`among`, and declare compares = True if a verdict depends on the other candidates"
    )
    try:
        verifier.compares = getattr(verifier, "compares", True)
        verifier.verify = _WithoutAmong(verifier.verify)
    except AttributeError:
        raise TypeError(
            f"expected verify(state, candidates) of {type(verifier).__name__}, got verify(state, candidates, among), "
            "which can't be adapted as it allows no new attributes; drop `among`"
        ) from None
    return verifier


def stopping_by_set(stop: Callable[..., bool]) -> Callable[[Candidate, Sequence[Candidate]], bool]:
    """Return a stop rule that takes the incumbent and all candidates tried so far."""
    if _n_required(stop) != 1:
        return stop
    _warn(f"expected a stop rule f(best, tried), got {_name(stop)}(best); add a second parameter")
    return lambda best, tried: stop(best)


def _n_required(function: Callable[..., Any]) -> int:
    """Return the number of positional arguments that a function needs, or 0 if it doesn't say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 0
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in kinds and one.default is one.empty for one in parameters)


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _warn(text: str) -> None:
    warnings.warn(f"{text}; the next version doesn't accept it", DeprecationWarning, stacklevel=3)


class _WithoutAmong:
    """A bound `verify` of three arguments, called with two. A class, so that verifiers can still be pickled."""

    def __init__(self, verify: Callable[..., Sequence[Verdict]]) -> None:
        self._verify = verify

    def __call__(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        return self._verify(state, candidates, ())
