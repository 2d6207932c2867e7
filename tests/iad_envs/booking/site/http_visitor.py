"""A visitor of the booking site without a browser: reads pages, fills in their forms and sends them."""

from typing import Any
from xml.etree.ElementTree import Element

from flask.testing import FlaskClient

from tests.webshop_server.site.site_pages import tree_of


def plain(tag: Element) -> str:
    return " ".join("".join(tag.itertext()).split())


class HttpPage:
    """A page as HTML has it, in the words of the engine."""

    def __init__(self, html: str) -> None:
        self.root = tree_of(html)
        self._parents = {child: parent for parent in self.root.iter() for child in parent}

    def having(self, attribute: str) -> list[Element]:
        return [tag for tag in self.root.iter() if attribute in tag.attrib]

    def said(self, mark: str) -> list[str]:
        return [plain(tag) for tag in self.having(f"data-{mark}")]

    def around(self, tag: Element, name: str) -> Element:
        """Return the innermost element of a name around one."""
        parent = self._parents[tag]
        return parent if parent.tag == name else self.around(parent, name)

    @property
    def values(self) -> dict[str, str]:
        return {name: value for name, _, value in self.elements}

    @property
    def clickable(self) -> dict[str, Element]:
        found = self.having("data-click")
        by_id = {tag.attrib["data-click"]: tag for tag in found}
        assert len(by_id) == len(found), "an id is there twice"
        return by_id

    @property
    def elements(self) -> list[tuple[str, str, str]]:
        """Id, label and value of what can be used, in any order; options of an open list only."""
        found = []
        for name, tag in self.clickable.items():
            if tag.tag == "option":
                if "size" in self.around(tag, "select").attrib:
                    found.append((name, plain(tag), ""))
                continue
            near = self.around(tag, "label") if tag.tag in ("input", "select") else tag
            label = next(one for one in near.iter() if "data-label" in one.attrib)
            found.append((name, plain(label), value_of(tag, is_shown=True)))
        return sorted(found)

    def form_of(self, button: str) -> tuple[str, dict[str, str]]:
        tag = self.clickable[button]
        assert (tag.tag, tag.attrib["type"], tag.attrib["name"]) == ("button", "submit", "do")
        form = self.around(tag, "form")
        sent = {one.attrib["name"]: value_of(one) for one in form.iter() if one.tag in ("input", "select")}
        return form.attrib["action"], {**sent, "do": tag.attrib["value"]}


def value_of(tag: Element, *, is_shown: bool = False) -> str:
    """Return the value of a field or list as it is sent, or as it is shown; "" for a button."""
    if tag.tag == "select":
        (chosen,) = [one for one in tag.iter("option") if "selected" in one.attrib]
        return plain(chosen) if is_shown else chosen.attrib["value"]
    return tag.attrib["value"] if tag.tag == "input" else ""


class HttpVisitor:
    def __init__(self, client: FlaskClient, session: str) -> None:
        self.client, self.session = client, session
        self.path, self.page = "", HttpPage("")

    def get(self, path: str) -> HttpPage:
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        self.path, self.page = path, HttpPage(answer.text)
        return self.page

    def home(self) -> HttpPage:
        return self.get(f"/{self.session}/")

    def send(self, button: str, **typed: str) -> Any:
        address, form = self.page.form_of(button)
        assert address == self.path, "a form goes to the address of its page"
        return self.client.post(address, data={**form, **{name.replace("_", "-"): v for name, v in typed.items()}})

    def click(self, button: str, **typed: str) -> HttpPage:
        answer = self.send(button, **typed)
        assert answer.status_code == 303, answer.text
        assert answer.location.startswith(f"/{self.session}/")
        return self.get(answer.location)
