"""Finds code fences: with a language or without, closed or not."""

import re
from collections.abc import Callable
from itertools import islice
from typing import NamedTuple

_MARKS = re.compile(r"(?:^(?P<indent>[ \t>]*+))?(?<!\[)(?P<marks>`{3,}+)", re.MULTILINE)


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
    place = len(text) - len(text[start:].lstrip())
    # The line's beginning, if it is not before the start, shows how far the fence is indented.
    marks = _MARKS.match(text, max(start, text.rfind("\n", start, place) + 1)) or _MARKS.match(text, place)
    return None if marks is None else _fence_at(text, marks, holds_marks)


def _fence_at(text: str, marks: "re.Match[str]", holds_marks: Callable[[str], bool] | None) -> Fence | None:
    start = marks.start("marks")
    in_one_line = re.compile(
        r"[ \t]*+(?:(?P<language>bash|sh|shell|sql|sqlite|html|json)[ \t]++)?(?P<text>[^`\n]+)```+", re.IGNORECASE
    )
    if one_line := in_one_line.match(text, marks.end()):
        return Fence(start, one_line.end(), (one_line["language"] or "").lower(), one_line["text"].strip(), True)
    info_line = re.compile(r"[ \t]*(?P<language>[\w+#.-]*)[^`\n]*(?:\n|\Z)")
    info = info_line.match(text, marks.end())
    if info is None:
        return None
    closing = re.compile(rf"{marks['marks']}`*[ \t]*$", re.MULTILINE)
    n_tried = 1 if holds_marks is None else 20  # closing lines, before the first one is taken
    ends = [match.span() for match in islice(closing.finditer(text, info.end()), n_tried)]
    whole = (one for one in ends if holds_marks is None or not holds_marks(text[info.end() : one[0]]))
    content_end, end = next(whole, ends[0] if ends else (len(text), len(text)))
    content = text[info.end() : content_end]
    if indent := marks["indent"]:
        lines = content.split("\n")
        content = "\n".join(one[len(indent) :] if one.startswith(indent) else one.lstrip(" \t") for one in lines)
    return Fence(start, end, info["language"].lower(), content.rstrip(" \t").strip("\n"), bool(ends))
