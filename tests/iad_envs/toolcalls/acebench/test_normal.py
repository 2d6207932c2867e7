from typing import Any

import pytest

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.equality import same_value, sound_text
from iad_envs.toolcalls.acebench.scoring.normal import check_normal, gold_answer, gold_calls
from iad_envs.toolcalls.acebench.scoring.special import check_special
from iad_envs.toolcalls.rules import RULES
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


def test_what_passes_officially_and_should_not() -> None:
    assert gold_answer(task(BOOK), AceGold({"book": GOLD})) == booked()
    for right in ({}, {"city": "st malo", "tags": ["Quiet."]}):
        assert verdicts(booked(**right)) == (True, True)
    holes: tuple[dict[str, Any], ...] = (
        {"nights": 4}, {"price": 99.0}, {"price": 2}, {"breakfast": False}, {"breakfast": "true"}, {"kind": "cellar"},
        {"city": "not St. Malo at all"}, {"nights": None}, {"guest": {"name": "Ana", "age": 130}},
        {"rooms": [{"beds": 12}]},
    )  # fmt: skip
    wrong: tuple[dict[str, Any], ...] = (
        {"city": None}, {"city": "Malo"}, {"city": 3}, {"nights": "3"}, {"breakfast": "yes"}, {"tags": ["loud"]},
        {"tags": ["quiet", "cheap"]}, {"guest": {"name": "Ana"}}, {"guest": {"name": "Ana", "years": 30}},
        {"guest": "Ana"}, {"rooms": [{"beds": 2}, {"beds": 1}]}, {"pets": 1},
    )  # fmt: skip
    for change in (*holes, *wrong):
        assert verdicts(booked(**change)) == (change in holes, False), change


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


MISSING, VALUE, LIMITS = "Missing necessary parameters", "There is incorrect value", "the limitations of the function"
SEND = document("send_mail", ("to", "text"), to="string", text="string")


@pytest.mark.parametrize(
    ("category", "gold", "official", "sound"),
    [
        ("incomplete", {"send_mail": ["to", "text"]}, [
            f"{MISSING} (to, text, cc) for the api (send_mail)", f"{MISSING} (to, context) for the api (send_mail)",
            f"{MISSING} (to, text) for the api (send_mail_now)", f"{MISSING}, to and text of send_mail",
            f"{MISSING} (to, text) for the api (send_mail) [send_mail(to='x')]",
        ], [f"{MISSING} (to, text) for the api (send_mail)", f"{MISSING} ('text','to') for the api: send_mail."]),
        ("error_param", {"to": ["1,5 (x)"]}, [
            f"{VALUE} (1,5 (x)) for the parameters (text)", f"{VALUE} (1,5 (x), hello) for the parameters (to)",
            f"{VALUE}: all of 1,5 (x)",
        ], [f"{VALUE} (1,5 (x)) for the parameters (to) in the conversation history."]),
        ("irrelevant", f"Due to {LIMITS} ...", [f"Due to {LIMITS} [send_mail()]", f"{LIMITS}. {VALUE}"],
         [f"Due to {LIMITS}, I cannot solve this problem."]),
    ],
)  # fmt: skip
def test_a_sentence_is_looked_for_officially_and_read_soundly(
    category: str, gold: object, official: list[str], sound: list[str]
) -> None:
    wrong = (
        f"{MISSING} (to) for the api (send_mail)", "Please tell me to and text for send_mail", "I can't.",
        f"{VALUE} (15) for the parameters (to)",
    )  # fmt: skip
    for answer in (*official, *sound, *wrong):
        these, wanted = task(SEND, category=f"special_{category}"), AceGold(gold)
        found = [check_special(these, wanted, answer, rules) for rules in RULES]
        assert found == [answer not in wrong, answer in sound], answer
