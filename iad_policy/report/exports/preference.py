"""Pairs of a committed and a rejected candidate, in the form that TRL trains DPO on."""

from collections.abc import Iterator

from iad_policy.ledger.episode import Episode
from iad_policy.report.exports.pairs import feedback_of, preferences, score_of
from iad_policy.report.exports.tables import MESSAGES, ExportTable, Row, Source
from iad_policy.types import Candidate


def _rows(source: Source, episode: Episode) -> Iterator[Row]:
    prompter, record, steps = source.prompter, episode.record, episode.steps
    for place, step in enumerate(steps):
        for pair in preferences(step, source.min_margin):
            chosen = prompter.completion(record.agent, pair.chosen)
            rejected = prompter.completion(record.agent, pair.rejected)
            if chosen == rejected:
                continue
            yield {
                **source.head(record),
                "step": step.index,
                "prompt": prompter.messages(record.agent, steps, place),
                "chosen": chosen,
                "rejected": rejected,
                "preferred_by": pair.by,
                "margin": pair.margin,
                "n_chosen": pair.n_chosen,
                "n_rejected": pair.n_rejected,
                **_told("chosen", pair.chosen),
                **_told("rejected", pair.rejected),
            }


def _told(name: str, candidate: Candidate) -> Row:
    return {
        f"{name}_score": score_of(candidate),
        f"{name}_feedback": feedback_of(candidate),
        f"{name}_logprob": None if candidate.logprobs is None else sum(candidate.logprobs),
    }


PREFERENCE = ExportTable(
    {
        "step": int,
        "prompt": MESSAGES,
        "chosen": MESSAGES,
        "rejected": MESSAGES,
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
    _rows,
    absent="decisions with a committed and a rejected candidate",
)
