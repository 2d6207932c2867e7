import pytest

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.scoring.special import check_special
from tests.iad_envs.toolcalls.acebench.small_scenario import document, task

SEND = document("send_mail", ("to", "text"), to="string", text="string")


def verdicts(category: str, gold: object, answer: str) -> tuple[bool, bool]:
    """Return the official and the sound verdict."""
    these = task(SEND, category=f"special_{category}")
    official, sound = (check_special(these, AceGold(gold), answer, rules).valid for rules in ("official", "sound"))
    return official, sound


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Missing necessary parameters (to, text) for the api (send_mail)", (True, True)),
        ("Missing necessary parameters ('text','to') for the api: send_mail.", (True, True)),
        ("Missing necessary parameters (to, text, cc) for the api (send_mail)", (True, False)),
        ("Missing necessary parameters (to, context) for the api (send_mail)", (True, False)),
        ("Missing necessary parameters (to, text) for the api (send_mail_now)", (True, False)),
        ("Missing necessary parameters (to, text) for the api (send_mail) [send_mail(to='x')]", (True, False)),
        ("Missing necessary parameters, to and text of send_mail", (True, False)),
        ("Missing necessary parameters (to) for the api (send_mail)", (False, False)),
        ("Please tell me to and text for send_mail", (False, False)),
    ],
)
def test_incomplete(answer: str, expected: tuple[bool, bool]) -> None:
    assert verdicts("incomplete", {"send_mail": ["to", "text"]}, answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("There is incorrect value (1,5 (x)) for the parameters (to) in the conversation history.", (True, True)),
        ("There is incorrect value (1,5 (x)) for the parameters (text)", (True, False)),
        ("There is incorrect value (1,5 (x), hello) for the parameters (to)", (True, False)),
        ("There is incorrect value: all of 1,5 (x)", (True, False)),
        ("There is incorrect value (15) for the parameters (to)", (False, False)),
    ],
)
def test_error_param(answer: str, expected: tuple[bool, bool]) -> None:
    assert verdicts("error_param", {"to": ["1,5 (x)"]}, answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Due to the limitations of the function, I cannot solve this problem.", (True, True)),
        ("Due to the limitations of the function [send_mail()]", (True, False)),
        ("the limitations of the function. There is incorrect value", (True, False)),
        ("I can't.", (False, False)),
    ],
)
def test_irrelevant(answer: str, expected: tuple[bool, bool]) -> None:
    assert verdicts("irrelevant", "Due to the limitations of the function ...", answer) == expected
