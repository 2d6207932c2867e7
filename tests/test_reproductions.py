"""The pages of the papers' comparisons have the tables of the results that are kept beside them."""

import json
from pathlib import Path

import pytest

from iad_policy.learning.papers import PAPERS, load_paper
from iad_policy.learning.reproduce import as_markdown

PAGES = Path(__file__).parent.parent / "docs/learning"


@pytest.mark.parametrize("name", list(PAPERS))
def test_a_page_has_the_tables_of_its_results(name: str) -> None:
    record = json.loads((PAGES / "reproductions" / f"{name}.json").read_text(encoding="utf-8"))
    paper = load_paper(name).for_backend(record["backend"])
    assert list(record["arms"]) == list(paper.arms)
    assert [one["name"] for one in record["claims"]] == [one.name for one in paper.claims]
    assert record["differs"] == list(paper.differs)
    assert as_markdown(record) in (PAGES / f"{name}.md").read_text(encoding="utf-8")
