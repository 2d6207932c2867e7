"""Reads a page of the site as a browser would: its marked strings, where its clickables lead, and what it loads."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = ("meta", "link", "img", "input", "br", "hr")


@dataclass
class SeenPage:
    """What is on a page.

    Attributes:
        text: The strings of the text observation, joined as it joins them.
        clicks: Clickable -> address; the last one of a name, as the text environment has it.
        tags: All tags with their attributes.
    """

    text: str = ""
    clicks: dict[str, str] = field(default_factory=dict)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = SeenPage()
        self.seen: list[tuple[int, list[str]]] = []
        self.open: list[tuple[str, list[str] | None]] = []
        self.action = ""

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        attributes = dict(attrs)
        self.page.tags.append((tag, attributes))
        if tag == "form":
            self.action = attributes["action"]
        if "data-click" in attributes:
            self.page.clicks[attributes["data-click"]] = attributes.get("href", self.action)
        part: list[str] | None = None
        if "data-seen" in attributes:
            part = []
            self.seen.append((int(attributes["data-seen"] or 0), part))
        if tag not in VOID:
            self.open.append((tag, part))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for _, part in self.open:
            if part is not None:
                part.append(data)


def read_page(html: str) -> SeenPage:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open, "a tag is left open"
    strings = ["".join(part) for _, part in sorted(reader.seen, key=lambda seen: seen[0])]
    reader.page.text = " [SEP] ".join([text.strip() for text in strings if text not in ("", "\n")])
    return reader.page
