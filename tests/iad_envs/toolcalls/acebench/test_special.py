import pytest

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.scoring.special import check_special
from iad_envs.toolcalls.rules import RULES
from tests.iad_envs.toolcalls.acebench.small_scenario import document, task

SEND = document("send_mail", ("to", "text"), to="string", text="string")


@pytest.mark.parametrize(
    ("category", "gold", "official", "sound"),
    [
        (
            *("incomplete", {"send_mail": ["to", "text"]}),
            [
                "Missing necessary parameters (to, text, cc) for the api (send_mail)",
                "Missing necessary parameters (to, context) for the api (send_mail)",
                "Missing necessary parameters (to, text) for the api (send_mail_now)",
                "Missing necessary parameters (to, text) for the api (send_mail) [send_mail(to='x')]",
                "Missing necessary parameters, to and text of send_mail",
            ],
            [
                "Missing necessary parameters (to, text) for the api (send_mail)",
                "Missing necessary parameters ('text','to') for the api: send_mail.",
            ],
        ),
        (
            *("error_param", {"to": ["1,5 (x)"]}),
            [
                "There is incorrect value (1,5 (x)) for the parameters (text)",
                "There is incorrect value (1,5 (x), hello) for the parameters (to)",
                "There is incorrect value: all of 1,5 (x)",
            ],
            ["There is incorrect value (1,5 (x)) for the parameters (to) in the conversation history."],
        ),
        (
            *("irrelevant", "Due to the limitations of the function ..."),
            [
                "Due to the limitations of the function [send_mail()]",
                "the limitations of the function. There is incorrect value",
            ],
            ["Due to the limitations of the function, I cannot solve this problem."],
        ),
    ],
)
def test_a_sentence_is_looked_for_officially_and_read_soundly(
    category: str, gold: object, official: list[str], sound: list[str]
) -> None:
    wrong = (
        *("Missing necessary parameters (to) for the api (send_mail)", "Please tell me to and text for send_mail"),
        *("There is incorrect value (15) for the parameters (to)", "I can't."),
    )
    for answer in (*official, *sound, *wrong):
        these, wanted = task(SEND, category=f"special_{category}"), AceGold(gold)
        found = [check_special(these, wanted, answer, rules) for rules in RULES]
        assert found == [answer not in wrong, answer in sound], answer
