"""Measures what the scores of a verifier of `IAD/BIRD-v0` say about success, on candidates that it was not fitted to.

`python benchmarks/support/bird_evidence.py` prints it for the proxy verifier. With `IAD_REAL_DATA` and `IAD_VECTORS`
set, it includes the predictions of published systems. `--full` takes more sets of candidates, so that the choices among
n of them depend less on which sets were drawn.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from support.bird_candidates import N_SETS, CandidateSet, Labelled, candidate_sets, recorded_sets, sources

from iad_envs.bird.policy.verifier import BirdVerifier
from iad_policy.report.verifier_evidence import VerifierEvidence, evidence
from iad_policy.strategies.building_blocks.voting import majority
from iad_policy.types import Candidate, Verifier

SIZES = (4, 6)


class Choice(NamedTuple):
    """Success of a choice among n candidates, as means over tasks.

    Attributes:
        single: The first candidate.
        vote: The majority's choice by result.
        chosen: The verifier's choice, the first among equals.
        passed: The best possible choice (pass@n).
        n_tasks: Number of tasks.
    """

    single: float
    vote: float
    chosen: float
    passed: float
    n_tasks: int

    @property
    def gap_closed(self) -> float:
        """The share of the gap between vote and pass@n that the verifier closes. NaN if there is none."""
        gap = self.passed - self.vote
        return (self.chosen - self.vote) / gap if gap > 0 else float("nan")


class SetScores(NamedTuple):
    """A set of candidates with the scores of a verifier."""

    one: CandidateSet
    scores: tuple[float, ...]


def bird_evidence(
    source: str = "mixed",
    *,
    recorded: Sequence[Path] = (),
    data_dir: Path | None = None,
    n_tasks: int | None = None,
    verifier: Verifier | None = None,
) -> VerifierEvidence:
    """Return how well a verifier's scores of submitted queries tell success, on held-out tasks.

    Args:
        source: The source of the candidates, one of `bird_candidates.sources`.
        recorded: Files with candidates of other agents; see `recorded_sets`. If given, only these are measured.
        data_dir: Data folder of the recorded candidates. Default: the bundled one.
        n_tasks: Maximum number of tasks. None takes all.
        verifier: The verifier. Default: the proxy verifier.
    """
    own = recorded_sets(recorded, data_dir) if recorded else candidate_sets(source, "held_out", n_tasks=n_tasks)
    return evidence_on(scored_sets(own, verifier))


def scored_sets(given: Sequence[CandidateSet], verifier: Verifier | None = None) -> list[SetScores]:
    """Return sets of candidates with a verifier's scores, by default those of the proxy verifier."""
    made = verifier or BirdVerifier()
    return [_scored(made, one) for one in given]


def _scored(verifier: Verifier, one: CandidateSet) -> SetScores:
    verdicts = verifier.verify(one.state, [member.candidate for member in one.members])
    return SetScores(one, tuple(verdict.score for verdict in verdicts))


def evidence_on(scored: Sequence[SetScores], *, with_rows: bool = False) -> VerifierEvidence:
    """Return how well the scores of submitted queries tell success.

    Args:
        scored: Sets of candidates with their scores.
        with_rows: Whether to leave out queries that fail or give no row, which any verifier finds.
    """
    values, labels, tasks = [], [], []
    for one, scores in scored:
        for member, value in zip(one.members, scores, strict=True):
            is_counted = not one.counted or member.source in one.counted
            if member.candidate.is_terminal and is_counted and (not with_rows or _has_rows(member.candidate)):
                values.append(value)
                labels.append(member.is_right)
                tasks.append(one.task_id)
    return evidence(values, labels, tasks=tasks)


def _has_rows(candidate: Candidate) -> bool:
    assert candidate.preview is not None
    return bool(candidate.preview.info["page"]["n_rows"])


def choice_among(scored: Sequence[SetScores], size: int) -> Choice:
    """Return how good the choices among `size` candidates are."""
    by_task: dict[str, list[tuple[bool, ...]]] = defaultdict(list)
    for one, scores in (found for found in scored if len(found.scores) == size):
        is_right = [member.is_right for member in one.members]
        best = scores.index(max(scores))
        by_task[one.task_id].append((is_right[0], _voted(one.members).is_right, is_right[best], any(is_right)))
    means = [[fmean(column) for column in zip(*own, strict=True)] for own in by_task.values()]
    single, vote, chosen, passed = map(fmean, zip(*means, strict=True))
    return Choice(single, vote, chosen, passed, len(by_task))


def _voted(members: Sequence[Labelled]) -> Labelled:
    chosen = majority([member.candidate for member in members])
    return next(member for member in members if member.candidate is chosen)


def main() -> None:
    """Print the evidence for the proxy verifier."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="more sets of candidates")
    n_sets = 10 * N_SETS if parser.parse_args().full else N_SETS
    for source in sources("held_out"):
        scored = scored_sets(candidate_sets(source, "held_out", n_sets=n_sets))
        print(f"{source}\n  all submits: {evidence_on(scored)}")
        print(f"  with rows:   {evidence_on(scored, with_rows=True)}")
        for size in SIZES:
            choice = choice_among(scored, size)
            print(
                f"  n={size}: single {choice.single:.3f}, vote {choice.vote:.3f}, verifier {choice.chosen:.3f}, "
                f"pass@n {choice.passed:.3f}, gap closed {choice.gap_closed:.2f} ({choice.n_tasks} tasks)"
            )


if __name__ == "__main__":
    main()
