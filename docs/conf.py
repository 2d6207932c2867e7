"""How the site is built from these pages: `make docs`. Nothing is fetched, and a warning is an error."""

import re
import sys
from os.path import relpath
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT))

project = "iad"
author = "The iad authors"
copyright = author
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "tasklist"]
myst_heading_anchors = 3
default_role = "code"
smartquotes_action = "D"  # dashes only: quotes here are mostly code
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
html_theme = "furo"
html_title = "iad"
html_copy_source = False
html_extra_path = ["schemas"]
html_theme_options = {
    name: {"code-font-size": "0.75rem"}  # so that a printed table fits into a page
    for name in ("light_css_variables", "dark_css_variables")
}

PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Files above this folder that have a page in the site."""
LINK = re.compile(r"(?<=\]\()[^)#\s]+")
NAMED_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)\)")
HEADING = re.compile(r"## (.+)")
TOCTREE = re.compile(r"^:::\{toctree\}\n:hidden:\n:caption: ([^\n]+)\n\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r":::\{include\} (\S+)")
TEXT = re.compile(r"^(?:[*\w`\[].*\n)+", re.MULTILINE)
ANY_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
FIRST_SENTENCE = re.compile(r"(?<=[.?:]) ")


def _linked(text: str, folder: Path, page: str) -> str:
    """Return a text of a folder with its links to files as they must be on a page, and to pages where there are any.

    A folder that has no page is named, not linked.
    """

    def named(link: re.Match[str]) -> str:
        has_page = link[2].strip("./") == "examples"
        return link[1] if (folder / link[2]).is_dir() and not has_page else link[0]

    def moved(link: re.Match[str]) -> str:
        target = folder / link[0]
        if not target.exists():
            return link[0]
        place = relpath(target, ROOT)
        is_example = place.startswith("examples")
        shown = DOCS / ("examples.md" if is_example else PAGES[place]) if is_example or place in PAGES else target
        return relpath(shown, (DOCS / page).parent)

    return LINK.sub(moved, NAMED_LINK.sub(named, text))


def _on_source(app: Any, docname: str, content: list[str]) -> None:
    content[0] = _linked(content[0], (DOCS / docname).parent, docname)


def _on_include(app: Any, path: Path, docname: str, content: list[str]) -> None:
    content[0] = _linked(content[0], (DOCS / path).resolve().parent, docname)


def _on_docstring(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Turn the headings of the environments' docstrings, which are Gymnasium's, into ones that napoleon knows."""
    for place, line in enumerate(lines):
        if heading := HEADING.fullmatch(line):
            lines[place] = "Args:" if heading[1] == "Arguments" else f".. rubric:: {heading[1]}\n"
    lines[:] = "\n".join(lines).split("\n")


def _on_member(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the fields of named tuples: their class describes them."""
    return True if str(getattr(thing, "__doc__", "")).startswith("Alias for field") else None


def llms() -> str:
    """Return `llms.txt`: the pages as in the table of contents, each with its title and its first sentence."""
    title, said = _opening("index")
    parts = [f"# {title}\n", f"> {said}\n"]
    for caption, entries in TOCTREE.findall((DOCS / "index.md").read_text(encoding="utf-8")):
        parts.append(f"## {caption}\n")
        for page in [one for one in entries.split() if one != "self"]:
            title, said = _opening(page)
            parts.append(f"- [{title}]({page}.html): {FIRST_SENTENCE.split(said)[0]}")
        parts.append("")
    return "\n".join(parts)


def _opening(page: str) -> tuple[str, str]:
    path = DOCS / f"{page}.md"
    text = path.read_text(encoding="utf-8")
    if included := INCLUDED.match(text):
        text = (DOCS / included[1]).read_text(encoding="utf-8")
    title, _, rest = text.removeprefix("# ").partition("\n")
    found = TEXT.search(rest)
    said = ANY_LINK.sub(r"\1", " ".join(found[0].split())) if found else ""
    return title, said.replace("**", "").replace("\\", "")


def _on_finished(app: Any, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        (Path(app.outdir) / "llms.txt").write_text(llms(), encoding="utf-8")


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("source-read", _on_source)
    app.connect("include-read", _on_include)
    app.connect("autodoc-process-docstring", _on_docstring, priority=100)
    app.connect("autodoc-skip-member", _on_member)
    app.connect("build-finished", _on_finished)
