"""Answers as models write them: each shape in `tests/fixtures/answers` is read as its row says, or asked again."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.iad_policy.models.answer_table import TABLES, TableRow, rows

ALL = {table: list(rows(table)) for table in TABLES}
AT_LEAST = {"bash": 150, "bird": 150, "booking": 150, "sketch2code": 150, "webshop": 150, "numbers": 60}


@pytest.mark.parametrize("table", TABLES)
def test_answers_are_read_as_their_rows_say(table: str) -> None:
    wrong = [(row.name, row.text, row.read()[0], row.read()[1]) for row in ALL[table] if not row.is_read_right()]
    assert not wrong
    unread = [row.read()[0] for row in ALL[table] if row.error]
    assert all(one.error.startswith("unreadable answer: expected ") for one in unread)
    assert [one.thought for one in unread] == [row.text for row in ALL[table] if row.error]


def test_the_tables_have_enough_shapes_and_no_shape_twice() -> None:
    assert {table: len(ALL[table]) >= least for table, least in AT_LEAST.items()} == dict.fromkeys(TABLES, True)
    for some in ALL.values():
        shapes = [(row.text, row.available, row.style, row.finish, row.numbers) for row in some]
        assert len({row.name for row in some}) == len(set(shapes)) == len(some)


READ = [row for some in ALL.values() for row in some if not (row.error or row.reask) and row.finish == "stop"]
OWN = ("<th", "<rea", "<|", "</think>", "\r")
"""What an answer has only once."""


@pytest.mark.parametrize(
    "changed",
    [
        "{}\n\n".format,
        "\n{}".format,
        lambda text: text.replace("\n", "\r\n"),
        "<think>\nLet me see.\nAction: none?\n</think>\n\n{}".format,
        "Let me see.\nAction: none?\n</think>\n{}".format,
    ],
    ids=["line breaks behind", "a line break before", "Windows", "reasoning", "reasoning without opening"],
)
def test_what_stands_around_an_answer_changes_no_action(changed: Callable[[str], str]) -> None:
    chosen: list[TableRow] = [row for row in READ if not any(one in row.text for one in OWN)]
    assert len(chosen) > 500
    for row in chosen:
        candidate, is_asked = replace(row, text=changed(row.text)).read()
        assert (candidate.action, is_asked) == (row.action, False), row
