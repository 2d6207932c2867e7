"""Verifiers made worse on purpose, to see what a method makes of it: noise on the scores, or scores that are mostly 0.

What selects sees the corrupted score only: the verdict's parts are left out, and with a score its words and its say on
finalising go. The episode's own success and progress are never touched. The label is that of the verifier inside.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.hashing import seed_of
from iad_policy.types import Candidate, Information, State, Verdict, Verifier
from iad_policy.verifiers import load_verifier

LEVELS: Mapping[str, float] = {"none": -math.inf, "low": 0.25, "medium": 0.5, "high": 0.75}
"""Level of sparsity -> what a score must be above to be seen; the papers name the levels and not the thresholds."""


class Corrupted(ABC):
    """Another verifier, whose verdicts are changed.

    Args:
        inner: The verifier.
        name: What is done to it, for its identity.
    """

    def __init__(self, inner: Verifier, name: str) -> None:
        self._inner: Any = inner
        self._name = name
        self.information: Information = inner.information
        self.needs_preview = inner.needs_preview
        self.per_candidate = bool(getattr(inner, "per_candidate", False))

    @property
    def identity(self) -> str:
        """Names all that its answers depend on."""
        inner = getattr(self._inner, "identity", "") or f"{type(self._inner).__module__}:{type(self._inner).__name__}"
        return f"{self._name} {inner}"

    @property
    def model(self) -> Any:
        """The language model inside; no attribute where there is none."""
        return self._inner.model

    @model.setter
    def model(self, model: Any) -> None:
        self._inner.model = model

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return the changed verdicts; one that says verification failed stays."""
        verdicts: Sequence[Verdict] = list(self._inner.verify(state, candidates, among))
        if len(verdicts) != len(candidates):
            return verdicts  # for the driver to refuse
        return [
            self._changed(state, candidate, verdict) if math.isfinite(verdict.score) else verdict
            for candidate, verdict in zip(candidates, verdicts, strict=True)
        ]

    @abstractmethod
    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        """Return what is made of a verdict."""


class NoisyVerifier(Corrupted):
    """Adds Gaussian noise to the scores; the same action in the same state always gets the same.

    Args:
        inner: The verifier.
        sd: The noise's standard deviation, in units of the score.
    """

    def __init__(self, inner: Verifier, sd: float) -> None:
        if not 0.0 <= sd < math.inf:
            raise ValueError(f"expected a standard deviation of 0 or more, got {sd}; such as noisy:0.2:proxy")
        super().__init__(inner, f"noisy:{sd:g}")
        self._sd = sd

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        noise = Random(seed_of("noise", state.id, candidate.key)).gauss(0.0, self._sd)
        return replace(verdict, score=verdict.score + noise, passed=None, details={})


class SparseVerifier(Corrupted):
    """Shows a score only above a threshold; any other is 0, without words.

    Args:
        inner: The verifier.
        threshold: In units of the score.
    """

    def __init__(self, inner: Verifier, threshold: float) -> None:
        super().__init__(inner, f"sparse:{threshold:g}")
        self._threshold = threshold

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        return replace(verdict, details={}) if verdict.score > self._threshold else Verdict(0.0)


class LoneVerifier(Corrupted):
    """Shows the verifier one candidate at a time, so that no verdict counts who else came to the same.

    One that counts agreement gives best-of-N a vote among all its candidates; a chain of refinements compares but two.

    Args:
        inner: The verifier.
    """

    def __init__(self, inner: Verifier) -> None:
        super().__init__(inner, "alone")

    def verify(self, state: State, candidates: Sequence[Candidate], among: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return its verdicts, each given without sight of the others."""
        return [verdict for one in candidates for verdict in self._inner.verify(state, [one], ())]

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        return verdict


def alone(env: gym.Env[Any, Any], argument: str = "proxy") -> LoneVerifier:
    """Another verifier that sees each candidate by itself, without a vote, named alone:<verifier>."""
    return LoneVerifier(load_verifier(argument, env))


def noisy(env: gym.Env[Any, Any], argument: str = "") -> NoisyVerifier:
    """Another verifier with noise on its scores, named noisy:<sd>:<verifier>.

    Raises:
        ValueError: Another form of name.
    """
    sd, inner = _parted(argument, "noisy:<sd>:<verifier>, such as noisy:0.2:proxy")
    return NoisyVerifier(load_verifier(inner, env), _number(sd, "noisy:0.2:proxy"))


def sparse(env: gym.Env[Any, Any], argument: str = "") -> SparseVerifier:
    """Another verifier that shows few scores, named sparse:<level>:<verifier>.

    A level is none, low, medium, high, or a number: the threshold itself.

    Raises:
        ValueError: Another form of name.
    """
    level, inner = _parted(argument, f"sparse:<level>:<verifier>, such as sparse:medium:proxy; levels {[*LEVELS]}")
    threshold = LEVELS[level] if level in LEVELS else _number(level, "none, low, medium or high")
    return SparseVerifier(load_verifier(inner, env), threshold)


def _parted(argument: str, form: str) -> tuple[str, str]:
    how, _, inner = argument.partition(":")
    if not how or not inner:
        raise ValueError(f"expected a verifier's name of the form {form}, got {argument!r} after its first word")
    return how, inner


def _number(text: str, instead: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected a number in the verifier's name, got {text!r}; such as {instead}") from None
