"""Committed actions as conversations, in the form that TRL's supervised fine-tuning takes: a row per step."""

from collections.abc import Iterator

from iad_policy.ledger.episode import Episode
from iad_policy.report.exports.pairs import feedback_of, score_of
from iad_policy.report.exports.tables import MESSAGES, ExportTable, Row, Source


def _rows(source: Source, episode: Episode) -> Iterator[Row]:
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
            "logprob": None if committed.logprobs is None else sum(committed.logprobs),
        }


SFT = ExportTable(
    {"step": int, "messages": MESSAGES, "reward": float, "score": float, "feedback": str, "logprob": float},
    _rows,
    absent="committed answers",
)
