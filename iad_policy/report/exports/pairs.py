"""What a decision says of its candidates: which was preferred to which, by how much, and who says so."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from iad_policy.ledger.episode import RecordedStep
from iad_policy.types import Candidate

By = Literal["verifier", "strategy", "format"]


class PreferenceExample(NamedTuple):
    """The committed candidate and a rejected one.

    Attributes:
        chosen: The committed one.
        rejected: The other.
        by: `verifier` where both have a score; `format` where the other is no action; else `strategy`: a vote, say.
        margin: By how much the committed one scored higher; None where the scores don't say.
        n_chosen: How many proposals of the decision were equal to the committed one: its votes.
        n_rejected: Likewise.
    """

    chosen: Candidate
    rejected: Candidate
    by: By
    margin: float | None
    n_chosen: int
    n_rejected: int


def preferences(step: RecordedStep, min_margin: float = 0.0) -> Iterator[PreferenceExample]:
    """Yield what was preferred where a decision was made; each different action once, as it was proposed first.

    Candidates for simulated states are left out. Where both were verified it is the scores that count: a pair whose
    margin is 0, negative (a vote against the verifier) or less than `min_margin` is left out.

    Args:
        step: Of an episode.
        min_margin: Least margin of a verifier's preference (theta of Agent Q, arXiv 2408.07199, eq. 10).
    """
    before, committed = step.before, step.decision.committed
    here = [one for one in step.decision.candidates if before is not None and one.at == before.id]
    chosen = next((one for one in here if one.id == committed.id and not one.error), None)
    if chosen is None:
        return
    votes = Counter(one.key for one in here if not one.error)
    told = {chosen.key}
    for one in here:
        name = one.key if not one.error else f"{one.thought} {one.error}"
        if name in told or (one.error and not (one.thought or one.action)):
            continue
        told.add(name)
        by, margin = _said(chosen, one)
        if by != "verifier" or (margin is not None and margin > 0 and margin >= min_margin):
            yield PreferenceExample(chosen, one, by, margin, votes[chosen.key], votes[one.key])


def score_of(candidate: Candidate) -> float | None:
    """Return a candidate's score; None where it was not verified, or the verifier failed."""
    score = math.nan if candidate.verdict is None else candidate.verdict.score
    return score if math.isfinite(score) else None


def feedback_of(candidate: Candidate) -> str:
    """Return the text of a candidate's feedback; "" where it was proposed without."""
    return "" if candidate.feedback is None else candidate.feedback.text


def _said(chosen: Candidate, rejected: Candidate) -> tuple[By, float | None]:
    if rejected.error:
        return "format", None
    high, low = score_of(chosen), score_of(rejected)
    return ("strategy", None) if high is None or low is None else ("verifier", high - low)
