from typing import Any

import pytest

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.equality import same_value, sound_text
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, gold_calls
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
    official, sound = (check_normal(these, wanted, answer, rules) for rules in ("official", "sound"))
    return official, sound


def booked(**changes: Any) -> str:
    arguments = {name: value for name, value in {**GOLD, **changes}.items() if value is not None}
    return f"[book({', '.join(f'{name}={value!r}' for name, value in arguments.items())})]"


@pytest.mark.parametrize(
    ("changes", "officially"),
    [
        (
            (
                *({"nights": 4}, {"price": 99.0}, {"price": 2}, {"breakfast": False}, {"breakfast": "true"}),
                *({"kind": "cellar"}, {"city": "not St. Malo at all"}, {"nights": None}),
                *({"guest": {"name": "Ana", "age": 130}}, {"rooms": [{"beds": 12}]}),
            ),
            True,
        ),
        (
            (
                *({"city": None}, {"city": "Malo"}, {"city": 3}, {"nights": "3"}, {"breakfast": "yes"}),
                *({"tags": ["loud"]}, {"tags": ["quiet", "cheap"]}, {"guest": {"name": "Ana"}}),
                *({"guest": {"name": "Ana", "years": 30}}, {"guest": "Ana"}, {"rooms": [{"beds": 2}, {"beds": 1}]}),
                {"pets": 1},
            ),
            False,
        ),
    ],
)
def test_what_passes_officially_and_should_not(changes: tuple[dict[str, Any], ...], officially: bool) -> None:
    assert gold_answer(task(BOOK), AceGold({"book": GOLD})) == booked()
    for right in ({}, {"city": "st malo", "tags": ["Quiet."]}):
        assert verdicts(booked(**right)) == (True, True)
    for change in changes:
        assert verdicts(booked(**change)) == (officially, False), change


def test_two_gold_calls_are_met_by_one_call_officially_and_one_of_several_alternatives_is_enough() -> None:
    gold = {"book_0": {"city": "Rome"}, "book_1": {"city": "Oslo"}}
    assert verdicts("[book(city='Oslo'), book(city='Rome')]", gold) == (True, True)
    assert verdicts("[book(city='Rome and Oslo'), book(city='Nowhere')]", gold) == (True, False)
    assert verdicts("[book(city='Rome')]", gold) == (False, False)
    same = {"book_0": {"city": "Rome"}, "book_1": {"city": "Rome"}}
    assert verdicts("[book(city='Rome'), book(city='Oslo')]", same) == (True, False)
    either = [{"book": {"city": "Rome"}}, {"book": {"city": "Oslo"}}]
    assert verdicts("[book(city='Oslo')]", either) == (True, True)
    assert verdicts("[book(city='Nice')]", either) == (False, False)


def test_a_name_that_ends_in_a_number_or_a_function_without_properties_fails_officially() -> None:
    numbered = document("scan_3", city="string")
    assert verdicts("[scan_3(city='Rome')]", {"scan_3": {"city": "Rome"}}, numbered) == (False, True)
    assert [call.name for call in gold_calls({"scan_3": {}, "scan_3_1": {}}, ["scan_3"])] == ["scan_3", "scan_3"]
    assert verdicts("[ping()]", {"ping": {}}, document("ping")) == (False, True)
    assert verdicts("[ping(a=1)]", {"ping": {}}, document("ping")) == (True, False)


def test_other_calls_are_wrong_and_so_is_an_answer_on_which_the_official_code_fails() -> None:
    for answer in ("none", "[]", "[cook(city='x')]", "[book(nights=1)]"):
        assert verdicts(answer) == (False, False), answer
    assert verdicts("[cook(a=1)]", {"cook": {"a": 1}}) == (False, True)


def test_sound_equality() -> None:
    for given, gold, same in (
        ("New York", "new york.", True), ("it's", 'it"s', True), ("3.5", "35", False), ("1, 2", "12", False),
        ("1 2", "12", False), ("-5", "5", False), (".5", "5", False), ("2022-04-12", "20220412", False),
        ("Covid-19", "Covid 19", True), ("well, then", "well then", True), ("...", "", False), (1, True, False),
        (True, 1, False), (1.0, 1, True), ("1", 1, False), (None, None, True), (None, 0, False),
        ([1, 2], (1, 2), True), ([1, 2], [2, 1], False), ({"a": 1}, {"a": 1.0}, True), ({"a": 1}, {"A": 1}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
    ):  # fmt: skip
        assert same_value(given, gold) is same, (given, gold)
    assert sound_text("...") == "..."
