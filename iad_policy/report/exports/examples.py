"""Training examples in the forms of TRL: committed actions, preferred pairs, and single candidates with a label."""

import math
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from iad_policy.ledger.episode import Episode, RecordedStep
from iad_policy.report.exports.tables import MESSAGES, ExportTable, Row, Source
from iad_policy.types import Candidate


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
    by: Literal["verifier", "strategy", "format"]
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
        high, low = score_of(chosen), score_of(one)
        n_votes = votes[chosen.key], votes[one.key]
        if one.error:
            yield PreferenceExample(chosen, one, "format", None, *n_votes)
        elif high is None or low is None:
            yield PreferenceExample(chosen, one, "strategy", None, *n_votes)
        elif high > low and high - low >= min_margin:
            yield PreferenceExample(chosen, one, "verifier", high - low, *n_votes)


def score_of(candidate: Candidate) -> float | None:
    """Return a candidate's score; None where it was not verified, or the verifier failed."""
    score = math.nan if candidate.verdict is None else candidate.verdict.score
    return score if math.isfinite(score) else None


def feedback_of(candidate: Candidate) -> str:
    """Return the text of a candidate's feedback; "" where it was proposed without."""
    return "" if candidate.feedback is None else candidate.feedback.text


def _logprob(candidate: Candidate) -> float | None:
    return None if candidate.logprobs is None else sum(candidate.logprobs)


def _sft(source: Source, episode: Episode) -> Iterator[Row]:
    prompter, record, steps = source.prompter, episode.record, episode.steps
    for place, step in enumerate(steps):
        committed = step.proposed
        if committed is None or committed.error or step.before is None:
            continue  # what stood in for an answer that is none was nobody's answer
        asked = prompter.messages(record.agent, steps, place)
        yield {
            **source.head(record),
            "step": step.index,
            "messages": [*asked, *prompter.completion(record.agent, committed)],
            "reward": step.reward,
            "score": score_of(committed),
            "feedback": feedback_of(committed),
            "logprob": _logprob(committed),
        }


def _preference(source: Source, episode: Episode) -> Iterator[Row]:
    prompter, record, steps = source.prompter, episode.record, episode.steps
    for place, step in enumerate(steps):
        for pair in preferences(step, source.min_margin):
            both = {"chosen": pair.chosen, "rejected": pair.rejected}
            answers = {name: prompter.completion(record.agent, one) for name, one in both.items()}
            if answers["chosen"] == answers["rejected"]:
                continue
            row = {
                **source.head(record),
                "step": step.index,
                "prompt": prompter.messages(record.agent, steps, place),
                **answers,
                "preferred_by": pair.by,
                "margin": pair.margin,
                "n_chosen": pair.n_chosen,
                "n_rejected": pair.n_rejected,
            }
            for name, one in both.items():
                row[f"{name}_score"], row[f"{name}_feedback"] = score_of(one), feedback_of(one)
                row[f"{name}_logprob"] = _logprob(one)
            yield row


def _kto(source: Source, episode: Episode) -> Iterator[Row]:
    """Yield the committed candidate once, with the clearest of its pairs, and what was rejected for it."""
    prompter, record, steps = source.prompter, episode.record, episode.steps
    for place, step in enumerate(steps):
        pairs = list(preferences(step, source.min_margin))
        labelled = [(pair.rejected, False, pair) for pair in pairs]
        if pairs:
            clearest = max(pairs, key=lambda pair: (pair.by == "verifier", pair.margin or 0.0))
            labelled.insert(0, (clearest.chosen, True, clearest))
        for candidate, label, pair in labelled:
            yield {
                **source.head(record),
                "step": step.index,
                "prompt": prompter.messages(record.agent, steps, place),
                "completion": prompter.completion(record.agent, candidate),
                "label": label,
                "preferred_by": pair.by,
                "margin": pair.margin,
                "score": score_of(candidate),
                "feedback": feedback_of(candidate),
                "logprob": _logprob(candidate),
            }


SFT = ExportTable(
    {"step": int, "messages": MESSAGES, "reward": float, "score": float, "feedback": str, "logprob": float},
    _sft,
    absent="committed answers",
)
PREFERENCE = ExportTable(
    {
        "step": int,
        **dict.fromkeys(("prompt", "chosen", "rejected"), MESSAGES),
        "preferred_by": str,
        "margin": float,
        "n_chosen": int,
        "n_rejected": int,
        "chosen_score": float,
        "chosen_feedback": str,
        "chosen_logprob": float,
        "rejected_score": float,
        "rejected_feedback": str,
        "rejected_logprob": float,
    },
    _preference,
    absent="decisions with a committed and a rejected candidate",
)
KTO = ExportTable(
    {
        "step": int,
        "prompt": MESSAGES,
        "completion": MESSAGES,
        "label": bool,
        "preferred_by": str,
        "margin": float,
        "score": float,
        "feedback": str,
        "logprob": float,
    },
    _kto,
    absent=PREFERENCE.absent,
)
