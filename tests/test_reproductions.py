"""The pages of the papers' comparisons have what was decided, as it is in the results that are kept beside them."""

import json
from pathlib import Path

import pytest

from iad_policy.learn.reproduce import as_markdown
from iad_policy.papers import WEBSHOP, compared_in, comparisons, load_comparison, what_differs

PAGES = Path(__file__).parent.parent / "docs/learning"
RESULTS = [
    (paper, env) for paper in comparisons() for env in compared_in(paper) if not load_comparison(paper, env).needs_model
]


@pytest.mark.parametrize(("name", "env"), RESULTS)
def test_a_page_has_what_its_results_say(name: str, env: str) -> None:
    place = "" if env == WEBSHOP else f"-{env.removeprefix('IAD/').removesuffix('-v0').lower()}"
    record = json.loads((PAGES / "reproductions" / f"{name}{place}.json").read_text(encoding="utf-8"))
    paper = load_comparison(name, env).for_what_is_trained(reads_text=record["backend"].startswith("hf:"))
    assert record["env"] == env
    assert list(record["arms"]) == list(paper.arms)
    assert [one["name"] for one in record["claims"]] == [one.name for one in paper.claims]
    assert record["differs"] == list(what_differs(name, "comparison", env))
    assert [(one["title"], one["arms"]) for one in record["pictures"]] == [(o.title, o.arms) for o in paper.pictures]
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    lines = as_markdown(record).splitlines()
    assert all(f"- {sentence}" in page for sentence in record["differs"])
    for one in record["claims"]:
        (row,) = [line for line in lines if line.startswith(f"| {one['name']} | {one['published']} |")]
        assert (f"`{one['name']}`" if one["verdict"] == "undecidable" else row) in page
    for k, one in enumerate(record["pictures"], 1):
        path = f"reproductions/{name}{place}-{k}.png"
        assert f"![{one['title']}: here and published]({path})" in page
        assert 0 < (PAGES / path).stat().st_size < 60_000
