"""A database in words: the schema before the question, and no data of the environment's own."""

from dataclasses import replace
from functools import cache
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)
from iad_envs.bird.policy.rendering import AnswerRendering, DatabaseRendering
from iad_policy.prompts.feedback import feedback_text
from iad_policy.roles.paraphrase_check import agent_view
from iad_policy.simulators.llm import Unpredicted
from iad_policy.types import Candidate, Feedback, ShownAttempt, ShownTokens, State, Turn
from tests.folders import prompts

WORDS = DatabaseRendering()


@cache
def played(*actions: str, task_id: str = "12", **options: Any) -> State:
    """Return the state after actions."""
    env = gym.make("IAD/BIRD-v0", **options)
    observation, info = env.reset(options={"task_id": task_id})
    history: list[Turn] = []
    for action in actions:
        history.append(Turn(observation, action, info))
        observation, _, _, _, info = env.step(action)
    env.close()
    return State(observation, info, history=tuple(history), steps_left=10 - len(actions))


@pytest.mark.parametrize("schema", ["ddl", "ddl+samples", "m-schema"])
def test_the_schema_keeps_the_form_that_was_asked_for(schema: str) -> None:
    state = played(schema=schema)
    text = WORDS.environment(state)
    assert text.startswith("Database: clinic_lab (SQLite)\n")
    body = text.partition("\n")[2]
    if schema == "ddl+samples":  # in the observation each column of a joint key is one
        assert "PRIMARY KEY (request_id, assay_code)," in body
        assert all(block.count("PRIMARY KEY") <= 1 for block in body.split(";\n"))
    else:
        assert body in state.observation


def test_the_same_schema_is_told_at_every_step_and_nothing_twice() -> None:
    first, later = played(), played("execute[SELECT COUNT(*) FROM assay]", "execute[SELECT 2]")
    assert WORDS.environment(first) == WORDS.environment(later)
    values = WORDS.values(later)
    question = "Question: What is the average value of cholesterol?"
    assert values["task"] == f"{question}\nEvidence: cholesterol refers to assay name"
    assert values["observation"] == "execute: 1 row\n2\n2"
    query = "execute[SELECT COUNT(*) FROM assay]"
    assert values["history"].startswith(f"So far:\n1. {query}\n   execute: 1 row\n   COUNT(*)\n")
    assert "\n".join(values.values()).count("CREATE TABLE assay") == 1
    for state in (played("sing"), played("execute[SELECT 2]", "sing")):
        assert "The last action was not valid here and changed nothing: expected execute[SQL]" in WORDS.facts(state)
        assert WORDS.environment(state) == WORDS.environment(first)
    # Where a result is predicted, the schema comes from an earlier turn.
    info = {**first.info, "page": Unpredicted(), "facts": Unpredicted(), "available_actions": ()}
    turn = Turn(first.observation, "execute[SELECT 1]", first.info)
    predicted = State("execute: 1 row\n1\n1", info, history=(turn,))
    assert WORDS.environment(predicted) == WORDS.environment(first)
    assert WORDS.page(predicted) == predicted.observation


def test_findings_are_sentences_and_facts_of_the_environment_s_own_are_not_told() -> None:
    state = played("execute[SELECT AVG(value) FROM result WHERE assay_code = 'cholesterol']")
    findings = "Findings:\n- the result holds only NULL\n- 'cholesterol' is no value of result.assay_code"
    assert WORDS.facts(state) == findings
    text = "\n".join(WORDS.values(state).values())
    assert not any(noise in text for noise in ("has_gold", "severity", "execute:6", "kind:", "('"))
    assert WORDS.facts(played()) == ""
    # A query that only explores is not held against the question.
    sql = "SELECT * FROM patient WHERE name = 'Nobody'"
    explored, answered = played(f"execute[{sql}]"), played(f"submit[{sql}]")
    assert WORDS.facts(explored) == "Findings:\n- the result has no rows\n- 'Nobody' is no value of patient.name"
    assert WORDS.facts(explored) in WORDS.facts(answered)
    assert "the question" in WORDS.facts(answered)
    later = played(f"execute[{sql}]", "sing", "execute[SELECT 2]")
    assert WORDS.turns(later)[1].count("\n") == 1, "after an invalid action, nothing is told of the query before"


def test_only_the_offered_actions_are_named() -> None:
    state = played()
    assert WORDS.actions(state) == "Possible now: execute[SQL] or submit[SQL]"
    last = replace(state, steps_left=1)
    assert WORDS.steps_left(last) == "Actions left: 1. Without submit[SQL] as the last one, nothing counts."
    answering = replace(last, info={**state.info, "available_actions": ("submit[...]",)})
    assert (WORDS.actions(answering), WORDS.steps_left(answering)) == ("", "")


def test_a_paraphrased_question_stays_in_its_place() -> None:
    wording = "Cholesterol: what is its mean value?\nEvidence: cholesterol refers to assay name"
    state = agent_view(played("execute[SELECT 2]").worded(wording))
    values = WORDS.values(state)
    assert "What is the average" not in "\n".join(values.values())
    assert values["observation"] == "execute: 1 row\n2\n2"


def test_attempts_are_shown_in_the_form_of_an_answer() -> None:
    two_lines = r"SELECT a\1" "\nFROM b -- submit[x]"
    actions = ("submit[SELECT 1]", f"submit[{two_lines}]", f"submit[SELECT {'1, ' * 500}1]")
    row = State("submit: 1 row\n1\n1", {}, key="1")
    first, *others = [ShownAttempt(Candidate(action, key=action)) for action in actions]
    feedback = Feedback(attempts=(replace(first, outcome=row), *others), shown=ShownTokens(action=10))
    assert AnswerRendering().told(feedback) == (
        "Tried 1:\n```sql\nSELECT 1\n```\nResult: 1 row\n1\n1\n"
        f"Tried 2:\n```sql\n{two_lines}\n```\nTried 3: submit[SELECT 1, 1, 1, 1, 1, 1, 1, 1, 1,..."
    )
    best = ShownAttempt(Candidate("submit[SELECT 1]"), "best")
    assert AnswerRendering().told(Feedback(attempts=(best,))) == "Best:\n```sql\nSELECT 1\n```"
    told = feedback_text(feedback, AnswerRendering())
    assert told.startswith("Tried 1: submit[SELECT 1]\nResult: submit: 1 row"), "the log has actions as they are"
    assert WORDS.told(replace(feedback, text=told)) == told
    assert isinstance(prompts("bird/answer").rendering, AnswerRendering)
    assert type(prompts("bird").rendering) is DatabaseRendering
