from typing import Any

from iad_envs.toolcalls.acebench import user
from iad_envs.toolcalls.acebench.user import DONT_KNOW, STOP, UserFact, UserGoal, UserScript, next_message

SCRIPT = UserScript(
    (
        UserGoal("I want a reminder.", {"Reminders": {"list": [{"title": "Tea"}]}}),
        UserGoal("And I want a message sent.", {"Messages": {"sent": {"7": {"to": "Ana"}}}}),
    ),
    (
        UserFact("reminder title", "The title is Tea."), UserFact("reminder time", "It is at 9.", ("when", "hour")),
        UserFact("message receiver", "It is for Ana.", ("whom", "person")), UserFact("message text", "It says hello."),
    ),
)  # fmt: skip
NOTHING: dict[str, Any] = {"Reminders": {"list": []}}
REMINDED = {"Reminders": {"list": [{"title": "Soup"}, {"title": "tea", "time": 9}]}}
ALL = {**REMINDED, "Messages": {"sent": {"7": {"to": "Ana", "text": "hello"}}}}


def test_it_opens_with_its_first_goal_and_goes_on_when_the_state_holds() -> None:
    said = user.first_message(SCRIPT)
    assert (said.text, said.goal, said.is_last) == ("I want a reminder.", 0, False)
    assert next_message(SCRIPT, 0, "Done!", NOTHING).text == DONT_KNOW
    reached = next_message(SCRIPT, 0, "Done!", REMINDED)
    assert (reached.text, reached.goal) == ("And I want a message sent.", 1)
    last = next_message(SCRIPT, 1, "Done!", ALL)
    assert (last.text, last.goal, last.is_last) == (STOP, 2, True)
    assert next_message(SCRIPT, 0, "Both are done.", ALL).is_last
    assert user.first_message(UserScript(())).is_last


def test_a_question_gets_at_most_two_facts() -> None:
    for question, names in {
        "What is the title?": ["reminder title"],
        "Which title and time should the reminder have?": ["reminder title", "reminder time"],
        "At which HOUR?": ["reminder time"], "Who is the person?": ["message receiver"],
        "What should the messages say?": ["message receiver", "message text"],
        "Title, time, receiver and text, please.": ["reminder title", "reminder time"], "Which colour?": [], "": [],
    }.items():  # fmt: skip
        said = user.asked_facts(question, SCRIPT.facts)
        assert [fact.name for fact in said] == names
        told = " ".join(fact.says for fact in said) or "I don't know."
        assert next_message(SCRIPT, 0, question, NOTHING).text == told
    # A rarer word counts more.
    assert [fact.name for fact in user.asked_facts("The text of the reminder?", SCRIPT.facts)][-1] == "message text"
    assert user.words_of("What are the 2 names of the flights?") == {"2", "name", "flight"}


def test_what_holds() -> None:
    for wanted, state, is_held in (
        ({}, {}, True), ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, True), ({"a": {"b": 1}}, {"a": {}}, False),
        ({"a": None}, {}, True), ({"a": None}, {"a": 1}, False), ({"a": 1}, {"a": True}, False),
        ([1, 1], [1, 2], False), ([{"x": 1}, {}], [{"y": 1}, {"x": 1}], True), ([1], {"1": 1}, False),
        ({"a": 1}, [1], False), ("New York", "new york", True),
    ):  # fmt: skip
        assert user.holds(wanted, state) is is_held, (wanted, state)
    assert user.by_class([{"A": {"x": 1}}, {"B": {}}]) == {"A": {"x": 1}, "B": {}}


def test_a_script_is_data() -> None:
    goals = [goal._asdict() for goal in SCRIPT.goals]
    facts = [{**fact._asdict(), "words": list(fact.words)} for fact in SCRIPT.facts]
    assert UserScript.from_record({"goals": goals, "facts": facts}) == SCRIPT
    assert UserScript.from_record({"goals": goals}) == SCRIPT._replace(facts=())


def test_a_script_from_an_instruction_speaks_in_the_first_person() -> None:
    instruction = (
        "You are Ana. You need to answer a message Bob sent to you: 'Are you free, isn't it?'. Your account is Ana. "
        "You will respond to the agent but will not say more. If one must go, you delete the oldest message."
    )
    assert user.first_person("You say 'you are' and \"your\".") == "I say 'you are' and \"your\"."
    script = user.script_of_instruction(instruction, {"Messages": {"sent": [1]}})
    assert script.goals[0].says == "I need to answer a message Bob sent to me: 'Are you free, isn't it?'."
    said = next_message(script, 0, "What is the account?", {})
    assert said.text == "My account is Ana."
    assert next_message(script, 0, "Which message should I delete?", {}).text == (
        "If one must go, I delete the oldest message."
    )
    assert next_message(script, 0, "Shall I proceed?", {}).text == "Yes, please."
    assert next_message(script, 0, "Which colour?", {}).text == DONT_KNOW
    assert next_message(script, 0, "Done.", {"Messages": {"sent": [1]}}).is_last
