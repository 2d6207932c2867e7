"""Findings: why a query has no result, what is odd about one, and where it does not fit the question's words."""

import re
import tomllib
from pathlib import Path

import pytest

from iad_envs.bird.data import Question
from iad_envs.bird.database import QueryResult
from iad_envs.bird.reading import QueryText
from iad_envs.bird.schema import Schema
from iad_envs.bird.wording import asked_by, wording_findings
from tests.iad_envs.bird.conftest import Find

TABLE = tomllib.loads((Path(__file__).parents[2] / "fixtures/bird/findings.toml").read_text(encoding="utf-8"))["query"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["sql"][:60])
def test_a_query_has_these_findings_and_no_others(find: Find, row: dict[str, str]) -> None:
    """Others had a precision below one half among real predictions: duplicates .26, order_nulls .47 ..."""
    found = find(row["sql"], row.get("question", "Which?"), row.get("evidence", ""))
    told = [f"{one.severity} {one.code}: {one.message}" for one in found]
    patterns = [re.escape(said).replace("…", ".+") for said in row["found"]]
    assert len(told) == len(patterns), told
    assert [one for said, one in zip(patterns, told, strict=True) if not re.fullmatch(said, one)] == []


def test_a_long_query_is_not_read_and_a_column_of_the_evidence_is_named_once(find: Find, schema: Schema) -> None:
    for sql, code, said in (
        (f"SELECT {'- ' * 3000}1", "limit", "over a limit"),
        (f"SELECT nam FROM city WHERE id IN ({', '.join(['1'] * 5000)})", "unknown_column", r"column: nam\Z"),
    ):
        (finding,) = find(sql)
        assert (finding.code, bool(re.search(said, finding.message))) == (code, True)
    evidence = "in Bern refers to city_id = 1; shops refers to city_id; city_id of shops counts"
    question = Question("1", "towns", "How many shops are in Bern?", evidence, "")
    result = QueryResult("ok", "", ("n",), ((1,),), is_cut=False, seconds=0.0, undecodable=False)
    found = [one.message for one in wording_findings(QueryText("SELECT 1", schema), result, question)]
    assert found == ["the evidence explains 'in Bern' by city_id, and the query does not use it"]
    asked = asked_by("Which heroes of DC are in 'Gotham City'? Is Ann's one?", "DC refers to publisher = 'DC Comics'")
    assert asked.names == ("Gotham City", "Ann")
