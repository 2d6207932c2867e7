"""Separates the reasoning that models write in tags of their own from the answer behind it."""

import re
from typing import NamedTuple

from iad_policy.types.answers.headings import ACTION

_NAMES = "think|thinking|thoughts?|reasoning|reason|reflection|scratchpad|analysis|inner_monologue|seed:think"
_OPENING = re.compile(
    rf"<(?:{_NAMES})>|\[(?:THINK|REASONING)\]|◁think▷|<\|(?:START_THINKING|begin_of_thought)\|>", re.IGNORECASE
)
_CLOSING = re.compile(
    rf"</(?:{_NAMES})>|\[/(?:THINK|REASONING)\]|◁/think▷|<\|(?:END_THINKING|end_of_thought)\|>", re.IGNORECASE
)
_CHANNEL = "<|channel|>"
_FINAL = re.compile(r"<\|channel\|>final[^<]*<\|message\|>")
_TOOL = re.compile(r"<\|channel\|>commentary to=(?:functions\.)?([\w.-]+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_CHANNEL_MARKS = re.compile(r"<\|(?:channel|start)\|>\w*|<\|(?:message|end|return|call)\|>")
_STRIPPED_CHANNELS = ("analysis", "assistantfinal")
"""What is left of the marks of channels where a server removes special tokens."""


class Reasoned(NamedTuple):
    """An answer in two parts.

    Attributes:
        reasoning: The reasoning, without its tags.
        rest: What stands outside of it.
        is_open: Whether the reasoning has no end. Then `rest` is the reasoning itself, as an action may stand in it.
    """

    reasoning: str
    rest: str
    is_open: bool


def split_reasoning(text: str) -> Reasoned:
    """Return the reasoning and the answer.

    Reasoning stands between tags at the beginning of a line and before any action or code fence. An opening tag may be
    missing, as some chat templates write it into the prompt. Line breaks are single characters in both parts.
    """
    text = text.replace("\r\n", "\n")
    if _CHANNEL in text or (text.startswith(_STRIPPED_CHANNELS[0]) and _STRIPPED_CHANNELS[1] in text):
        return _by_channels(text)
    reasoning: list[str] = []
    kept: list[str] = []
    place = 0
    while opening := _OPENING.search(text, place):
        before = text[place : opening.start()]
        if not _may_reason(before):
            break
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            rest = text[opening.end() :]
            return Reasoned(_joined([*kept, *reasoning, before, rest]), rest, is_open=True)
        reasoning.append(text[opening.end() : closing.start()])
        kept.append(before)
        place = closing.end()
    after = text[place:]
    while reasoning and (closing := _CLOSING.match(after.lstrip())):
        after = after.lstrip()[closing.end() :]
    rest = "".join(kept) + after
    if not reasoning and (orphan := _orphan(rest)):
        after = rest[orphan.end() :]
        thought = rest[: orphan.start()]
        return Reasoned(thought.strip(), after if after.strip() else thought, is_open=not after.strip())
    return Reasoned(_joined(reasoning), rest, is_open=False)


def _may_reason(before: str) -> bool:
    """Whether a tag behind this text begins reasoning: at the beginning of a line, and with no answer before it."""
    is_line_start = not before.rpartition("\n")[2].strip()
    return is_line_start and "```" not in before and "~~~" not in before and ACTION.search(before) is None


def _orphan(text: str) -> "re.Match[str] | None":
    """Return the closing tag of reasoning that was opened in the prompt, if there is one and it is no part of code."""
    closing = _CLOSING.search(text)
    if closing is None:
        return None
    before, after = text[: closing.start()], text[closing.end() :]
    if before.count("```") % 2 and "```" in after:
        return None
    is_apart = not before.rpartition("\n")[2].strip() or not after.partition("\n")[0].strip()
    return closing if is_apart or ACTION.match(after.lstrip()) else None


def _by_channels(text: str) -> Reasoned:
    """Split an answer in the channels of gpt-oss."""
    for pattern in (_FINAL, _TOOL):
        found = list(pattern.finditer(text))
        if found:
            last = found[-1]
            rest = text[last.end() :].partition("<|")[0] if pattern is _TOOL else text[last.end() :]
            rest = f"<function={last[1]}>{rest}</function>" if pattern is _TOOL else rest
            return Reasoned(_CHANNEL_MARKS.sub("", text[: last.start()]).strip(), rest, is_open=False)
    if _CHANNEL in text:
        reasoning = _CHANNEL_MARKS.sub("", text).strip()
        return Reasoned(reasoning, reasoning, is_open=True)
    before, _, after = text.partition(_STRIPPED_CHANNELS[1])
    return Reasoned(before.removeprefix(_STRIPPED_CHANNELS[0]).strip(), after, is_open=False)


def _joined(parts: list[str]) -> str:
    return "\n".join(part.strip() for part in parts if part.strip())
