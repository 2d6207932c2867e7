"""What is read of a user's text: values, clauses, and the words around them."""

import pytest

from iad_envs.toolcalls.policy.documents import Catalogue
from iad_envs.toolcalls.policy.mentions import clauses_of
from iad_envs.toolcalls.policy.words import near, plainly, stem
from tests.iad_envs.toolcalls.policy.talks import tool

KNOWN = Catalogue([tool("find_boat", "Finds a boat by its name.", name="Name of the boat.")])


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Find 'The Old Boat'.", "quote", "The Old Boat"),
        ("Write 'Don't wait.' to it", "quote", "Don't wait."),
        ("Mail ann.lee@example.org now", "mail", "ann.lee@example.org"),
        ("Come on June 7, 2026, please", "date", "2026-06-07"),
        ("Come on the 7th of June 2026", "date", "2026-06-07"),
        ("Come on 2026-06-07.", "date", "2026-06-07"),
        ("Take BT-17 out", "id", "BT-17"),
        ("It costs 1,250.5 now", "number", 1250.5),
        ("Wait three days", "number", 3),
        ("Ask Hedda Petrak about it", "name", "Hedda Petrak"),
        ("Look for the walrus", "span", "walrus"),
    ],
)
def test_values_are_found(text: str, kind: str, value: object) -> None:
    assert (kind, value) in [(one.kind, one.value) for clause in clauses_of(text, KNOWN) for one in clause.mentions]


def test_no_date_that_does_not_exist() -> None:
    assert [one.kind for one in clauses_of("On 2026-02-31", KNOWN)[0].mentions if one.kind == "date"] == []


def test_clauses_end_with_sentences_and_before_verbs_but_not_inside_values() -> None:
    text = "Find 'Up and down. Then go', and open it; then tell me. Do not send it."
    found = clauses_of(text, KNOWN)
    assert [one.text for one in found][:2] == ["Find 'Up and down. Then go'", "and open it;"]
    assert [one.is_negated for one in found] == [False, False, False, True]
    assert [one.verb for one in found[:2]] == ["find", "open"]


def test_a_value_has_the_words_around_it_up_to_another_value() -> None:
    (clause,) = clauses_of("Set the length to 5 metres with a width of 3 metres", KNOWN)
    first, second = [one for one in clause.mentions if one.kind == "number"]
    assert (first.before[:2], first.after[0]) == (("to", "length"), stem("metres"))
    assert second.before[:2] == ("of", "width")
    assert "length" not in second.before


def test_words_are_compared_by_stem_and_meaning() -> None:
    assert stem("transplanting") == stem("transplanted") == stem("transplants")
    assert stem("lent") == stem("lend")
    assert stem("cancel") in near(stem("revoke"))
    assert plainly("Please write it back to her") == "Please reply it to her"
