"""Reads a model's answers: actions, numbers, scores and choices.

A model may write anything, so every reader returns None for a text that it can't read, and none raises.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import Any

MARKER = re.compile(r"^[\W_]*action[\W_]*?:", re.IGNORECASE | re.MULTILINE)
"""Matches a line that begins with `Action:`, with any decoration around it."""
CALL = re.compile(r"(?<!\w)([A-Za-z_]\w*)\[")
INTEGER = re.compile(r"(?<![\w.])[-+]?\d+(?![\w.]*\d)")
FENCE = re.compile(r"```[\w+-]*\n(.*?)```", re.DOTALL)
NEXT_PART = re.compile(r"^[\W_]*(?:observation|thought)[\W_]*?:", re.IGNORECASE | re.MULTILINE)
BARE_CHARS = 40
"""Maximum length of an answer that is read as a choice without its heading."""
QUOTES = " \t\r\n`\"'*"


def split_thought(text: str) -> tuple[str, str | None]:
    """Return the thought and the text after the first `Action:` line marker, or None without a marker.

    The first one counts: a model that continues with an invented observation invents the next action too.
    """
    marker = MARKER.search(text)
    if marker is None:
        return text.strip(), None
    body = text[marker.end() :]
    invented = NEXT_PART.search(body)
    return text[: marker.start()].strip(), body[: invented.start()] if invented else body


def read_action(text: str, available: Iterable[Any] = (), *, bare: bool = True) -> str | None:
    """Return the action of an answer, for an environment with text actions.

    The readers are tried in this order. First, an available action, word for word except for case. Second,
    `name[argument]` up to the matching bracket, if the available actions have that form or none are known. Third, the
    whole text after `Action:`, without code fences.

    Args:
        text: The model's answer.
        available: Examples of actions. Patterns such as `search[...]` show the form.
        bare: Whether an answer without `Action:` is an action if it has no `name[argument]` form.
    """
    known = [str(action) for action in available]
    _, body = split_thought(text)
    body_or_all = text if body is None else body
    answer = _unfenced(body_or_all)
    exact = _exact(body_or_all, known)
    if exact is not None:
        return exact
    names = {match[1] for action in known if (match := CALL.match(action))}
    if names or not known:
        call = _call(answer, names)
        if call is not None or names:
            return call
    if body is None and not bare:
        return None
    return answer.strip(QUOTES) or None


def read_integer(text: str) -> int | None:
    """Return the first whole number after `Action:`. Without a marker, return the only number of the text."""
    _, body = split_thought(text)
    numbers = INTEGER.findall(text if body is None else body)
    if not numbers or (body is None and len(set(numbers)) > 1):
        return None
    return int(numbers[0])


def read_parts(text: str, headings: Sequence[str]) -> list[tuple[str, int, str]]:
    """Return the parts of an answer that headings separate, in order: name, start and text.

    A heading begins a line and ends with a colon. The first heading of each name counts. A part begins at the end of
    the one before, and the first one at 0.
    """
    heading = re.compile(rf"^[^\w\n]*({'|'.join(headings)})[^\w\n]*?:\**", re.IGNORECASE | re.MULTILINE)
    found: dict[str, re.Match[str]] = {}
    for match in heading.finditer(text):
        found.setdefault(match[1].lower(), match)
    parts: list[tuple[str, int, str]] = []
    for match, following in zip_longest(found.values(), list(found.values())[1:]):
        start = len(text[: match.start()].rstrip()) if parts else 0
        end = len(text) if following is None else following.start()
        parts.append((match[1].lower(), start, text[match.end() : end].strip()))
    return parts


def read_field(text: str, name: str) -> str | None:
    """Return the text after the last `Name:`, up to the end of its line."""
    found = list(_field(name).finditer(text))
    return text[found[-1].end() :].partition("\n")[0].strip(QUOTES) if found else None


def read_score(text: str, highest: float = 10.0) -> float | None:
    """Return the score of an answer as 0-1: the number after `Score:`, or a bare number."""
    answer = read_field(text, "score")
    match = re.match(r"[^\d\w.-]*(-?\d+(?:\.\d+)?)", text.strip() if answer is None else answer)
    if match is None or (answer is None and len(text.strip()) > len("10.00/10")):
        return None
    value = float(match[1]) / highest
    return value if 0.0 <= value <= 1.0 else None


def read_choice(text: str, name: str, choices: Sequence[str]) -> str | None:
    """Return the choice (a pattern) after `Name:`, or in a short answer without it."""
    answer = read_field(text, name)
    if answer is None:
        answer = text if len(text) <= BARE_CHARS else ""
    found = [choice for choice in choices if re.search(rf"\b{choice}\b", answer, re.IGNORECASE)]
    return found[0] if len(found) == 1 else None


def read_critique(text: str, field: str) -> str:
    """Return the text before the last `Field:`, without its own `Critique:` heading."""
    found = list(_field(field).finditer(text))
    head = text[: found[-1].start()] if found else text
    return re.sub(r"^[\W_]*critique[\W_]*?:", "", head.strip(), flags=re.IGNORECASE).strip(QUOTES)


def _field(name: str) -> re.Pattern[str]:
    return re.compile(rf"\b{name}\b(?:\s*\([^)\n]*\))?[^\w\n]*?:", re.IGNORECASE)


def _unfenced(text: str) -> str:
    fenced = FENCE.search(text)
    return fenced[1].strip() if fenced else text.strip()


def _exact(text: str, known: Sequence[str]) -> str | None:
    """Return the available action that equals the text, or its first line if the text is not code."""
    answer = _unfenced(text)
    is_code = FENCE.search(text) is not None
    heads = {answer.strip(QUOTES).casefold(), "" if is_code else answer.partition("\n")[0].strip(QUOTES).casefold()}
    for action in known:
        if action and action.casefold() in heads and not action.endswith("[...]"):
            return action
    return None


def _call(answer: str, names: set[str]) -> str | None:
    """Return the first `name[argument]`, preferably of a known name."""
    calls = list(CALL.finditer(answer))
    for match in [*(match for match in calls if match[1] in names), *calls]:
        end = _closing(answer, match.end())
        if end is not None:
            return answer[match.start() : end]
    return None


def _closing(text: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one before `start`.

    If brackets don't match, the argument itself contains one. Then it ends with the last bracket of the line. The same
    holds if only punctuation stands between the matching bracket and the last one.
    """
    depth = 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    last = text.rfind("]", start, line_end) + 1
    for place in range(start, len(text)):
        depth += {"[": 1, "]": -1}.get(text[place], 0)
        if depth == 0:
            is_tail = place < last and not re.search(r"\w", text[place + 1 : last])
            return last if is_tail else place + 1
    return last or None
