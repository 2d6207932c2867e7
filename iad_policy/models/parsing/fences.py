"""Finds code fences: of backticks or tildes, with a language or without, closed or not."""

import re
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

_MARKS = re.compile(
    r"(?:^(?P<indent>[ \t>]*+))?(?<!\[)(?P<marks>`{3,}+)|^(?P<space>[ \t>]*+)(?P<tildes>~{3,}+)", re.MULTILINE
)
_SPACE = re.compile(r"\s*+")
_INFO = re.compile(r"[ \t]*(?P<language>[\w+#.-]*)[^`\n]*(?:\n|\Z)")
_ONE_LINE = re.compile(
    r"[ \t]*+(?:(?P<language>bash|sh|shell|zsh|console|sql|sqlite|html|json)[ \t]++)?(?P<text>[^`\n]+)```+"
)
MAX_INNER = 20
"""Number of closing lines inside a text that are passed over before the first one is taken."""


class Fence(NamedTuple):
    """A code fence.

    Attributes:
        start: Place of its first mark.
        end: Place after its last mark, or the end of the text.
        language: Language after the opening marks, in lower case; "" for none.
        text: What it holds, without the line breaks around it.
        is_closed: Whether it has closing marks.
    """

    start: int
    end: int
    language: str
    text: str
    is_closed: bool


def fences(text: str, *, holds_marks: Callable[[str], bool] | None = None) -> list[Fence]:
    """Return the fences of a text in order. Fences inside another one are not among them.

    Args:
        text: The text.
        holds_marks: Whether what a fence holds so far can't end here, because it is inside a here-document. Then the
            next closing line counts.
    """
    found: list[Fence] = []
    place = 0
    while marks := _MARKS.search(text, place):
        fence = _fence_at(text, marks, holds_marks)
        if fence is not None:
            found.append(fence)
        place = marks.end() if fence is None else fence.end
    return found


def fence_at(text: str, start: int = 0, *, holds_marks: Callable[[str], bool] | None = None) -> Fence | None:
    """Return the fence that begins at a place, after white space, or None if there is none. See `fences`."""
    space = _SPACE.match(text, start)
    place = space.end() if space else start
    # The line's beginning, if it is not before the start, shows how far the fence is indented.
    marks = _MARKS.match(text, max(start, text.rfind("\n", start, place) + 1)) or _MARKS.match(text, place)
    return None if marks is None else _fence_at(text, marks, holds_marks)


def _fence_at(text: str, marks: "re.Match[str]", holds_marks: Callable[[str], bool] | None) -> Fence | None:
    mark = marks["marks"] or marks["tildes"]
    start = marks.end() - len(mark)
    one_line = _ONE_LINE.match(text, marks.end()) if mark[0] == "`" else None
    if one_line:
        return Fence(start, one_line.end(), one_line["language"] or "", one_line["text"].strip(), True)
    info = _INFO.match(text, marks.end())
    if info is None:
        return None
    language, indent = info["language"].lower(), marks["indent"] or marks["space"] or ""
    closing = re.compile(rf"{mark}{mark[0]}*[ \t]*$", re.MULTILINE)
    n_tried = 1 if holds_marks is None else MAX_INNER
    ends = [match.span() for match in islice(closing.finditer(text, info.end()), n_tried)]
    for content_end, end in ends:
        content = text[info.end() : content_end]
        if holds_marks is None or not holds_marks(content):
            return Fence(start, end, language, _content(content, indent), True)
    if ends:
        return Fence(start, ends[0][1], language, _content(text[info.end() : ends[0][0]], indent), True)
    return Fence(start, len(text), language, _content(text[info.end() :], indent), False)


def _content(text: str, indent: str) -> str:
    """Return what a fence holds, without its own indentation and the line breaks around it."""
    if indent:
        lines = text.split("\n")
        text = "\n".join(line.removeprefix(indent) if line.startswith(indent) else line.lstrip(" \t") for line in lines)
    return text.rstrip(" \t").strip("\n")
