"""The documentation as a site: it is built without a warning or the network, and holds every page and public name."""

import os
import re
import runpy
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import gymnasium as gym
import pytest

import iad_policy
from iad_envs import ENVIRONMENTS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MISSING = [name for name in ("sphinx", "myst_parser", "furo") if find_spec(name) is None]
LOADED = re.compile(r"<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")
STYLED = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//")


@pytest.mark.slow
@pytest.mark.timeout(320)
@pytest.mark.skipif(bool(MISSING), reason=f"needs {', '.join(MISSING)}: pip install -e '.[docs]'")
def test_the_site_has_a_page_for_every_document_leads_to_pages_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    offline = {**os.environ, "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    words = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(DOCS), str(tmp_path)]
    done = subprocess.run(words, env=offline, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for document in DOCS.glob("*.md"):
        assert (tmp_path / f"{document.stem}.html").stat().st_size > 1_000, document.name
    assert "searchtools.js" in (tmp_path / "search.html").read_text(encoding="utf-8")  # the generator's own page
    title = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert f"<h1>{title}<" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert (tmp_path / "llms.txt").read_text(encoding="utf-8").startswith(f"# {title}\n")
    for page in tmp_path.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not LOADED.search(text), page.name
        # A link to a document above docs/ leads to its page, and none to a copy of it for downloading.
        assert not re.search(r'href="[^":]*\.md[#"]', text), page.name
        for target in re.findall(r'href="([^":#?]+\.html)', text):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
    for style in tmp_path.rglob("*.css"):
        assert not STYLED.search(style.read_text(encoding="utf-8")), style.name


def test_every_document_is_in_a_table_of_contents_and_in_llms_txt_with_a_sentence_and_loses_no_line() -> None:
    """The second is made of the first."""
    text = runpy.run_path(str(DOCS / "conf.py"))["llms"]()
    lines = re.findall(r"^- \[.+\]\((\S+)\.html\): (.+)$", text, re.MULTILINE)
    pages = [page.relative_to(DOCS).with_suffix("").as_posix() for page in DOCS.rglob("*.md")]
    assert sorted(page for page, _ in lines) == sorted(set(pages) - {"index"})  # else see the toctrees of docs/index.md
    assert all("](" not in said and len(said) > 5 for _, said in lines)
    for page in [*DOCS.glob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]:
        # One that begins with a percent sign, as the end of "7 %" may in a wrapped line, would be a comment.
        lost = re.findall(r"^ *(?:%|\+\+\+).*$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert not lost, f"{page.name}: {lost}"


def test_every_public_name_environment_and_example_is_in_the_reference() -> None:
    reference = (DOCS / "reference.md").read_text(encoding="utf-8")
    for name in iad_policy.__all__:
        assert re.search(rf"^\.\. auto\w+:: iad_policy\.{name}$", reference, re.MULTILINE), name
    for name in ENVIRONMENTS:
        assert f".. autoclass:: {str(gym.spec(name).entry_point).replace(':', '.')}\n" in reference, name
    page = (DOCS / "examples.md").read_text(encoding="utf-8")
    for example in sorted((ROOT / "examples").glob("*.py")):
        assert f":::{{literalinclude}} ../examples/{example.name}\n" in page, f"add {example.name} to docs/examples.md"
