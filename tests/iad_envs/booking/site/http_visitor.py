"""A visitor of the booking site without a browser: reads pages, fills in their forms and sends them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from flask.testing import FlaskClient

VOID = ("meta", "link", "img", "input", "br", "hr")


@dataclass
class Tag:
    """An element of a page."""

    name: str
    attributes: dict[str, str | None]
    parent: "Tag | None" = None
    parts: list["Tag | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    @property
    def plain(self) -> str:
        return " ".join(self.text.split())

    def all(self, attribute: str = "", name: str = "") -> Iterator["Tag"]:
        """Yield the elements inside that have an attribute or a name."""
        for part in self.parts:
            if isinstance(part, Tag):
                if attribute in part.attributes or part.name == name:
                    yield part
                yield from part.all(attribute, name)

    def up_to(self, name: str) -> "Tag":
        """Return the innermost element of a name around this one."""
        assert self.parent is not None, f"there is no <{name}> around it"
        return self.parent if self.parent.name == name else self.parent.up_to(name)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.here = Tag("", {})

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        made = Tag(tag, dict(attrs), self.here)
        self.here.parts.append(made)
        if tag not in VOID:
            self.here = made

    def handle_endtag(self, tag: str) -> None:
        assert self.here.name == tag, f"</{tag}> closes <{self.here.name}>"
        assert self.here.parent is not None
        self.here = self.here.parent

    def handle_data(self, data: str) -> None:
        self.here.parts.append(data)


class HttpPage:
    """A page as HTML has it, in the words of the engine."""

    def __init__(self, html: str) -> None:
        reader = _Reader()
        reader.feed(html)
        reader.close()
        assert not reader.here.name, f"<{reader.here.name}> is left open"
        self.root = reader.here

    def said(self, mark: str) -> list[str]:
        """Return the texts with a mark such as `line`."""
        return [tag.plain for tag in self.root.all(f"data-{mark}")]

    @property
    def clickable(self) -> dict[str, Tag]:
        """What can be used, by id."""
        found = list(self.root.all("data-click"))
        by_id = {str(tag.attributes["data-click"]): tag for tag in found}
        assert len(by_id) == len(found), "an id is there twice"
        return by_id

    @property
    def elements(self) -> list[tuple[str, str, str]]:
        """Id, label and value of what can be used, in any order; options of an open list only."""
        found = []
        for name, tag in self.clickable.items():
            if tag.name == "option":
                if "size" in tag.up_to("select").attributes:
                    found.append((name, tag.plain, ""))
                continue
            around = tag.up_to("label") if tag.name in ("input", "select") else tag
            labels = [around] if "data-label" in around.attributes else list(around.all("data-label"))
            found.append((name, labels[0].plain, value_of(tag, is_shown=True)))
        return sorted(found)

    def form_of(self, button: str) -> tuple[str, dict[str, str]]:
        """Return the address of a button's form and what it sends."""
        tag = self.clickable[button]
        assert (tag.name, tag.attributes["type"], tag.attributes["name"]) == ("button", "submit", "do")
        form = tag.up_to("form")
        fields = {str(one.attributes["name"]): one for kind in ("input", "select") for one in form.all(name=kind)}
        sent = {name: value_of(one) for name, one in fields.items()}
        return str(form.attributes["action"]), {**sent, "do": str(tag.attributes["value"])}


def value_of(tag: Tag, *, is_shown: bool = False) -> str:
    """Return the value of a field or list as it is sent, or as it is shown; "" for a button."""
    if tag.name == "select":
        (chosen,) = [one for one in tag.all(name="option") if "selected" in one.attributes]
        return chosen.plain if is_shown else str(chosen.attributes["value"])
    return str(tag.attributes["value"]) if tag.name == "input" else ""


class HttpVisitor:
    """Someone with a session on the site."""

    def __init__(self, client: FlaskClient, session: str) -> None:
        self.client, self.session = client, session
        self.path, self.page = "", HttpPage("")

    def get(self, path: str) -> HttpPage:
        """Open a page of the session."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        self.path, self.page = path, HttpPage(answer.text)
        return self.page

    def home(self) -> HttpPage:
        return self.get(f"/{self.session}/")

    def send(self, button: str, **typed: str) -> Any:
        """Click a button after typing, and return the answer as it is."""
        address, form = self.page.form_of(button)
        assert address == self.path, "a form goes to the address of its page"
        return self.client.post(address, data={**form, **{name.replace("_", "-"): v for name, v in typed.items()}})

    def click(self, button: str, **typed: str) -> HttpPage:
        """Click a button after typing, and go where it leads."""
        answer = self.send(button, **typed)
        assert answer.status_code == 303, answer.text
        assert answer.location.startswith(f"/{self.session}/")
        return self.get(answer.location)
