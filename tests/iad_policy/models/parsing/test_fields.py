"""Fields, scores, choices and critiques in answers, and that no answer makes any reader raise."""

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iad_envs.sketch2code.policy.page_answers import read_page
from iad_policy.models.parsing import Grammar, read_action, read_integer
from iad_policy.models.parsing.function_calls import read_function_calls
from iad_policy.types.answers import read_choice, read_critique, read_field, read_parts, read_score
from iad_policy.types.names import Syntax
from tests.contract.patterns import PIECES

AVAILABLE = ("click[a [b] c]", "submit", "search[...]")


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Critique: fine\nScore: 7", 0.7),
        ("**Score:** 7.5/10", 0.75),
        ("Fine. Score (0-10): 8", 0.8),
        ('{"score": 10}', 1.0),
        ("8/10", 0.8),
        ("Score: 1\nScore: 2", 0.2),
        ("<think>\nScore: 2? No.\n</think>\n9", 0.9),
        ("Score: 2? No.\n</think>\nCritique: fine\nScore: 9", 0.9),
        ("Score: 80", None),
        ("Score: -3", None),
        ("I give no number", None),
        ("", None),
    ],
)
def test_a_score_is_read(text: str, score: float | None) -> None:
    assert read_score(text) == score


def test_a_critique_is_what_stands_before_the_score() -> None:
    assert read_critique("Critique: wrong size.\nScore: 3", "score") == "wrong size."
    assert read_critique("<think>Let me see.</think>\nCritique: wrong size.\nScore: 3", "score") == "wrong size."


def test_a_choice_is_read_behind_its_heading_or_in_a_short_answer() -> None:
    sides = ("first", "second", "equal")
    assert read_choice("Critique: first or second?\nBetter: second", "better", sides) == "second"
    assert read_choice("<think>first?</think>The second.", "better", sides) == "second"
    assert read_choice("Better: first or second", "better", sides) is None
    assert read_choice("I think that the first one is the better one of them.", "better", sides) is None


def test_parts_begin_behind_the_reasoning_and_keep_their_places() -> None:
    text = "<think>\nThought: no\n</think>\nThought: look\nCommand: ls"
    assert read_parts(text, ("thought", "command")) == [
        ("thought", 0, "look"),
        ("command", text.index("\nCommand"), "ls"),
    ]


@settings(deadline=None)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=30).map("".join),
    ),
    st.sampled_from(get_args(Syntax)),
    st.booleans(),
    st.booleans(),
)
def test_no_answer_makes_a_reader_raise(text: str, syntax: Syntax, bare: bool, is_cut: bool) -> None:
    for available in (AVAILABLE, ()):
        reading = read_action(text, Grammar.of(available, syntax), bare=bare, is_cut=is_cut)
        assert reading.action is None or (
            isinstance(reading.action, str) and reading.action.strip() and not reading.got
        )
    for reading in (
        read_page(text, ("ask[...]",), is_cut=is_cut),
        read_integer(text, is_cut=is_cut),
        read_function_calls(text, is_cut=is_cut),
    ):
        assert reading.action is None or not reading.got
    read_choice(text, "better", ("first", "second"))
    read_critique(text, "score")
    read_field(text, "best")
    score = read_score(text)
    assert score is None or 0.0 <= score <= 1.0
