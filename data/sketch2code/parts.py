"""The parts that pages are put together from: head, navigation, cards, tables, forms, pictures."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from random import Random
from typing import Any

PICTURE = "rick.jpg"
"""Every image of the data set is this one."""
CSS = """
* {{ box-sizing: border-box; }}
body {{ margin: 0; font: {font_size}px/1.5 {font}; color: #222; background: #fff; }}
h1, h2, h3 {{ line-height: 1.2; margin: 0 0 .5em; color: {colour}; }}
h1 {{ font-size: {h1_size}px; }} h2 {{ font-size: 24px; }} h3 {{ font-size: 18px; }}
p, ul, ol, table, form {{ margin: 0 0 16px; }}
a {{ color: {colour}; }}
img {{ display: block; max-width: 100%; object-fit: cover; border-radius: {radius}px; }}
hr {{ border: 0; border-top: 2px solid {colour}; margin: 24px 0; }}
main, .wide {{ width: {width}px; max-width: 94%; margin: 0 auto; padding: 28px 0; }}
nav {{ background: {colour}; display: flex; gap: 26px; align-items: center; padding: 0 32px;
  min-height: {nav_height}px; }}
nav a {{ color: #fff; text-decoration: none; }}
nav strong {{ color: #fff; font-size: 20px; margin-right: auto; }}
.head {{ text-align: center; padding: 26px 0 18px; background: {pale}; }}
.grid {{ display: grid; gap: {gap}px; }}
.columns {{ display: flex; gap: {gap}px; align-items: flex-start; }}
.columns > * {{ min-width: 0; }}
.card {{ border: 1px solid #ddd; border-radius: {radius}px; padding: 16px; background: #fff; }}
.tint {{ background: {pale}; padding: 24px; border-radius: {radius}px; }}
.small {{ font-size: 14px; color: #555; }}
button {{ font: inherit; background: {colour}; color: #fff; border: 0; border-radius: {radius}px; padding: 11px 24px; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: 11px 14px; border-bottom: 1px solid #ccc; }}
th {{ background: {pale}; }}
form {{ background: {pale}; padding: 24px; border-radius: {radius}px; }}
label {{ display: block; margin-bottom: 4px; font-weight: bold; }}
input, textarea, select {{ font: inherit; width: 100%; padding: 9px; border: 1px solid #999; margin-bottom: 16px; }}
nav.side {{ flex-direction: column; align-items: stretch; width: 220px; padding: 24px; gap: 18px;
  min-height: {side}px; }}
nav.side strong {{ margin: 0 0 12px; }}
footer {{ background: #333; padding: 22px 32px; margin-top: 24px; }}
footer p.small, footer a, footer h3 {{ color: #eee; }}
footer p:last-child {{ margin: 0; }}
"""
FONTS = ("Arial, Helvetica, sans-serif", "Georgia, 'Times New Roman', serif", "Verdana, Arial, sans-serif")


@dataclass(frozen=True, slots=True)
class Site:
    """Whose page it is, and how it looks.

    Attributes:
        world: The words: name, links, items, posts and so on, as in `worlds/*.toml`.
        rng: What decides about everything that is free.
        gap: Between columns, in pixels.
        unsaid: The sentences that are left, next one last.
    """

    world: dict[str, Any]
    rng: Random
    gap: int
    unsaid: list[str] = field(default_factory=list)

    def css(self) -> str:
        """Return the style sheet."""
        rng = self.rng
        return CSS.format(
            font=rng.choice(FONTS),
            font_size=rng.choice((15, 16, 16, 17)),
            h1_size=rng.choice((32, 36, 42)),
            colour=self.world["colour"],
            pale=self.world["pale"],
            radius=rng.choice((0, 4, 10)),
            width=rng.choice((960, 1040, 1120, 1180)),
            nav_height=rng.choice((56, 64, 76)),
            gap=self.gap,
            side=rng.choice((620, 720, 820)),
        )

    def said(self, n: int) -> str:
        """Return a paragraph's words: n sentences, none twice while there are others."""
        taken = []
        for _ in range(n):
            if not self.unsaid:
                self.unsaid.extend(self.rng.sample(self.world["sentences"], len(self.world["sentences"])))
            taken.append(self.unsaid.pop())
        return " ".join(taken)

    def some(self, key: str, n: int) -> list[Any]:
        """Return n of the world's things, in their order."""
        things = self.world[key]
        return [things[place] for place in sorted(self.rng.sample(range(len(things)), min(n, len(things))))]


def document(site: Site, title: str, body: str) -> str:
    """Return a whole page."""
    name = site.world["name"]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{escape(title)} - {escape(name)}</title>\n<style>{site.css()}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def tag(name: str, content: str = "", **attributes: Any) -> str:
    """Return an element; `class_` is the attribute `class`."""
    said = "".join(f' {key.rstrip("_")}="{escape(str(value))}"' for key, value in attributes.items())
    return f"<{name}{said}>{content}</{name}>"


def words(name: str, text: str, **attributes: Any) -> str:
    """Return an element with plain text."""
    return tag(name, escape(text, quote=False), **attributes)


def lines(parts: Iterable[str]) -> str:
    """Return parts, one a line."""
    return "\n".join(parts)


def div(*parts: str, **attributes: Any) -> str:
    """Return a block of parts."""
    return tag("div", "\n".join(parts), **attributes)


def picture(alt: str, style: str) -> str:
    """Return an image."""
    return f'<img src="{PICTURE}" alt="{escape(alt)}" style="{style}">'


def links(names: Sequence[str]) -> str:
    """Return links that lead nowhere."""
    return lines(words("a", name, href="#") for name in names)


def bar(site: Site, *, logo: bool = True) -> str:
    """Return the navigation, across the page."""
    return tag("nav", (words("strong", site.world["name"]) if logo else "") + links(site.world["links"]))


def head(site: Site, *, stacked: bool = False) -> str:
    """Return the top of a page: a bar, or name and motto above a bar."""
    if not stacked:
        return bar(site)
    title = words("h1", site.world["name"]) + words("p", site.world["tagline"], class_="small")
    return div(title, class_="head") + "\n" + bar(site, logo=False)


def foot(site: Site, *, columns: bool = False) -> str:
    """Return the bottom of a page: a line, or three columns."""
    line = words("p", f"{site.world['name']}. {site.world['tagline']}.", class_="small")
    if not columns:
        return tag("footer", line)
    about = div(words("h3", "About us"), words("p", site.said(2), class_="small"), style="flex: 2")
    more = div(words("h3", "More"), listed(site.world["links"][:4]), style="flex: 1")
    visit = div(
        words("h3", "Visit"), words("p", "12 Mill Lane, open Tuesday to Sunday.", class_="small"), style="flex: 1"
    )
    return tag("footer", div(about, more, visit, class_="columns") + line)


def listed(names: Sequence[str], kind: str = "ul") -> str:
    """Return a list of links (ul) or of steps (ol)."""
    if kind == "ol":
        return tag("ol", lines(words("li", name) for name in names))
    return tag("ul", lines(tag("li", words("a", name, href="#")) for name in names))


def prose(site: Site, *lengths: int) -> str:
    """Return paragraphs of so many sentences."""
    return lines(words("p", site.said(n)) for n in lengths)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    top = tag("tr", "".join(words("th", name) for name in headings))
    return tag("table", lines([top, *(tag("tr", "".join(words("td", cell) for cell in row)) for row in rows)]))


def form(title: str, fields: Sequence[str], button: str, **attributes: Any) -> str:
    """Return a form; a field that ends in dots is a large one."""
    parts = [words("h2", title)] if title else []
    for name in fields:
        large = name.endswith("...")
        field = '<textarea rows="5"></textarea>' if large else '<input type="text">'
        parts += [words("label", name.rstrip(".")), field]
    return tag("form", lines([*parts, words("button", button, type="button")]), **attributes)


def grid(columns: int, *parts: str) -> str:
    """Return parts side by side, `columns` in a row."""
    return div(*parts, class_="grid", style=f"grid-template-columns: repeat({columns}, 1fr)")


def columns(*parts: tuple[str, str]) -> str:
    """Return columns, each a width (as in CSS `flex`) and its content."""
    return div(*(div(content, style=f"flex: {width}") for width, content in parts), class_="columns")
