"""Reads a page of a site as a browser would: its tree, its marked strings, where its clickables lead, what it loads."""

from html.parser import HTMLParser
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder


class _Reader(HTMLParser):
    """Builds the tree of a page whose tags are closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.tree, self.open = TreeBuilder(), ["page"]
        self.tree.start("page", {})

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tree.start(tag, {name: value or "" for name, value in attrs})
        self.open.append(tag)
        if tag in ("meta", "link", "img", "input", "br", "hr"):
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.tree.end(self.open.pop())

    def handle_data(self, data: str) -> None:
        self.tree.data(data)


def tree_of(html: str) -> Element:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.handle_endtag("page")
    return reader.tree.close()


class SeenPage(NamedTuple):
    """The strings of the text observation, the address of each clickable (of a name the last), and all tags."""

    text: str
    clicks: dict[str, str]
    tags: list[tuple[str, dict[str, str]]]


def read_page(html: str) -> SeenPage:
    root = tree_of(html)
    marked = [tag for tag in root.iter() if "data-seen" in tag.attrib]
    marked.sort(key=lambda tag: int(tag.attrib["data-seen"] or 0))
    strings = ["".join(tag.itertext()) for tag in marked]
    actions = {tag: form.attrib["action"] for form in root.iter("form") for tag in form.iter()}
    text = " [SEP] ".join(text.strip() for text in strings if text not in ("", "\n"))
    clickable = [tag for tag in root.iter() if "data-click" in tag.attrib]
    clicks = {tag.attrib["data-click"]: tag.attrib.get("href") or actions[tag] for tag in clickable}
    return SeenPage(text, clicks, [(tag.tag, tag.attrib) for tag in root.iter()])
