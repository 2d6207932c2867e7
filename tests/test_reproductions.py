"""The pages of the papers' comparisons have what was decided, as it is in the results that are kept beside them."""

import json
from pathlib import Path

import pytest

from iad_policy.learn.reproduce import as_markdown
from iad_policy.papers import comparisons, load_comparison

PAGES = Path(__file__).parent.parent / "docs/learning"
PAPER_PAGES = [
    *((name, name, "") for name in comparisons()),
    ("agentq", "agentq-booking", "IAD/Booking-v0"),
]
"""A paper, the name of its results, and the environment where the paper has an experiment of its own for it."""


def test_every_experiment_has_results() -> None:
    known = {(paper, env) for paper, _, env in PAPER_PAGES if env}
    assert known == {
        (paper, env) for paper, own in comparisons().items() for one in own for env in one.envs if "Browser" not in env
    }


@pytest.mark.parametrize(("name", "results", "env"), PAPER_PAGES)
def test_a_page_has_what_its_results_say(name: str, results: str, env: str) -> None:
    record = json.loads((PAGES / "reproductions" / f"{results}.json").read_text(encoding="utf-8"))
    paper = load_comparison(name, env).for_what_is_trained(reads_text=record["backend"].startswith("hf:"))
    assert record["env"] == (env or "IAD/WebShop-v0")
    assert list(record["arms"]) == list(paper.arms)
    assert [one["name"] for one in record["claims"]] == [one.name for one in paper.claims]
    assert record["differs"] == list(paper.differs)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    lines = as_markdown(record).splitlines()
    assert all(f"- Differs: {sentence}" in page for sentence in record["differs"])
    for one in record["claims"]:
        (row,) = [line for line in lines if line.startswith(f"| {one['name']} | {one['published']} |")]
        assert (f"`{one['name']}`" if one["verdict"] == "cannot be told" else row) in page
