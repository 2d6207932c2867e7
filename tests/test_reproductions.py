"""The pages of the papers' comparisons have the tables of the results that are kept beside them."""

import json
from pathlib import Path

import pytest

from iad_policy.learn.reproduce import as_markdown
from iad_policy.papers import ELSEWHERE, PAPERS, load_paper

PAGES = Path(__file__).parent.parent / "docs/learning"


PAPER_PAGES = [
    *((name, name, "") for name in PAPERS),
    ("agentq", "agentq-booking", "IAD/Booking-v0"),
]
"""A paper, the name of its results, and the environment where the paper has an experiment of its own for it."""


def test_every_experiment_has_results() -> None:
    known = {(paper, env) for paper, _, env in PAPER_PAGES if env}
    assert known == {(paper, env) for paper, env in ELSEWHERE if "Browser" not in env}


@pytest.mark.parametrize(("name", "results", "env"), PAPER_PAGES)
def test_a_page_has_the_tables_of_its_results(name: str, results: str, env: str) -> None:
    record = json.loads((PAGES / "reproductions" / f"{results}.json").read_text(encoding="utf-8"))
    paper = load_paper(name, env).for_what_is_trained(reads_text=record["backend"].startswith("hf:"))
    assert record["env"] == (env or "IAD/WebShop-v0")
    assert list(record["arms"]) == list(paper.arms)
    assert [one["name"] for one in record["claims"]] == [one.name for one in paper.claims]
    assert record["differs"] == list(paper.differs)
    assert as_markdown(record) in (PAGES / f"{name}.md").read_text(encoding="utf-8")
