from typing import Any

import pytest

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.equality import same_value, sound_text
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, gold_calls
from iad_envs.toolcalls.matching import n_matched
from tests.iad_envs.toolcalls.acebench.small_scenario import document, task

BOOK = document(
    "book", ("city",), city="string", nights="integer", price="number", breakfast="boolean", guest="object",
    kind="enum", tags={"type": "array", "items": {"type": "string"}},
    rooms={"type": "array", "items": {"type": "object"}},
)  # fmt: skip
GOLD = {
    "city": "St. Malo", "nights": 3, "price": 1.5, "breakfast": True, "tags": ["quiet"],
    "guest": {"name": "Ana", "age": 30}, "rooms": [{"beds": 2}], "kind": "suite",
}  # fmt: skip


def verdicts(answer: str, gold: Any = None, *documents: Any) -> tuple[bool, bool]:
    """Return the official and the sound verdict."""
    these = task(*(documents or (BOOK,)))
    wanted = AceGold(gold if gold is not None else {"book": GOLD})
    official, sound = (check_normal(these, wanted, answer, rules).valid for rules in ("official", "sound"))
    return official, sound


def booked(**changes: Any) -> str:
    arguments = {name: value for name, value in {**GOLD, **changes}.items() if value is not None}
    return f"[book({', '.join(f'{name}={value!r}' for name, value in arguments.items())})]"


def test_gold_is_right() -> None:
    assert verdicts(booked()) == (True, True)
    assert gold_answer(task(BOOK), AceGold({"book": GOLD})) == booked()


@pytest.mark.parametrize(
    ("change", "officially"),
    [
        ({"nights": 4}, True),
        ({"price": 99.0}, True),
        ({"price": 2}, True),
        ({"breakfast": False}, True),
        ({"kind": "cellar"}, True),
        ({"city": "not St. Malo at all"}, True),
        ({"nights": None}, True),
        ({"guest": {"name": "Ana", "age": 130}}, True),
        ({"rooms": [{"beds": 12}]}, True),
        ({"city": None}, False),
        ({"city": "Malo"}, False),
        ({"city": 3}, False),
        ({"nights": "3"}, False),
        ({"breakfast": "yes"}, False),
        ({"tags": ["loud"]}, False),
        ({"tags": ["quiet", "cheap"]}, False),
        ({"guest": {"name": "Ana"}}, False),
        ({"guest": {"name": "Ana", "years": 30}}, False),
        ({"guest": "Ana"}, False),
        ({"rooms": [{"beds": 2}, {"beds": 1}]}, False),
        ({"pets": 1}, False),
    ],
)
def test_what_passes_officially_and_should_not(change: dict[str, Any], officially: bool) -> None:
    assert verdicts(booked(**change)) == (officially, False)


def test_written_booleans_and_case_and_blanks_pass_officially() -> None:
    assert verdicts(booked(breakfast="true")) == (True, False)
    assert verdicts(booked(city="st malo", tags=["Quiet."])) == (True, True)


def test_two_gold_calls_are_met_by_one_call_officially() -> None:
    gold = {"book_0": {"city": "Rome"}, "book_1": {"city": "Oslo"}}
    both = "[book(city='Oslo'), book(city='Rome')]"
    assert verdicts(both, gold) == (True, True)
    assert verdicts("[book(city='Rome and Oslo'), book(city='Nowhere')]", gold) == (True, False)
    assert verdicts("[book(city='Rome')]", gold) == (False, False)
    same = {"book_0": {"city": "Rome"}, "book_1": {"city": "Rome"}}
    assert verdicts("[book(city='Rome'), book(city='Oslo')]", same) == (True, False)


def test_a_name_that_ends_in_a_number_fails_officially() -> None:
    numbered = document("scan_3", city="string")
    assert verdicts("[scan_3(city='Rome')]", {"scan_3": {"city": "Rome"}}, numbered) == (False, True)
    assert [call.name for call in gold_calls({"scan_3": {}, "scan_3_1": {}}, ["scan_3"])] == ["scan_3", "scan_3"]


def test_a_function_without_properties_can_officially_not_be_called_right() -> None:
    assert verdicts("[ping()]", {"ping": {}}, document("ping")) == (False, True)
    assert verdicts("[ping(a=1)]", {"ping": {}}, document("ping")) == (True, False)


def test_one_of_several_alternatives_is_enough() -> None:
    gold = [{"book": {"city": "Rome"}}, {"book": {"city": "Oslo"}}]
    assert verdicts("[book(city='Oslo')]", gold) == (True, True)
    failed = check_normal(task(BOOK), AceGold(gold), "[book(city='Nice')]", "sound")
    assert "Rome" in failed.message


def test_errors_have_names() -> None:
    def error(answer: str, gold: Any = None) -> str:
        return check_normal(task(BOOK), AceGold(gold or {"book": GOLD}), answer).error

    assert error("none") == "unreadable"
    assert error("[]") == "wrong_count"
    assert error("[cook(city='x')]") == "wrong_function"
    assert error("[book(nights=1)]") == "missing_argument"
    assert error(booked(pets=1)) == "unknown_argument"
    assert error(booked(nights="3")) == "wrong_type"
    assert error(booked(city="Rome")) == "wrong_value"
    assert error("[cook(a=1)]", {"cook": {"a": 1}}) == "crash"


@pytest.mark.parametrize(
    ("given", "gold", "same"),
    [
        ("New York", "new york.", True),
        ("it's", 'it"s', True),
        ("3.5", "35", False),
        ("1, 2", "12", False),
        ("1 2", "12", False),
        ("-5", "5", False),
        (".5", "5", False),
        ("2022-04-12", "20220412", False),
        ("Covid-19", "Covid 19", True),
        ("well, then", "well then", True),
        ("...", "", False),
        (1, True, False),
        (True, 1, False),
        (1.0, 1, True),
        ("1", 1, False),
        (None, None, True),
        (None, 0, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [2, 1], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"A": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
    ],
)
def test_sound_equality(given: Any, gold: Any, same: bool) -> None:
    assert same_value(given, gold) is same


def test_sound_text_keeps_what_is_only_punctuation() -> None:
    assert sound_text("...") == "..."


def test_the_largest_matching_is_found() -> None:
    assert n_matched([[0, 1], [0], [2, 1]]) == 3
    assert n_matched([[0], [0]]) == 1
    assert n_matched([]) == 0
