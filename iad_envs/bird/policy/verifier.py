"""The proxy verifier of `IAD/BIRD-v0`: what is known about a query without gold, and the votes of other candidates.

It reads `info["facts"]` of the previews: the findings about each query, and the name of its result. The score of a
submitted query is its probability of success, see `calibration.py`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym

from iad_envs.bird.policy.calibration import AGREEMENT, WEIGHTS, own_odds, probability, vote_odds
from iad_policy.types import Candidate, State, Verdict
from iad_policy.types.information import Information

FAILED = 0.0
"""Score of a submitted query without a result: it can't be right."""
EMPTY = 0.01
"""Score of a submitted query whose result has no rows. No such query was right in the data of the fit."""


@dataclass(frozen=True, slots=True)
class ReadPreview:
    """What a candidate's preview says about its query.

    Attributes:
        kind: `submit`, `execute`, or "" for an invalid action.
        result: Name of its result. Equal results have equal names.
        findings: Its findings, those that speak most against it first.
        sql: The query.
        is_refined: Whether it was proposed with feedback.
    """

    kind: str
    result: str
    findings: tuple[Mapping[str, Any], ...]
    sql: str
    is_refined: bool

    @property
    def codes(self) -> frozenset[str]:
        """The kinds of its findings."""
        return frozenset(finding["code"] for finding in self.findings)

    @property
    def has_failed(self) -> bool:
        """Whether it has no result."""
        return not self.kind or any(finding["severity"] == "error" for finding in self.findings)

    @property
    def vote(self) -> float:
        """Weight of its vote: the probability that it is right, by its findings alone.

        It is half as much if it was proposed with feedback, as it may only repeat what it was shown.
        """
        if self.has_failed or "empty" in self.codes:
            return 0.0
        return probability(own_odds(self.codes)) * (0.5 if self.is_refined else 1.0)

    def critique(self) -> str:
        """Return its findings in words, without notes."""
        # A query that only looks at the data need not fit the question.
        about_answers = (
            *("shape", "only_number", "extra_columns", "id_unasked", "percentage", "operation_unused"),
            *("name_unused", "number_unused", "literal_unasked", "limit_unasked", "evidence_unused"),
        )
        left_out = about_answers if self.kind == "execute" else ()
        told = [one for one in self.findings if one["severity"] != "note" and one["code"] not in left_out]
        return " ".join(f"{one['message'].rstrip('.')}." for one in told)


class BirdVerifier:
    """Scores a submitted query by its probability of success. Other actions get ranks below those of likely answers.

    A verdict depends on all candidates, and on nothing in their order. Queries that are only executed vote too.

    Args:
        env: Not used. The verifier reads previews only.
        agreement: Weight of the votes. 0 judges each candidate by itself.
    """

    information: Information = "proxy"
    needs_preview = True
    reads_info = True
    compares = True

    def __init__(self, env: gym.Env[Any, Any] | None = None, *, agreement: float = AGREEMENT) -> None:
        self._agreement = agreement
        # Its number is raised with every change of the scores, so that no run goes on with other ones.
        self.identity = f"proxy:bird:2 agreement={agreement:g}"

    def verify(self, state: State, candidates: Sequence[Candidate]) -> Sequence[Verdict]:
        """Score each candidate's preview, and compare it with the others' results."""
        previews = [read_preview(candidate) for candidate in candidates]
        return [
            self._answer(one, [*previews[:place], *previews[place + 1 :]])
            if one.kind == "submit"
            else _look(state, one)
            for place, one in enumerate(previews)
        ]

    def _answer(self, one: ReadPreview, others: Sequence[ReadPreview]) -> Verdict:
        details = {code: WEIGHTS.get(code, 0.0) for code in sorted(one.codes)}
        if one.has_failed or "empty" in one.codes:
            return Verdict(FAILED if one.has_failed else EMPTY, one.critique(), passed=False, details=details)
        # fsum rounds once, so that the order of the candidates can't change a score.
        same = math.fsum(other.vote for other in others if other.result == one.result)
        different = math.fsum(other.vote for other in others if other.result != one.result)
        odds = own_odds(one.codes)
        score = probability(odds + self._agreement * vote_odds(same, different))
        fine = "Nothing odd: it runs, and what it returns fits the question's wording."
        details |= {"alone": probability(odds), "votes_same": same, "votes_other": different}
        passed = score >= 0.5 and not one.codes & WEIGHTS.keys()
        return Verdict(score, one.critique() or (fine if passed else ""), passed=passed, details=details)


def read_preview(candidate: Candidate) -> ReadPreview:
    """Return what a candidate's preview says about its query.

    Raises:
        ValueError: The candidate has no preview.
    """
    if candidate.preview is None:
        raise ValueError(f"expected a preview of {candidate.action!r:.200}, got none; a driver attaches it")
    facts, page = candidate.preview.info["facts"], candidate.preview.info["page"]
    is_refined = candidate.feedback is not None
    if facts["complaint"]:
        complaint = {"code": "invalid", "severity": "error", "message": facts["complaint"]}
        return ReadPreview("", "", (complaint,), "", is_refined)
    findings = tuple(sorted(facts["findings"], key=lambda finding: WEIGHTS.get(finding["code"], 0.0)))
    return ReadPreview(facts["kind"], facts["result"].partition(":")[2], findings, page["sql"], is_refined)


def _look(state: State, one: ReadPreview) -> Verdict:
    """Rank an action that doesn't end the episode. Without a step after it, it leads to nothing."""
    details = {code: WEIGHTS.get(code, 0.0) for code in sorted(one.codes)}
    pages = [info["page"] for info in (*(turn.info for turn in state.history), state.info) if "page" in info]
    executed = {page["sql"] for page in pages if page["kind"] == "execute"}
    # They only rank: looking again is better than to submit what is known to fail, and worse than what may be right.
    if state.steps_left <= 1:
        score = FAILED
    elif not one.kind:
        score = 0.03
    elif one.sql in executed:
        score = 0.06
    else:
        score = 0.08 if one.has_failed else 0.1
    return Verdict(score, one.critique(), details=details)
