"""What is said about queries without a result."""

import pytest

from tests.iad_envs.bird.conftest import Find


@pytest.mark.parametrize(
    ("sql", "code", "said"),
    [
        ("SELEC 1", "syntax", "syntax error"),
        ("SELECT (1", "syntax", "incomplete input"),
        ("SELECT nam FROM city", "unknown_column", "near: city.name"),
        ("SELECT c.nam FROM city c", "unknown_column", "near: city.name"),
        ("SELECT * FROM citys", "unknown_table", "near: city"),
        ("SELECT foo(1)", "unknown_function", "no such function: foo"),
        ("SELECT id FROM city, shop", "ambiguous_column", "ambiguous"),
        ("DELETE FROM city", "rejected", "expected one SELECT, got DELETE"),
        ("SELECT zeroblob(9)", "rejected", "not allowed: the function zeroblob"),
        ("", "rejected", "blank"),
        ("SELECT 1; SELECT 2", "error", "one statement"),
        (f"SELECT {'- ' * 3000}1", "limit", "over a limit"),
    ],
)
def test_a_query_that_fails_has_one_finding_with_the_reason(find: Find, sql: str, code: str, said: str) -> None:
    (finding,) = find(sql).values()
    assert (finding.code, finding.severity) == (code, "error")
    assert said in finding.message


def test_an_unknown_column_is_told_what_its_alias_has_and_how_to_reach_the_table_that_has_it(find: Find) -> None:
    message = find("SELECT T1.country FROM shop AS T1 WHERE T1.staff > 2")["unknown_column"].message
    assert message.startswith("no such column: T1.country; T1 is shop with id, city_id, name, sales, staff; near: ")
    assert "city.country" in message
    assert message.endswith("; city joins ON shop.city_id = city.id")


def test_a_table_that_is_joined_already_or_has_no_key_is_not_offered_as_a_join(find: Find) -> None:
    joined = "SELECT T1.country FROM shop AS T1 JOIN city AS T2 ON T1.city_id = T2.id"
    assert " joins ON " not in find(joined)["unknown_column"].message
    assert " joins ON " not in find("SELECT what FROM city")["unknown_column"].message
    assert " joins ON " not in find("SELECT c.price_of_all FROM city c")["unknown_column"].message


def test_an_ambiguous_column_is_told_where_it_is(find: Find) -> None:
    assert find("SELECT id FROM city, shop")["ambiguous_column"].message.endswith("; it is in city and shop")


def test_a_very_long_query_is_not_analysed(find: Find) -> None:
    (finding,) = find(f"SELECT nam FROM city WHERE id IN ({', '.join(['1'] * 5000)})").values()
    assert finding.message == "no such column: nam"
