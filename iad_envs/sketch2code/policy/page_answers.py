"""Reads the page, or the question to the user, of a model's answer."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from iad_policy.models.parsing import Reading
from iad_policy.models.parsing.actions import CUT
from iad_policy.models.parsing.calls import calls
from iad_policy.models.parsing.fences import Fence, fence_at, fences
from iad_policy.models.parsing.tool_calls import tool_call
from iad_policy.types.answers.headings import without_stop_tokens
from iad_policy.types.answers.reasoning import split_reasoning
from iad_policy.types.names import PATTERN

QUESTION = "ask"
_LANGUAGES = frozenset({"", "html", "htm", "html5", "xhtml", "xml", "markup", "text", "plaintext", "txt", "php", "svg"})
_OUTER_LANGUAGES = frozenset({"markdown", "md"})
_OBJECT_LANGUAGES = frozenset({"json", "json5", "tool_call", "tool_code"})
MAX_DEPTH = 2
"""Number of fences inside each other that are opened."""
N_STARTS = 20
"""Number of places that may begin a document which are tried."""
_TAG = re.compile(r"<(?:!doctype|/?[a-z][\w-]*)\b", re.IGNORECASE)
_DOCUMENT = re.compile(r"<(?:!doctype|html|body)\b", re.IGNORECASE)
_DOCUMENT_START = re.compile(r"(?:<\?xml[^>\n]*>\s*)?<(?:!doctype|html)\b", re.IGNORECASE)
_IN_DOCUMENT = re.compile(r"<(?:/html|head|body)\b", re.IGNORECASE)
_ELEMENT_START = re.compile(
    r"^[ \t]*<(?!/)(?!answer|action|response)[a-z][\w-]*[^<>\n]*>", re.IGNORECASE | re.MULTILINE
)
_DOCUMENT_END = "</html>"
_WRAPPER = re.compile(r"\s*<(answer|final_answer|response|action)>", re.IGNORECASE)
_ELLIPSIS = re.compile(r"(?:<[^<>]*>|\s|\.\.\.|…|<!--[^>]*-->)*+", re.DOTALL)
_REMARK = re.compile(r">[ \t]*\n[ \t]*\n(?P<remark>[^<]*)\Z")


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
    visible = without_stop_tokens(reasoned.rest)
    if wrapper := _WRAPPER.match(visible):
        visible = visible[wrapper.end() :].partition(f"</{wrapper[1]}>")[0]
    page = _unfinished_thought(visible) if reasoned.is_open else _page_in(visible)
    question = _question_in(visible, available, is_cut=is_cut)
    if question is not None and (page is None or question.start < page.start):
        page = question
    if page is None:
        return Reading(None, text, CUT if is_cut else "reasoning that doesn't end" if reasoned.is_open else "")
    if _is_pattern(page.html):
        return Reading(None, text, f"the pattern {page.html!r:.60}, which stands for actions and is none")
    thought = "" if reasoned.is_open else visible[: page.start].strip()
    return Reading(page.action, "\n".join(filter(None, (reasoned.reasoning, thought))))


def _page_in(text: str) -> _PageStart | None:
    """Return the page of an answer: in a fence, in an object, or alone."""
    found = list(_in_fences(text))
    pages = [page for page in found if _DOCUMENT.search(page.html)] or found
    if pages:
        return ([page for page in pages if page.is_closed] or pages)[-1]
    call = tool_call(text)
    if call is not None:
        return _given(call.argument, 0)
    code = fences(text)
    for start in islice(_DOCUMENT_START.finditer(text), N_STARTS):
        if any(fence.start <= start.start() < fence.end for fence in code):
            continue
        is_line_start = not text[text.rfind("\n", 0, start.start()) + 1 : start.start()].strip("\ufeff \t")
        if is_line_start or _IN_DOCUMENT.search(text, start.end()):
            return _bare(text, start.start())
    element = _ELEMENT_START.search(text)
    return None if element is None else _bare(text, element.start())


def _unfinished_thought(text: str) -> _PageStart | None:
    """Return the last whole document in a fence of reasoning that has no end."""
    pages = [page for page in _in_fences(text) if page.is_closed and _DOCUMENT_END in page.html.lower()]
    return pages[-1] if pages else None


def _in_fences(text: str, *, depth: int = 0) -> Iterator[_PageStart]:
    for fence in fences(text, holds_marks=_is_inside):
        if fence.language in _OBJECT_LANGUAGES:
            call = tool_call(fence.text)
            if call is not None and (page := _given(call.argument, fence.start)):
                yield page
        elif depth < MAX_DEPTH and (fence.language in _OUTER_LANGUAGES or fence_at(fence.text)):
            for page in _in_fences(fence.text, depth=depth + 1):
                is_ended = fence.is_closed and not page.is_closed
                action = f"{page.action}\n```" if is_ended else page.action
                yield page._replace(start=fence.start, action=action, is_closed=page.is_closed or is_ended)
        elif fence.language in _LANGUAGES and _TAG.search(fence.text):
            yield _PageStart(fence.start, _as_written(text, fence), fence.text, fence.is_closed)


def _as_written(text: str, fence: Fence) -> str:
    """Return a page with its fence. Marks of fences on the page are written so that the fence doesn't end there."""
    if "```" not in fence.text:
        return text[fence.start : fence.end].strip()
    page = fence.text.replace("`", "&#96;")
    return f"```{fence.language}\n{page}\n```"


def _given(argument: Any, start: int) -> _PageStart | None:
    """Return the page that a call of a tool has as its argument."""
    is_page = isinstance(argument, str) and _TAG.search(argument)
    return _PageStart(start, argument.strip(), argument) if is_page else None


def _bare(text: str, start: int) -> _PageStart:
    """Return the page that begins at a place, without a remark behind it."""
    end = text.lower().rfind(_DOCUMENT_END, start)
    page = text[start : end + len(_DOCUMENT_END) if end >= 0 else len(text)].strip()
    remark = _REMARK.search(page)
    page = page[: remark.start("remark")].strip() if remark else page
    return _PageStart(start, page, page)


def _is_inside(page: str) -> bool:
    """Whether a page is not at its end yet, so that the marks of a fence belong to it."""
    page = page.lower()
    return "<html" in page and _DOCUMENT_END not in page


def _question_in(text: str, available: Iterable[Any], *, is_cut: bool) -> _PageStart | None:
    if not any(str(action).startswith(f"{QUESTION}[") for action in available):
        return None
    question = next(calls(text, {QUESTION}), None)
    if question is None or (is_cut and not question.is_matched):
        return None
    action = f"{QUESTION}[{question.argument}]"
    return _PageStart(question.start, action, action)


def _is_pattern(page: str) -> bool:
    return page == f"{QUESTION}{PATTERN}" or (("..." in page or "…" in page) and _ELLIPSIS.fullmatch(page) is not None)
