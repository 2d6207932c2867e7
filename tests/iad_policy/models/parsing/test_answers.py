"""Answers as models write them: each in `tests/fixtures` is read as its row says, and none makes a reader raise."""

import json
import tomllib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iad_envs.sketch2code.policy.page_answers import read_page
from iad_policy.models.parsing import Grammar, read_action, read_integer
from iad_policy.models.parsing.function_calls import read_function_calls
from iad_policy.types.answers import read_choice, read_critique, read_field, read_parts, read_score
from iad_policy.types.names import Syntax
from tests.contract.patterns import PIECES
from tests.iad_policy.models.answer_table import FOLDER, TABLES, TableRow, rows

ALL = {table: list(rows(table)) for table in TABLES}
CALLS = tomllib.loads((FOLDER.parent / "function_calls.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("table", TABLES)
def test_answers_are_read_as_their_rows_say(table: str) -> None:
    wrong = [(row.name, row.text, row.read()[0], row.read()[1]) for row in ALL[table] if not row.is_read_right()]
    assert not wrong
    unread = [row.read()[0] for row in ALL[table] if row.error]
    assert all(one.error.startswith("unreadable answer: expected ") for one in unread)
    assert [one.thought for one in unread] == [row.text for row in ALL[table] if row.error]


READ = [row for some in ALL.values() for row in some if not (row.error or row.reask) and row.finish == "stop"]
OWN = ("<th", "<rea", "<|", "</think>", "\r")
"""What an answer has only once."""


@pytest.mark.parametrize(
    "changed",
    [
        *("{}\n\n".format, "\n{}".format, lambda text: text.replace("\n", "\r\n")),
        "<think>\nLet me see.\nAction: none?\n</think>\n\n{}".format,
        "Let me see.\nAction: none?\n</think>\n{}".format,
    ],
    ids=["line breaks behind", "a line break before", "Windows", "reasoning", "reasoning without opening"],
)
def test_what_stands_around_an_answer_changes_no_action(changed: Callable[[str], str]) -> None:
    chosen: list[TableRow] = [row for row in READ if not any(one in row.text for one in OWN)]
    assert len(chosen) > 500
    for row in chosen[::2]:
        candidate, is_asked = replace(row, text=changed(row.text)).read()
        assert (candidate.action, is_asked) == (row.action, False), row


@pytest.mark.parametrize(("text", "action", "thought"), CALLS["read"])
def test_function_calls_are_read(text: str, action: str, thought: str) -> None:
    assert read_function_calls(text)[:2] == (action, thought)


def test_calls_that_can_t_be_read_or_were_cut_off_say_so_and_names_that_a_model_could_not_write_are_put_back() -> None:
    for text, got in CALLS["unreadable"]:
        reading = read_function_calls(text)
        assert (reading.action, reading.got[: len(got)]) == (None, got)
    for text, action in CALLS["cut"]:
        reading = read_function_calls(text, is_cut=True)
        assert (reading.action or "", "cut off at max_tokens" in reading.got) == (action, not action)
    names = {"shop_find": "shop.find", "stop": "stop"}
    assert read_function_calls("[shop_find(n=2), stop()]", names=names).action == "[shop.find(n=2), stop()]"
    found = read_function_calls('<tool_call>{"name": "shop_find", "arguments": {}}</tool_call>', names=names)
    assert json.loads(found.action) == [{"name": "shop.find", "arguments": {}}]


@pytest.mark.parametrize(
    ("text", "score"),
    [
        *(("Critique: fine\nScore: 7", 0.7), ("**Score:** 7.5/10", 0.75), ("Fine. Score (0-10): 8", 0.8)),
        *(('{"score": 10}', 1.0), ("8/10", 0.8), ("Score: 1\nScore: 2", 0.2)),
        ("<think>\nScore: 2? No.\n</think>\n9", 0.9),
        ("Score: 2? No.\n</think>\nCritique: fine\nScore: 9", 0.9),
        *((text, None) for text in ("Score: 80", "Score: -3", "I give no number", "")),
    ],
)
def test_a_score_is_read(text: str, score: float | None) -> None:
    assert read_score(text) == score


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("Critique: first or second?\nBetter: second", "second"),
        ("<think>first?</think>The second.", "second"),
        ("Better: first or second", None),
        ("I think that the first one is the better one of them.", None),
    ],
)
def test_a_choice_is_read_behind_its_heading_or_in_a_short_answer(text: str, choice: str | None) -> None:
    assert read_choice(text, "better", ("first", "second", "equal")) == choice


def test_parts_begin_behind_the_reasoning_and_a_critique_is_what_stands_before_the_score() -> None:
    for reasoning in ("", "<think>Let me see.</think>\n"):
        assert read_critique(f"{reasoning}Critique: wrong size.\nScore: 3", "score") == "wrong size."
    text = "<think>\nThought: no\n</think>\nThought: look\nCommand: ls"
    parts = [("thought", 0, "look"), ("command", text.index("\nCommand"), "ls")]
    assert read_parts(text, ("thought", "command")) == parts


TEXTS = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=30).map("".join)


@given(st.one_of(st.text(max_size=200), TEXTS), st.sampled_from(get_args(Syntax)), st.booleans(), st.booleans())
def test_no_answer_makes_a_reader_raise(text: str, syntax: Syntax, bare: bool, is_cut: bool) -> None:
    for available in (("click[a [b] c]", "submit", "search[...]"), ()):
        read: Any = read_action(text, Grammar.of(available, syntax), bare=bare, is_cut=is_cut)
        assert read.action is None or (isinstance(read.action, str) and read.action.strip() and not read.got)
    for reading in (
        *(read_page(text, ("ask[...]",), is_cut=is_cut), read_integer(text, is_cut=is_cut)),
        read_function_calls(text, is_cut=is_cut),
    ):
        assert reading.action is None or not reading.got
    read_choice(text, "better", ("first", "second"))
    read_critique(text, "score")
    read_field(text, "best")
    score = read_score(text)
    assert score is None or 0.0 <= score <= 1.0
