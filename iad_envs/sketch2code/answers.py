"""Parses answers: a page, perhaps in a code fence, or a question to the user. Also lists the texts of a page."""

import re
from html.parser import HTMLParser
from typing import NamedTuple


class PageAnswer(NamedTuple):
    """A parsed action. Both fields are empty if it is neither a page nor a question.

    Attributes:
        html: HTML of the page.
        question: The question to the user.
    """

    html: str
    question: str


def read_answer(action: str, *, as_published: bool = False) -> PageAnswer:
    """Parse an action as a page or a question.

    Args:
        action: `ask[question]`, or HTML with or without a code fence.
        as_published: Whether to behave like the published code. The fence's language is then the first line of the
            page, and any text counts as a page. This line forces quirks mode and costs a third of the score.
    """
    question = re.fullmatch(r"\s*ask\[(.*)\]\s*", action, re.DOTALL)
    if question:
        return PageAnswer("", " ".join(question[1].split()))
    html = unfenced(action, as_published=as_published)
    return PageAnswer(html if as_published or re.search(r"<!?[a-zA-Z]", html) else "", "")


def unfenced(answer: str, *, as_published: bool = False) -> str:
    """Return the HTML of an answer: the content of its last fence without the language, or all text without a fence."""
    fenced = re.findall(r"```(.*?)```", answer, re.DOTALL)
    if as_published:
        return fenced[-1] if fenced else answer
    # The closing fence is missing if an answer reached its length limit.
    before, fence, cut_off = answer.partition("```")
    if not fence:
        return before.strip()
    return re.sub(r"^[ \t]*[a-zA-Z]{2,12}[ \t]*(?=\r?\n)", "", fenced[-1] if fenced else cut_off, count=1).strip()


def texts_of(html: str) -> tuple[str, ...]:
    """Return the texts of a page in order, with collapsed white space, as listed in the text-augmented setting."""
    return tuple(_Texts(html).texts)


def title_of(html: str) -> str:
    """Return a page's title, or ""."""
    return " ".join(" ".join(_Texts(html).title).split())


class _Texts(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.title: list[str] = []
        self._open = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._open = tag if tag in ("script", "style") or (tag == "title" and not self.title) else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and self._open not in ("script", "style"):
            self.texts.append(text)
            if self._open == "title":
                self.title.append(text)
