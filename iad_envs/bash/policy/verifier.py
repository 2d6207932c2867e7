"""The proxy verifier of `IAD/InterCodeBash-v0`: it compares what was done with the instruction. No gold.

A submission's score is the probability that the episode succeeds if it ends now. The model is logistic: a start value,
which depends on whether the task asks for a change or an answer, and a weight for each finding. The weights are in
`weights.toml`, fitted by `benchmarks/support/bash_verifier.py`.

A command's score only ranks. It grows with the probability of success of submitting right after it, and with the share
of the other candidates with the same result. A submission that is known to fail is below every command that leaves a
step, and a good one is above commands that lead to nothing better.
"""

import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym

from iad_envs.bash.policy.effects import Done
from iad_envs.bash.policy.findings import ShellFinding, findings_of
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information

LOOKING = 0.12
"""Score of a command after which submitting would surely fail. It may still show something."""
REACHING = 0.64
"""Score that a command gains if submitting right after it would surely succeed. A submission thus beats commands that
lead to nothing better if it succeeds with a probability of LOOKING / (1 - REACHING) = 1/3 or more."""


class Weights(NamedTuple):
    """The weights of the model, in log-odds.

    Attributes:
        start: Value without findings, by what the task asks for: `change`, `answer`, or `either` if that is not clear.
        findings: Weight of each finding, by name. Findings without a weight are told, but do not count.
    """

    start: Mapping[str, float]
    findings: Mapping[str, float]


@lru_cache(maxsize=1)
def weights() -> Weights:
    """Return the weights in `weights.toml`."""
    tables = tomllib.loads(Path(__file__).with_name("weights.toml").read_text(encoding="utf-8"))
    return Weights(tables["start"], tables["findings"])


class BashVerifier:
    """Scores a candidate by what it does and by what was done before, 0-1."""

    information: Information = "proxy"
    needs_preview = True
    reads_info = True
    compares = True
    identity = "proxy:bash:5"
    """Its number is raised with every change of the scores, so that no run goes on with other ones."""

    def __init__(self, env: gym.Env[Any, Any] | None = None) -> None:
        pass

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview. Commands with the same result support each other."""
        previews = [_previewed(candidate) for candidate in candidates]
        results = [
            (page["submitted"], page["output"], *(tuple(facts[kind]) for kind in ("created", "changed", "deleted")))
            for page, facts in ((preview.info["page"], preview.info["facts"]) for preview in previews)
        ]
        counts = Counter(results)
        n_others = max(len(candidates) - 1, 1)
        return [
            _submission(state) if result[0] else _command(preview, (counts[result] - 1) / n_others)
            for preview, result in zip(previews, results, strict=True)
        ]


def success(done: Done, found: Mapping[str, ShellFinding]) -> float:
    """Return the probability that the episode succeeds if the agent submits now."""
    start, weight_of = weights()
    asks_for = {True: "change", False: "answer", None: "either"}[done.instruction.asked.change]
    odds = start[asks_for] + sum(weight_of.get(name, 0.0) * finding.degree for name, finding in found.items())
    return 1.0 / (1.0 + math.exp(-odds))


def _previewed(candidate: Candidate) -> State:
    if candidate.preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r}, got none; a driver attaches it")
    return candidate.preview


def _submission(state: State) -> Verdict:
    """Judge what would be handed in."""
    done = Done.until(state)
    if not done.commands:
        return Verdict(0.0, "Nothing was done yet.", passed=False)
    found = findings_of(done)
    score = success(done, found)
    has_nothing = "nothing_printed" in found or (done.instruction.asked.change and "nothing_changed" in found)
    if has_nothing or not found.keys().isdisjoint(("failed", "invalid", "timed_out")):
        score = min(score, 0.1)
    return Verdict(score, _critique(found), passed=_is_clean(found), details=_details(found))


def _command(preview: State, agreement: float) -> Verdict:
    """Judge what a command leads to, alone and by how many others lead to the same."""
    done = Done.until(preview)
    found = findings_of(done)
    details = {**_details(found), "agreement": agreement}
    if preview.steps_left < 1:  # nothing can be handed in any more
        return Verdict(0.0, "It leaves no step to submit.", details=details)
    if preview.info["invalid_action"]:
        return Verdict(0.11, _critique(found), details=details)  # the next one may be better than a known failure
    if done.is_repetition:
        return Verdict(LOOKING, "It repeats an earlier command with the same output.", details=details)
    score = LOOKING + REACHING * success(done, found) + 0.05 * agreement  # which mostly decides ties
    return Verdict(score, _critique(found), passed=_is_clean(found) or None, details=details)


def _is_clean(found: Mapping[str, ShellFinding]) -> bool:
    return not any(weights().findings.get(name) for name in found)


def _critique(found: Mapping[str, ShellFinding]) -> str:
    texts = [f"{finding.text[0].upper()}{finding.text[1:]}" for finding in found.values()]
    return " ".join(text if text.endswith("?") else f"{text}." for text in texts) or "Nothing speaks against it."


def _details(found: Mapping[str, ShellFinding]) -> dict[str, float]:
    """Return how much each finding changes the log-odds of success."""
    return {name: weights().findings.get(name, 0.0) * finding.degree for name, finding in found.items()}
