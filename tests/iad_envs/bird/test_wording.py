"""Findings that compare a query and its result with the words of the question and its evidence."""

import re

import pytest

from iad_envs.bird.data import Question
from iad_envs.bird.database import QueryResult
from iad_envs.bird.reading import QueryText
from iad_envs.bird.schema import Schema
from iad_envs.bird.wording import asked_by, wording_findings
from tests.iad_envs.bird.conftest import Find


@pytest.mark.parametrize(
    ("question", "sql", "code", "said"),
    [
        ("How many cities are there?", "SELECT name FROM city", "shape", "number, but the query returned 4 rows"),
        ("How many cities?", "SELECT name FROM city WHERE id = 1", "shape", "but the query returned 'Bern'"),
        ("What is the average of sales?", "SELECT AVG(sales) FROM shop GROUP BY id", "shape", "returned 4 rows"),
        ("List the cities.", "SELECT COUNT(*) FROM city", "only_number", "but the query returned one number, 4"),
        (
            "What is the name of the shop?",
            "SELECT name, staff FROM shop",
            "extra_columns",
            "but the query returned 2 columns",
        ),
        ("Which shops are in Bern?", "SELECT id FROM shop", "id_unasked", "shows id, .* see shop.name"),
        ("What percentage is in Bern?", "SELECT 0.5", "percentage", "but the query returned 0.5"),
        ("What is the average of sales?", "SELECT SUM(sales) FROM shop", "operation_unused", "neither AVG nor"),
        ("What is the ratio of shops?", "SELECT COUNT(*) FROM shop", "operation_unused", "no division"),
        ("Which shop is the largest?", "SELECT name FROM shop", "operation_unused", "highest or lowest, .* no MAX"),
        ("Which shops are in Lyon?", "SELECT name FROM shop", "name_unused", "names 'Lyon', and the query does not"),
        ("Which shops sell 'green tea'?", "SELECT name FROM shop", "name_unused", "names 'green tea'"),
        ("Which shops have staff above 25?", "SELECT name FROM shop", "number_unused", "names 25, and the query"),
        ("Which shops?", "SELECT name FROM city WHERE name = 'Lyon'", "literal_unasked", r"'Lyon' \(city.name\)"),
    ],
)
def test_a_query_that_does_not_fit_the_question_is_told_why(
    find: Find, question: str, sql: str, code: str, said: str
) -> None:
    message = find(sql, question)[code].message
    assert re.search(said, message), message


@pytest.mark.parametrize(
    ("question", "sql"),
    [
        ("How many cities are there?", "SELECT COUNT(*) FROM city"),
        ("How many cities has each country?", "SELECT country, COUNT(*) FROM city GROUP BY 1"),
        ("Which shops sell above the average?", "SELECT name FROM shop WHERE sales > (SELECT AVG(sales) FROM shop)"),
        ("Which shop has the most staff?", "SELECT name FROM shop ORDER BY staff DESC LIMIT 1"),
        ("Which countries have at least 2 cities?", "SELECT country FROM city GROUP BY 1 HAVING COUNT(*) >= 2"),
        ("What are the ids of the shops?", "SELECT id FROM shop"),
        ("Give the ID of Bern.", "SELECT id FROM city WHERE name = 'Bern'"),
        (
            "Which shops sell 80% of the average?",
            "SELECT name FROM shop WHERE sales > (SELECT 0.8 * AVG(sales) FROM shop)",
        ),
        ("What percentage is in Bern?", "SELECT 100.0 * SUM(city_id = 1) / COUNT(*) AS bern FROM shop"),
        ("Show the interest of the guest.", "SELECT 'x'"),
    ],
)
def test_a_query_that_fits_the_question_is_told_nothing(find: Find, question: str, sql: str) -> None:
    assert not find(sql, question)


def test_evidence_that_a_query_leaves_aside_is_said(find: Find) -> None:
    question, evidence = "How many shops belong to Bern?", "belong to refers to city_id; shop is a place"
    message = find("SELECT COUNT(*) FROM shop WHERE staff = 3", question, evidence)["evidence_unused"].message
    assert message == "the evidence explains 'belong to' by city_id, and the query does not use it"
    used = "SELECT COUNT(*) FROM shop s JOIN city c ON s.city_id = c.id WHERE c.name = 'Bern'"
    assert not find(used, question, evidence)


def test_a_column_of_the_evidence_is_named_once(schema: Schema) -> None:
    evidence = "in Bern refers to city_id = 1; shops refers to city_id; city_id of shops counts"
    question = Question("1", "towns", "How many shops are in Bern?", evidence, "")
    result = QueryResult("ok", "", ("n",), ((1,),), is_cut=False, seconds=0.0, undecodable=False)
    found = [one.message for one in wording_findings(QueryText("SELECT 1", schema), result, question)]
    assert found == ["the evidence explains 'in Bern' by city_id, and the query does not use it"]


def test_evidence_of_another_question_costs_nothing(find: Find) -> None:
    evidence = "yearly turnover refers to MAX(sales); born in refers to founded = '1191-05-01'"
    assert not find("SELECT COUNT(*) FROM shop", "How many shops are there?", evidence)


def test_a_key_may_be_named_by_the_column_that_refers_to_it(find: Find) -> None:
    question, evidence = "How many shops are in Bern?", "in Bern refers to city.id = 1"
    assert not find("SELECT COUNT(*) FROM shop WHERE city_id = 1", question, evidence)
    assert "evidence_unused" in find("SELECT COUNT(*) FROM shop WHERE staff = 1", question, evidence)


def test_a_key_that_is_only_counted_may_be_counted_as_rows(find: Find) -> None:
    question, evidence = (
        "What percentage of the shops is small?",
        "percentage = DIVIDE(COUNT(shop.id where staff < 3), COUNT(DISTINCT shop.id)) * 100",
    )
    rows = "SELECT CAST(SUM(CASE WHEN staff < 3 THEN 1 ELSE 0 END) AS REAL) * 100 / COUNT(*) FROM shop"
    assert not find(rows, question, evidence)
    assert "evidence_unused" in find(rows.replace("COUNT(*)", "SUM(staff)"), question, evidence)
    assert "evidence_unused" in find(rows, question, f"{evidence}; shops refers to id > 3")
    assert "evidence_unused" in find("SELECT 100.0 * COUNT(*) FROM city", question, evidence)


def test_rows_that_are_chosen_by_their_key_need_no_other_column(find: Find) -> None:
    question, evidence = "How many shops are in Bern?", "in Bern refers to name = 'Bern' and country = 'Switzerland'"
    assert not find("SELECT COUNT(*) FROM shop WHERE city_id = 1", question, evidence).keys() - {"name_unused"}
    assert "evidence_unused" in find("SELECT COUNT(*) FROM shop WHERE staff = 1", question, evidence)


def test_an_extreme_of_the_evidence_wants_one_in_the_query(find: Find) -> None:
    question, evidence = "Which shop leads?", "leads refers to MAX(sales)"
    message = find("SELECT name FROM shop WHERE sales > 20", question, evidence)["operation_unused"].message
    assert message == "the evidence says MAX(sales), and the query has no MAX, MIN or ORDER BY"
    assert "operation_unused" not in find("SELECT name FROM shop ORDER BY sales DESC", question, evidence)


def test_names_that_the_evidence_explains_are_left_to_it() -> None:
    asked = asked_by("Which heroes of DC are in 'Gotham City'? Is Ann's one?", "DC refers to publisher = 'DC Comics'")
    assert asked.names == ("Gotham City", "Ann")
