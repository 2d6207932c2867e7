"""Reads the parts of answers that headings separate: fields, scores, choices and critiques."""

import re
from collections.abc import Sequence
from itertools import zip_longest

from iad_policy.types.answers.reasoning import split_reasoning

BARE_CHARS = 40
"""Maximum length of an answer that is read as a choice without its heading."""
QUOTES = " \t\r\n`\"'*"


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


def read_score(text: str, highest: float = 10.0) -> float | None:
    """Return the score of an answer as 0-1: the number after `Score:`, or a bare number."""
    text = split_reasoning(text).rest
    answer = read_field(text, "score")
    match = re.match(r"[^\d\w.-]*(-?\d+(?:\.\d+)?)", text.strip() if answer is None else answer)
    if match is None or (answer is None and len(text.strip()) > len("10.00/10")):
        return None
    value = float(match[1]) / highest
    return value if 0.0 <= value <= 1.0 else None


def read_choice(text: str, name: str, choices: Sequence[str]) -> str | None:
    """Return the choice (a pattern) after `Name:`, or in a short answer without it."""
    text = split_reasoning(text).rest
    answer = read_field(text, name)
    if answer is None:
        answer = text if len(text) <= BARE_CHARS else ""
    found = [choice for choice in choices if re.search(rf"\b{choice}\b", answer, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None


def read_critique(text: str, field: str) -> str:
    """Return the text before the last `Field:`, without its own `Critique:` heading."""
    text = split_reasoning(text).rest
    found = list(_field(field).finditer(text))
    head = text[: found[-1].start()] if found else text
    return re.sub(r"^[\W_]*critique[\W_]*?:", "", head.strip(), flags=re.IGNORECASE).strip(QUOTES)


def _field(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}\b(?:\s*\([^)\n]*\))?[^\w\n]*?:", re.IGNORECASE)
