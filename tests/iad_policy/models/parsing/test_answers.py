"""Answers as models write them: each shape in `tests/fixtures/answers` is read as its row says."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.iad_policy.models.answer_table import TABLES, TableRow, rows

ALL = [row for table in TABLES for row in rows(table)]
AT_LEAST = {"bash": 150, "bird": 150, "booking": 150, "sketch2code": 150, "webshop": 150, "numbers": 60}


@pytest.mark.parametrize("row", ALL, ids=lambda row: f"{row.table}: {row.name}")
def test_an_answer_is_read_as_its_row_says(row: TableRow) -> None:
    candidate = row.read()
    if row.error:
        assert candidate.action is None
        assert candidate.error.startswith("unreadable answer: expected ")
        assert row.error in candidate.error
        assert candidate.thought == row.text
        return
    assert (candidate.action, candidate.error) == (row.action, "")
    assert row.thought is None or candidate.thought == row.thought


def test_the_tables_have_enough_shapes_and_no_shape_twice() -> None:
    assert {table: len(list(rows(table))) >= least for table, least in AT_LEAST.items()} == dict.fromkeys(TABLES, True)
    for table in TABLES:
        names = [row.name for row in rows(table)]
        shapes = [(row.text, row.available, row.style, row.finish, row.numbers) for row in rows(table)]
        assert len(set(names)) == len(names)
        assert len(set(shapes)) == len(shapes)


READ = [row for row in ALL if not row.error and row.finish == "stop"]
TAGS = ("<th", "<rea", "<scr", "[THINK]", "[TOOL", "<|", "◁", "<｜", "analysis")
"""Beginnings of answers that have their own place for reasoning, or tokens of one model's template."""
OWN = ("</think>", "\r")
"""What an answer has only once."""


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: f"{text}\n\n",
        lambda text: f"\n{text}",
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"<think>\nLet me see.\nAction: none?\n</think>\n\n{text}",
        lambda text: f"Let me see.\nAction: none?\n</think>\n{text}",
    ],
    ids=[
        "line breaks behind",
        "a line break before",
        "line breaks of Windows",
        "reasoning",
        "reasoning without opening",
    ],
)
def test_what_stands_around_an_answer_changes_no_action(changed: Callable[[str], str]) -> None:
    rows = [row for row in READ if not row.text.lstrip().startswith(TAGS) and not any(one in row.text for one in OWN)]
    assert len(rows) > 500
    for row in rows:
        action = replace(row, text=changed(row.text)).read().action
        assert action == row.action, row
