"""Reads the page, or the question to the user, of a model's answer."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from iad_policy.models.parsing import Reading
from iad_policy.models.parsing.brackets import calls
from iad_policy.models.parsing.calls import MAX_PLACES, call_at
from iad_policy.models.parsing.fences import fences
from iad_policy.models.parsing.grammar import CUT, OPEN
from iad_policy.types.answers import split_reasoning, within_turn
from iad_policy.types.names import PATTERN

_TAG = re.compile(r"<(?:!doctype|/?[a-z][\w-]*)\b", re.IGNORECASE)


class _PageStart(NamedTuple):
    """A page in an answer.

    Attributes:
        start: Where it begins in the answer.
        action: The page, with its fence if it has one.
        html: The page alone.
        is_closed: Whether its fence is closed.
    """

    start: int
    action: str
    html: str
    is_closed: bool = True


def read_page(text: str, available: Iterable[Any] = (), *, is_cut: bool = False) -> Reading:
    """Read a page, with its code fence if it has one, or `ask[question]` where this is available.

    Of several pages the last whole one counts, as it is the improved one. A page that was cut off at the limit of the
    answer's length is read too, since browsers render what there is of it.
    """
    if not text.strip():
        return Reading(None, "", CUT if is_cut else "an empty answer")
    reasoned = split_reasoning(text)
    visible = re.sub(r"\A\s*<answer>|</answer>\s*\Z", "", within_turn(reasoned.rest))
    if reasoned.is_open:  # a whole document in a fence may stand in it
        pages = [page for page in _in_fences(visible) if page.is_closed and "</html>" in page.html.lower()]
        page = pages[-1] if pages else None
    else:
        page = _page_in(visible)
    if any(str(action).startswith("ask[") for action in available):
        question = next(calls(visible, {"ask"}), None)
        is_first = question is not None and (page is None or question.start < page.start)
        if question is not None and is_first and (question.is_matched or not is_cut):
            action = f"ask[{question.argument}]"
            page = _PageStart(question.start, action, action)
    if page is None:
        return Reading(None, text, CUT if is_cut else OPEN if reasoned.is_open else "")
    has_gap = "..." in page.html or "…" in page.html
    is_gap = has_gap and re.fullmatch(r"(?s)(?:<[^<>]*>|\s|\.\.\.|…|<!--[^>]*-->)*+", page.html)
    if page.html == f"ask{PATTERN}" or is_gap:
        return Reading(None, text, f"the pattern {page.html!r:.60}, which stands for actions and is none")
    thought = "" if reasoned.is_open else visible[: page.start].strip()
    return Reading(page.action, "\n".join(filter(None, (reasoned.reasoning, thought))))


def _page_in(text: str) -> _PageStart | None:
    """Return the page of an answer: in a fence, in an object, or alone."""
    found = list(_in_fences(text))
    pages = [page for page in found if re.search(r"(?i)<(?:!doctype|html|body)\b", page.html)] or found
    if pages:
        return ([page for page in pages if page.is_closed] or pages)[-1]
    if call := call_at(text):
        page = call.argument
        return _PageStart(0, page.strip(), page) if isinstance(page, str) and _TAG.search(page) else None
    code = fences(text)
    starts = re.finditer(r"(?i)(?:<\?xml[^<>\n]*>\s*)?<(?:!doctype|html)\b", text)
    for start in islice(starts, MAX_PLACES):
        if any(fence.start <= start.start() < fence.end for fence in code):
            continue
        is_line_start = not text[text.rfind("\n", 0, start.start()) + 1 : start.start()].strip("\ufeff \t")
        if is_line_start or re.search(r"(?i)<(?:/html|head|body)\b", text[start.end() :]):
            return _bare(text, start.start())
    element = re.search(r"(?im)^[ \t]*+<(?!/)(?!answer|action|response)[a-z][^<>\n]*+>", text)
    return None if element is None else _bare(text, element.start())


def _in_fences(text: str) -> Iterator[_PageStart]:
    for fence in fences(text, holds_marks=_is_inside):
        languages = ("", "html", "htm", "html5", "xhtml", "xml", "markup", "text", "plaintext", "txt", "php", "svg")
        if fence.language not in languages or not _TAG.search(fence.text) or fence.text.startswith("```"):
            continue
        action = text[fence.start : fence.end].strip()
        if "```" in fence.text:  # marks of fences on the page are written so that the fence doesn't end there
            action = f"```{fence.language}\n{fence.text.replace('`', '&#96;')}\n```"
        yield _PageStart(fence.start, action, fence.text, fence.is_closed)


def _bare(text: str, start: int) -> _PageStart:
    """Return the page that begins at a place, without a remark behind it."""
    end = text.lower().rfind("</html>", start)
    page = text[start : end + len("</html>") if end >= 0 else len(text)].strip()
    remark = re.search(r">[ \t]*\n[ \t]*\n(?P<remark>[^<]*)\Z", page)
    page = page[: remark.start("remark")].strip() if remark else page
    return _PageStart(start, page, page)


def _is_inside(page: str) -> bool:
    """Whether a page is not at its end yet, so that the marks of a fence belong to it."""
    page = page.lower()
    return "<html" in page and "</html>" not in page
