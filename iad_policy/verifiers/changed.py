"""Verifiers whose verdicts are changed on purpose: noisy, mostly 0, calibrated, without a vote, or with true ends.

The first two test how robust a method is. The strategy sees the changed score only, without the verdict's details. The
episode's own success and progress are never touched. The label is that of the inner verifier, but for `oracle`.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.registry import with_defaults
from iad_policy.types import Candidate, LoadedVerifier, State, Verdict, Verifier
from iad_policy.types.hashing import seed_of
from iad_policy.types.information import Information
from iad_policy.types.names import SPARSITY
from iad_policy.verifiers import load_verifier
from iad_policy.verifiers.oracle import OracleVerifier

LEVELS: Mapping[str, float] = dict(zip(SPARSITY, (-math.inf, 0.25, 0.5, 0.75), strict=True))
"""Level of sparsity -> the threshold up to which scores are 0. The papers name the levels but not the thresholds."""


class ChangedVerifier(ABC):
    """Another verifier with changed verdicts.

    Args:
        inner: The verifier.
        name: Name of the change, for the identity.
    """

    def __init__(self, inner: Verifier, name: str) -> None:
        self._inner: LoadedVerifier = with_defaults(inner, LoadedVerifier)
        self._name = name
        self.information: Information = inner.information
        self.needs_preview = inner.needs_preview
        self.compares = self._inner.compares
        self.per_candidate = self._inner.per_candidate
        self.reads_info = self._inner.reads_info
        self.trained_on = self._inner.trained_on

    @property
    def identity(self) -> str:
        """Everything its answers depend on."""
        inner = self._inner.identity or f"{type(self._inner).__module__}:{type(self._inner).__name__}"
        return f"{self._name} {inner}"

    @property
    def model(self) -> Any:
        """The language model inside, or None."""
        return self._inner.model

    @model.setter
    def model(self, model: Any) -> None:
        self._inner.model = model

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return the changed verdicts. A verdict that says verification failed stays as it is."""
        verdicts: Sequence[Verdict] = list(self._inner.verify(state, candidates))
        if len(verdicts) != len(candidates):
            return verdicts  # the driver refuses them
        return [
            self._changed(state, *pair) if math.isfinite(pair[1].score) else pair[1]
            for pair in zip(candidates, verdicts, strict=True)
        ]

    @abstractmethod
    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        """Return the changed form of a verdict."""


class NoisyVerifier(ChangedVerifier):
    """Adds Gaussian noise to the scores. The same action in the same state always gets the same noise.

    The decision to finalise is removed, as it would show the true score.

    Args:
        inner: The verifier.
        sd: Standard deviation of the noise, in units of the score.
    """

    def __init__(self, inner: Verifier, sd: float) -> None:
        if not 0.0 <= sd < math.inf:
            raise ValueError(f"expected a standard deviation of 0 or more, got {sd}; such as noisy:0.2:proxy")
        super().__init__(inner, f"noisy:{sd:g}")
        self._sd = sd

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        noise = Random(seed_of("noise", state.id, candidate.key)).gauss(0.0, self._sd)
        return replace(verdict, score=verdict.score + noise, passed=None, details={})


class SparseVerifier(ChangedVerifier):
    """Keeps scores above a threshold. All others become 0, without a critique or a decision to finalise.

    Args:
        inner: The verifier.
        threshold: The threshold, in units of the score.
    """

    def __init__(self, inner: Verifier, threshold: float) -> None:
        super().__init__(inner, f"sparse:{threshold:g}")
        self._threshold = threshold

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        return replace(verdict, details={}) if verdict.score > self._threshold else Verdict(0.0)


class BinaryVerifier(ChangedVerifier):
    """Says 1 for a score of 1 or more, and else 0, as a reward of success alone does.

    Args:
        inner: The verifier.
    """

    def __init__(self, inner: Verifier) -> None:
        super().__init__(inner, "binary")

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        return replace(verdict, score=float(verdict.score >= 1.0), details={})


class CalibratedVerifier(ChangedVerifier):
    """Turns scores into chances of success: 1 / (1 + exp(-(offset + slope * score))). Their order stays.

    Args:
        inner: The verifier.
        offset: Log-odds of success at a score of 0.
        slope: What a score of 1 adds to them, above 0.
    """

    def __init__(self, inner: Verifier, offset: float, slope: float) -> None:
        if not (math.isfinite(offset) and 0.0 < slope < math.inf):
            raise ValueError(
                f"expected a finite offset and a slope above 0, got {offset:g} and {slope:g}; such as "
                "calibrated:-1.5:4:proxy, as iad advise prints it"
            )
        super().__init__(inner, f"calibrated:{offset:g}:{slope:g}")
        self._offset, self._slope = offset, slope

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        odds = self._offset + self._slope * verdict.score
        return replace(verdict, score=1 / (1 + math.exp(-min(max(odds, -500.0), 500.0))))


class LoneVerifier(ChangedVerifier):
    """Shows the verifier one candidate at a time, so that no verdict depends on the other candidates.

    A verifier that counts agreement then has no vote to count.

    Args:
        inner: The verifier.
    """

    def __init__(self, inner: Verifier) -> None:
        super().__init__(inner, "alone")
        self.compares = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return its verdicts, each for one candidate alone."""
        return [verdict for one in candidates for verdict in self._inner.verify(state, [one])]

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        return verdict


class TerminalOracleVerifier(ChangedVerifier):
    """Scores what ends the episode by its true reward, and everything else as another verifier does.

    This is a leak of published code (QLASS), as an option: what it is worth can be measured. It is labelled `oracle`.

    Args:
        inner: The other verifier. It sees no gold.
    """

    def __init__(self, inner: Verifier) -> None:
        super().__init__(inner, "terminal-oracle")
        self.information = "oracle"
        self.needs_preview = True
        self.compares = self.per_candidate = self.reads_info = False

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Return the verdicts."""
        blind = [
            one if one.preview is None else replace(one, preview=replace(one.preview, gold=None)) for one in candidates
        ]
        verdicts: Sequence[Verdict] = list(self._inner.verify(state, blind))
        if len(verdicts) != len(candidates):
            return verdicts  # the driver refuses them
        return [self._changed(state, *pair) for pair in zip(candidates, verdicts, strict=True)]

    def _changed(self, state: State, candidate: Candidate, verdict: Verdict) -> Verdict:
        preview = candidate.preview
        is_end = preview is not None and preview.done and not preview.is_awaiting
        return OracleVerifier().verify(state, [candidate])[0] if is_end else verdict


def binary(env: gym.Env[Any, Any], argument: str = "oracle") -> BinaryVerifier:
    """Say 1 for a score of 1 or more of another verifier, and else 0: `binary:<verifier>`."""
    return BinaryVerifier(load_verifier(argument, env))


def alone(env: gym.Env[Any, Any], argument: str = "proxy") -> LoneVerifier:
    """Verify each candidate alone, without a vote: `alone:<verifier>`."""
    return LoneVerifier(load_verifier(argument, env))


def terminal_oracle(env: gym.Env[Any, Any], argument: str = "proxy") -> TerminalOracleVerifier:
    """Score ends by the true reward, and other candidates by another verifier: `terminal-oracle:<verifier>`."""
    return TerminalOracleVerifier(load_verifier(argument, env))


def noisy(env: gym.Env[Any, Any], argument: str = "") -> NoisyVerifier:
    """Add noise to another verifier's scores: `noisy:<sd>:<verifier>`.

    Raises:
        ValueError: The name has another form.
    """
    sd, inner = _split(argument, "noisy:<sd>:<verifier>, such as noisy:0.2:proxy")
    return NoisyVerifier(load_verifier(inner, env), _number(sd, "noisy:0.2:proxy"))


def calibrated(env: gym.Env[Any, Any], argument: str = "") -> CalibratedVerifier:
    """Turn another verifier's scores into chances of success: `calibrated:<offset>:<slope>:<verifier>`.

    Raises:
        ValueError: The name has another form.
    """
    form = "calibrated:<offset>:<slope>:<verifier>, such as calibrated:-1.5:4:proxy"
    offset, rest = _split(argument, form)
    slope, inner = _split(rest, form)
    numbers = [_number(one, "calibrated:-1.5:4:proxy") for one in (offset, slope)]
    return CalibratedVerifier(load_verifier(inner, env), *numbers)


def sparse(env: gym.Env[Any, Any], argument: str = "") -> SparseVerifier:
    """Hide most of another verifier's scores: `sparse:<level>:<verifier>`.

    A level is none, low, medium, high, or a number, which is the threshold itself.

    Raises:
        ValueError: The name has another form.
    """
    level, inner = _split(argument, f"sparse:<level>:<verifier>, such as sparse:medium:proxy; levels {[*LEVELS]}")
    threshold = LEVELS[level] if level in LEVELS else _number(level, "none, low, medium or high")
    return SparseVerifier(load_verifier(inner, env), threshold)


def _split(argument: str, form: str) -> tuple[str, str]:
    how, _, inner = argument.partition(":")
    if not how or not inner:
        raise ValueError(f"expected a verifier's name of the form {form}, got {argument!r} after its first word")
    return how, inner


def _number(text: str, instead: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"expected a number in the verifier's name, got {text!r}; such as {instead}") from None
