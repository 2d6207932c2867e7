"""Reads the parts of answers in words: reasoning, headings, fields, scores and choices. No model is needed for it."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

QUOTES = " \t\r\n`\"'*"
_PARTS = (
    r"observations?|thoughts?|results?|outputs?|explanations?|reason(?:ing)?|notes?|status|expected(?: \w+)?|question"
    r"|task|user|human|assistant|system|plan|critique|feedback|evidence|(?:final )?answer"
)
_END_MARKS = r"[ \t]*+[*_`\])]{0,4}+"

ACTION = re.compile(
    # Before it may stand emphasis, a bullet, the marks of a headline, and a number.
    r"^(?P<before>(?:[^\w\n\"'{}<$]|_){0,12})(?:(?:step )?\d{1,3}[.):]?[ \t]*(?:-[ \t]*)?[*_]{0,3})?"
    r"(?:(?:the|my|next|final|best) ){0,2}(?:action|command)s?(?: ?\d{1,3})?(?: is)?"
    rf"(?P<inside>{_END_MARKS})[ \t]*+[:：](?P<after>[*_]{{0,3}})",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a line that begins with `Action:`, with any decoration."""
NEXT_PART = re.compile(
    rf"^[ \t>*_#]{{0,8}}(?:{_PARTS}|actions?|commands?)(?: ?\d{{1,3}})?{_END_MARKS}[ \t]*+[:：](?!:)",
    re.IGNORECASE | re.MULTILINE,
)
"""Matches a line that begins another part of an answer: an invented observation, a thought, an explanation."""
EARLIER_PART = re.compile(rf"\A[ \t>*_#]{{0,8}}(?:{_PARTS})(?: ?\d{{1,3}})?{_END_MARKS}[ \t]*+[:：]", re.IGNORECASE)
"""Matches a text that begins with a part which is no action, such as a thought."""
_OPENING = re.compile(r"<(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_CLOSING = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
_END_OF_TURN = re.compile(r"<\|(?:im_end|im_start|eot_id|eom_id|endoftext|end|return)\|>|<end_of_turn>")
"""Matches tokens of chat templates. What follows one of them is no part of the answer."""


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
    # Matches what begins each part of an answer of gpt-oss
    channel = re.compile(r"<\|channel\|>(?P<name>\w++)[^<]*+<\|message\|>")
    if channels := list(channel.finditer(text)):
        thought = text[channels[0].end() : channels[-1].start()].partition("<|")[0].strip()
        return Reasoned(thought, text[channels[-1].end() :], is_open=channels[-1]["name"] != "final")
    reasoning: list[str] = []
    kept, place = "", 0
    while opening := _OPENING.search(text, place):
        before = text[place : opening.start()]
        is_line_start = not before.rpartition("\n")[2].strip()
        if not is_line_start or "```" in before or ACTION.search(before):
            break
        closing = _CLOSING.search(text, opening.end())
        if closing is None:
            rest = text[opening.end() :]
            return Reasoned(_joined([kept, *reasoning, before, rest]), rest, is_open=True)
        reasoning.append(text[opening.end() : closing.start()])
        kept, place = kept + before, closing.end()
    after = text[place:]
    while reasoning and (closing := _CLOSING.match(after.lstrip())):
        after = after.lstrip()[closing.end() :]
    rest = kept + after
    closing = None if reasoning else _CLOSING.search(rest)  # of reasoning that was opened in the prompt
    if closing is not None:
        thought, after = rest[: closing.start()], rest[closing.end() :]
        is_code = thought.count("```") % 2 and "```" in after
        is_apart = not thought.rpartition("\n")[2].strip() or not after.partition("\n")[0].strip()
        if not is_code and (is_apart or ACTION.match(after.lstrip())):
            return Reasoned(thought.strip(), after if after.strip() else thought, is_open=not after.strip())
    return Reasoned(_joined(reasoning), rest, is_open=False)


def within_turn(text: str) -> str:
    """Return a text up to its first token of a chat template."""
    end = _END_OF_TURN.search(text)
    return (text[: end.start()] if end else text).rstrip().removesuffix("</s>") if end or "</s>" in text[-8:] else text


def read_parts(text: str, headings: Sequence[str]) -> list[tuple[str, int, str]]:
    """Return the parts of an answer that headings separate, in order: name, start and text.

    A heading begins a line, behind reasoning in tags, and ends with a colon. The first heading of each name counts. A
    part begins at the end of the one before, and the first one at 0.
    """
    answer = split_reasoning(text).rest
    start_of_answer = len(text) - len(answer) if text.endswith(answer) else 0
    heading = re.compile(rf"^[^\w\n]*({'|'.join(headings)})[^\w\n]*?:\**", re.IGNORECASE | re.MULTILINE)
    found: dict[str, re.Match[str]] = {}
    for match in heading.finditer(text, start_of_answer):
        found.setdefault(match[1].lower(), match)
    parts: list[tuple[str, int, str]] = []
    for match, following in zip_longest(found.values(), list(found.values())[1:]):
        start = len(text[: match.start()].rstrip()) if parts else 0
        end = len(text) if following is None else following.start()
        parts.append((match[1].lower(), start, text[match.end() : end].strip()))
    return parts


def read_field(text: str, name: str) -> str | None:
    """Return the text after the last `Name:`, up to the end of its line."""
    text = split_reasoning(text).rest
    found = list(_field(name).finditer(text))
    return text[found[-1].end() :].partition("\n")[0].strip(QUOTES) if found else None


def read_score(text: str) -> float | None:
    """Return the score of an answer as 0-1: the number from 0 to 10 after `Score:`, or a bare number."""
    text = split_reasoning(text).rest
    answer = read_field(text, "score")
    match = re.match(r"[^\d\w.-]*(-?\d+(?:\.\d+)?)", text.strip() if answer is None else answer)
    if match is None or (answer is None and len(text.strip()) > len("10.00/10")):
        return None
    value = float(match[1]) / 10
    return value if 0.0 <= value <= 1.0 else None


def read_choice(text: str, name: str, choices: Sequence[str]) -> str | None:
    """Return the choice (a pattern) after `Name:`, or in a short answer without it."""
    text = split_reasoning(text).rest
    answer = read_field(text, name)
    if answer is None:
        answer = text if len(text) <= 40 else ""
    found = [choice for choice in choices if re.search(rf"\b{choice}\b", answer, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None


def read_critique(text: str, field: str) -> str:
    """Return the text before the last `Field:`, without its own `Critique:` heading."""
    text = split_reasoning(text).rest
    found = list(_field(field).finditer(text))
    head = text[: found[-1].start()] if found else text
    return re.sub(r"^[\W_]*critique[\W_]*?:", "", head.strip(), flags=re.IGNORECASE).strip(QUOTES)


def closing_marks(heading: "re.Match[str]") -> str:
    """Return the emphasis that opens before a heading and doesn't close with it, so the action's line ends with it."""
    rest = heading["inside"] + heading["after"]
    return next((mark for mark in ("**", "`", "*") if heading["before"].endswith(mark) and mark not in rest), "")


def _field(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}\b(?:\s*+\([^)\n]{{0,1000}}\))?[^\w\n]*?:", re.IGNORECASE)


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(part.strip() for part in parts if part.strip())
