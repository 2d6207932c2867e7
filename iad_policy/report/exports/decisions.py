"""Every decision with all its candidates, and every episode: what happened, as data."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from iad_policy.ledger.episode import Episode
from iad_policy.models.tools import message_text
from iad_policy.report.exports.examples import feedback_of, score_of
from iad_policy.report.exports.tables import MESSAGES, ExportTable, Kind, Row, Source
from iad_policy.types import Candidate, State
from iad_policy.types.hashing import encode
from iad_policy.types.texts import shown

OF_EPISODE: Mapping[str, Kind] = {
    "n_steps": int,
    "grounding": float,
    **dict.fromkeys(("difficulty", "stop_reason", "cut", "error_kind", "error"), str),
    **dict.fromkeys(("proposals", "verifications", "simulations", "tokens"), int),
    "usd": float,
    "wall_s": float,
}
"""What a record says of its episode, or of its spending, in these words."""


def _episode(source: Source, episode: Episode) -> Iterator[Row]:
    record = episode.record
    yield {
        **source.head(record),
        **{name: getattr(record if hasattr(record, name) else record.spent, name) for name in OF_EPISODE},
        "progress_by_step": list(record.progress_by_step),
        "actions": [action if isinstance(action, str) else json.dumps(action) for action in record.actions],
    }


def _decisions(source: Source, episode: Episode) -> Iterator[Row]:
    head = source.head(episode.record)
    for step in episode.steps:
        decision, before, after = step.decision, step.before, step.after
        info = {} if before is None else before.info
        yield {
            **head,
            "step": step.index,
            "instruction": str(info.get("instruction", "")),
            "observation": text_of(before),
            "available_actions": [str(action) for action in info.get("available_actions", ())],
            "action": "" if step.action is None else _action(step.action),
            "reward": step.reward,
            "done": after is not None and after.done,
            "next_observation": text_of(after),
            "cut": decision.cut,
            "candidates": [_candidate(one, before, decision.committed.id) for one in decision.candidates],
            "asked": [{"role": one.role, "text": one.text, "source": one.source} for one in decision.role_answers],
        }


def _candidate(one: Candidate, before: State | None, committed: str) -> Row:
    verdict, preview = one.verdict, one.preview
    return {
        "id": one.id,
        "action": "" if one.action is None else _action(one.action),
        "thought": one.thought,
        "error": one.error,
        "feedback": feedback_of(one),
        "is_committed": one.id == committed,
        "is_here": before is not None and one.at == before.id,
        "score": score_of(one),
        "passed": None if verdict is None else verdict.passed,
        "critique": "" if verdict is None else verdict.critique,
        "preview": text_of(preview),
        "preview_done": None if preview is None else preview.done,
        "logprobs": None if one.logprobs is None else list(one.logprobs),
        "exchanges": [
            {
                "prompt": [{"role": said["role"], "content": message_text(said)} for said in exchange.prompt],
                "text": exchange.text,
                "finish": exchange.finish,
                "sampling": json.dumps(dict(exchange.sampling)),
                "logprob_kind": exchange.logprob_kind,
                "cached_tokens": exchange.cached_tokens,
            }
            for exchange in one.exchanges
        ],
        "prompt_tokens": one.usage.prompt_tokens,
        "completion_tokens": one.usage.completion_tokens,
    }


def _action(action: Any) -> str:
    return action if isinstance(action, str) else json.dumps(encode(action))


def text_of(state: State | None) -> str:
    """Return what was observed in a state as a text; "" where there is no state."""
    if state is None:
        return ""
    return state.observation if isinstance(state.observation, str) else shown(state.observation, 2**31)


EPISODES = ExportTable(
    {**OF_EPISODE, "progress_by_step": [float], "actions": [str]}, _episode, suffix=".episodes", is_scored_only=False
)
DECISIONS = ExportTable(
    {
        "step": int,
        "instruction": str,
        "observation": str,
        "available_actions": [str],
        "action": str,
        "reward": float,
        "done": bool,
        "next_observation": str,
        "cut": str,
        "candidates": [
            {
                **dict.fromkeys(("id", "action", "thought", "error", "feedback"), str),
                "is_committed": bool,
                "is_here": bool,
                "score": float,
                "passed": bool,
                "critique": str,
                "preview": str,
                "preview_done": bool,
                "logprobs": [float],
                "exchanges": [
                    {
                        "prompt": MESSAGES,
                        **dict.fromkeys(("text", "finish", "sampling", "logprob_kind"), str),
                        "cached_tokens": int,
                    }
                ],
                "prompt_tokens": int,
                "completion_tokens": int,
            }
        ],
        "asked": [{"role": str, "text": str, "source": str}],
    },
    _decisions,
    is_scored_only=False,
    absent="decisions",
)
