"""What an answer means: a page, perhaps in a fence, or a question to the user; and the texts of a page."""

import re
from html.parser import HTMLParser
from typing import NamedTuple

FENCE = "```"
_FENCED = re.compile(r"```(.*?)```", re.DOTALL)
_LANGUAGE = re.compile(r"^[ \t]*[a-zA-Z]{2,12}[ \t]*(?=\r?\n)")
_TAG = re.compile(r"<!?[a-zA-Z]")
_QUESTION = re.compile(r"\s*ask\[(.*)\]\s*", re.DOTALL)
SILENT = frozenset({"script", "style"})


class PageAnswer(NamedTuple):
    """An action as it was understood; both fields are empty for one that is neither.

    Attributes:
        html: The page.
        question: The question to the user.
    """

    html: str
    question: str


def read_answer(action: str, *, as_published: bool = False) -> PageAnswer:
    """Return what an action is.

    Args:
        action: `ask[question]`, or HTML, with or without a fence.
        as_published: Keep the fence's language as the first line of the page, as the published code does, and take
            anything for a page. That line forces quirks mode, and costs a third of the score.
    """
    asked = _QUESTION.fullmatch(action)
    if asked:
        return PageAnswer("", " ".join(asked[1].split()))
    html = unfenced(action, as_published=as_published)
    return PageAnswer(html if as_published or _TAG.search(html) else "", "")


def unfenced(answer: str, *, as_published: bool = False) -> str:
    """Return the HTML of an answer: what is in its last fence, without the language's name; all, if there is none."""
    fenced = _FENCED.findall(answer)
    if as_published:
        return fenced[-1] if fenced else answer
    if fenced:
        return _LANGUAGE.sub("", fenced[-1], count=1).strip()
    _, fence, cut_off = answer.partition(FENCE)
    # The end is missing where an answer ran into its limit.
    return _LANGUAGE.sub("", cut_off, count=1).strip() if fence else answer.strip()


def texts_of(html: str) -> tuple[str, ...]:
    """Return the texts of a page in order, white space collapsed, as the text-augmented setting lists them."""
    return tuple(_parsed(html).texts)


def title_of(html: str) -> str:
    """Return a page's title; empty if it has none."""
    return " ".join(" ".join(_parsed(html).title).split())


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.title: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._open = tag if tag in SILENT or (tag == "title" and not self.title) else ""

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if text and self._open not in SILENT:
            self.texts.append(text)
            if self._open == "title":
                self.title.append(text)


def _parsed(html: str) -> _Texts:
    parser = _Texts()
    parser.feed(html)
    parser.close()
    return parser
