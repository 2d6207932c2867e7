"""Single candidates with a label, in the form that TRL trains KTO on (unpaired preferences)."""

from collections.abc import Iterator

from iad_policy.ledger.episode import Episode
from iad_policy.report.exports.pairs import PreferenceExample, feedback_of, preferences, score_of
from iad_policy.report.exports.tables import MESSAGES, ExportTable, Row, Source
from iad_policy.types import Candidate


def _rows(source: Source, episode: Episode) -> Iterator[Row]:
    prompter, record, steps = source.prompter, episode.record, episode.steps
    for place, step in enumerate(steps):
        for candidate, label, pair in _labelled(list(preferences(step, source.min_margin))):
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
                "logprob": None if candidate.logprobs is None else sum(candidate.logprobs),
            }


def _labelled(pairs: list[PreferenceExample]) -> Iterator[tuple[Candidate, bool, PreferenceExample]]:
    """Yield the committed candidate once, with the clearest of its pairs, and what was rejected for it."""
    if pairs:
        clearest = max(pairs, key=lambda pair: (pair.by == "verifier", pair.margin or 0.0))
        yield clearest.chosen, True, clearest
    for pair in pairs:
        yield pair.rejected, False, pair


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
    _rows,
    absent="decisions with a committed and a rejected candidate",
)
