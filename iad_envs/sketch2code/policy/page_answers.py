"""Reads the page, or the question to the user, of a model's answer."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from iad_policy.models.parsing import Reading
from iad_policy.models.parsing.actions import CUT
from iad_policy.models.parsing.calls import calls
from iad_policy.models.parsing.fences import fence_at, fences
from iad_policy.models.parsing.tool_calls import tool_call
from iad_policy.types.answers.headings import without_stop_tokens
from iad_policy.types.answers.reasoning import split_reasoning
from iad_policy.types.names import PATTERN

_LANGUAGES = frozenset({"", "html", "htm", "html5", "xhtml", "xml", "markup", "text", "plaintext", "txt", "php", "svg"})
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
    if reasoned.is_open:  # the last whole document in a fence
        whole = [page for page in _in_fences(visible) if page.is_closed and _DOCUMENT_END in page.html.lower()]
        page = whole[-1] if whole else None
    else:
        page = _page_in(visible)
    if any(str(action).startswith("ask[") for action in available):
        question = next(calls(visible, {"ask"}), None)
        is_whole = question is not None and (question.is_matched or not is_cut)
        if question is not None and is_whole and (page is None or question.start < page.start):
            page = _PageStart(question.start, f"ask[{question.argument}]", f"ask[{question.argument}]")
    if page is None:
        return Reading(None, text, CUT if is_cut else "reasoning that doesn't end" if reasoned.is_open else "")
    has_ellipsis = "..." in page.html or "…" in page.html
    if page.html == f"ask{PATTERN}" or (has_ellipsis and _ELLIPSIS.fullmatch(page.html)):
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
    for start in islice(_DOCUMENT_START.finditer(text), 20):
        if any(fence.start <= start.start() < fence.end for fence in code):
            continue
        is_line_start = not text[text.rfind("\n", 0, start.start()) + 1 : start.start()].strip("\ufeff \t")
        if is_line_start or _IN_DOCUMENT.search(text, start.end()):
            return _bare(text, start.start())
    element = _ELEMENT_START.search(text)
    return None if element is None else _bare(text, element.start())


def _in_fences(text: str, *, depth: int = 0) -> Iterator[_PageStart]:
    def is_inside(page: str) -> bool:
        """Whether a page is not at its end yet, so that the marks of a fence belong to it."""
        return "<html" in page.lower() and _DOCUMENT_END not in page.lower()

    for fence in fences(text, holds_marks=is_inside):
        if fence.language in ("json", "json5", "tool_call", "tool_code"):
            call = tool_call(fence.text)
            if call is not None and (page := _given(call.argument, fence.start)):
                yield page
        elif depth < 2 and (fence.language in ("markdown", "md") or fence_at(fence.text)):
            for page in _in_fences(fence.text, depth=depth + 1):
                is_ended = fence.is_closed and not page.is_closed
                action = f"{page.action}\n```" if is_ended else page.action
                yield page._replace(start=fence.start, action=action, is_closed=page.is_closed or is_ended)
        elif fence.language in _LANGUAGES and _TAG.search(fence.text):
            written = text[fence.start : fence.end].strip()
            if "```" in fence.text:  # marks of fences on the page: so that the fence doesn't end there
                escaped = fence.text.replace("`", "&#96;")
                written = f"```{fence.language}\n{escaped}\n```"
            yield _PageStart(fence.start, written, fence.text, fence.is_closed)


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
