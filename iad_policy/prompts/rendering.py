"""Renders states, actions and previews as text, using only information that an agent may see."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from iad_policy.types import Candidate, State, Turn

OBSERVATION_CHARS = 12_000
OLD_OBSERVATION_CHARS = 400
N_OLD_OBSERVATIONS = 3
"""Number of latest turns whose observation is shown, shortened. Older turns show only the action."""
N_OLD_TURNS = 40
N_ACTIONS = 100
N_FACTS = 20
FACT_CHARS = 300


def state_values(state: State, *, with_history: bool = True) -> dict[str, str]:
    """Return the values of the placeholders that describe a state. Each is a block with a heading, or empty."""
    info = state.info
    return {
        "instruction": str(info.get("instruction", "")),
        "history": _history(state.history) if with_history else "",
        "observation": shown(state.observation),
        "actions": _actions(info.get("available_actions", ())),
        "facts": _facts(info),
        "notes": _list("Notes:", state.notes),
        "steps_left": "" if state.steps_left == float("inf") else f"Actions left: {int(state.steps_left)}.",
    }


def shown(observation: Any, limit: int = OBSERVATION_CHARS) -> str:
    """Return an observation as text. For an image it is the size."""
    if isinstance(observation, Mapping):
        text = "\n".join(f"{key}: {shown(part, limit)}" for key, part in observation.items())
    elif isinstance(observation, np.ndarray) and observation.ndim >= 2:
        text = f"(an image or array of shape {'x'.join(map(str, observation.shape))})"
    else:
        text = str(observation)
    return shortened(text, limit)


def shortened(text: str, limit: int) -> str:
    """Return the start of a text, and how many characters are missing."""
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text) - limit} more characters)"


def candidate_block(candidate: Candidate) -> str:
    """Return a candidate's action, and its simulated outcome if there is one.

    The agent's reasoning is left out: a judge should weigh the action, not the argument for it.
    """
    action = f"Action: {shown(candidate.action)}"
    preview = candidate.preview
    if preview is None:
        return action
    if preview.is_awaiting:
        seen = "It would wait for an answer that can't be simulated. What would be seen until then:\n" + shown(
            preview.observation
        )
    elif preview.done:
        seen = "It would end the episode; how it is scored is not known. What would be seen:\n" + shown(
            preview.observation
        )
    elif preview.info.get("invalid_action"):
        seen = f"It would not be accepted. The answer would be:\n{shown(preview.observation)}"
    else:
        seen = f"It would lead to this (simulated, not done yet):\n{shown(preview.observation)}"
    return f"{action}\n{seen}{_found(preview.info)}"


def subject_block(subject: Any) -> str:
    """Return the subject of a role as text: candidates (numbered from 1), states, texts, or sequences of them."""
    parts = leaves(subject)
    if len(parts) == 1:
        return _part(parts[0])
    return "\n\n".join(f"{number}. {_part(part)}" for number, part in enumerate(parts, start=1))


def leaves(subject: Any) -> list[Any]:
    """Return the parts of nested sequences as a flat list."""
    if isinstance(subject, list | tuple) and not isinstance(subject, Turn):
        return [leaf for part in subject for leaf in leaves(part)]
    return [] if subject is None else [subject]


def _part(part: Any) -> str:
    if isinstance(part, Candidate):
        if part.error:
            return f"An answer that is no action: {part.error}"
        critique = part.verdict.critique if part.verdict is not None else ""
        return candidate_block(part) + (f"\nA reviewer said: {critique}" if critique else "")
    if isinstance(part, State):
        blocks = (_history(part.history), f"At the end:\n{shown(part.observation)}")
        return "\n".join(block for block in blocks if block)
    return str(part)


def _history(history: Sequence[Turn]) -> str:
    if not history:
        return ""
    lines = ["So far, oldest first:"]
    left_out = max(0, len(history) - N_OLD_TURNS)
    if left_out:
        lines.append(f"({left_out} earlier turns are left out)")
    for number, turn in enumerate(history[left_out:], start=left_out + 1):
        if number > len(history) - N_OLD_OBSERVATIONS:
            lines.append(f"{number}. Seen: {shown(turn.observation, OLD_OBSERVATION_CHARS)}")
            lines.append(f"   Done: {turn.action}")
        else:
            lines.append(f"{number}. Done: {turn.action}")
    return "\n".join(lines)


def _actions(available: Iterable[Any]) -> str:
    actions = [str(action) for action in available]
    if not actions:
        return ""
    # Patterns such as search[...] come last, so the middle is left out.
    if len(actions) > N_ACTIONS:
        kept = N_ACTIONS // 2
        actions = [*actions[:kept], f"({len(actions) - 2 * kept} more)", *actions[-kept:]]
    return "Available actions:\n" + "\n".join(actions)


def _facts(info: Mapping[str, Any]) -> str:
    hint = "The last action was not valid here and changed nothing." if info.get("invalid_action") else ""
    return f"{hint}{_found(info)}".strip()


def _found(info: Mapping[str, Any]) -> str:
    facts = info.get("facts") or {}
    present = [item for item in facts.items() if not _is_nothing(item[1])] if isinstance(facts, Mapping) else []
    items = present[:N_FACTS]
    lines = [f"- {name}: {shortened(str(value), FACT_CHARS)}" for name, value in items]
    return "\nFindings:\n" + "\n".join(lines) if lines else ""


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str | tuple | list) and not value)


def _list(heading: str, texts: Sequence[str]) -> str:
    return "\n".join([heading, *(f"- {text}" for text in texts)]) if texts else ""
