"""Outcomes that a simulator has predicted: whoever reads conversations reads them too, whatever is missing in them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from iad_envs.toolcalls.policy.language_agent import CHATS
from iad_policy.simulators.llm import Unpredicted
from iad_policy.types import Candidate, State, Turn
from tests.iad_envs.toolcalls.policy.talks import WORDS, Talk, chat, read_by_all

BASE = "multi_turn_base_13"


def moments() -> Iterator[State]:
    """States of every kind: as a turn begins, with results, after an error and after an unreadable action, drafted."""
    talk = Talk(BASE)
    yield talk.state
    yield talk.tried("reply[Done.]").preview  # type: ignore[misc]
    for action in (talk.reference[0], "[nothing_such(a=1)]", "no action", "reply[Done.]", talk.reference[1]):
        yield talk.did(action).state
    question = Talk("multiple_2")
    yield question.state
    yield question.did(f"draft{question.reference[0]}").state


def partial_infos(info: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    info = dict(info)
    for part in ("page", "facts"):
        whole = dict(info[part])
        yield {name: value for name, value in info.items() if name != part}
        yield {**info, part: None}
        yield {**info, part: {}}
        for name in whole:
            yield {**info, part: {other: value for other, value in whole.items() if other != name}}
            yield {**info, part: {name: whole[name]}}
    yield {"task_id": "x", "instruction": "Do it."}


def test_a_page_or_facts_that_lack_something_are_read_all_the_same() -> None:
    for moment in moments():
        action = str(moment.history[-1].action) if moment.history else "[f(a=1)]"
        before = State(moment.observation, moment.info)
        for info in partial_infos(moment.info):
            read_by_all(replace(moment, info=info), before, action)
            earlier = Turn(moment.observation, action, info)
            read_by_all(replace(moment, history=(*moment.history, earlier)), replace(moment, info=info), action)


@pytest.mark.parametrize("style", CHATS)
def test_what_a_language_model_predicts_is_read_by_a_language_model(style: str) -> None:
    talk = Talk(BASE)
    first = talk.state
    info = {**first.info, "page": Unpredicted(), "facts": Unpredicted(), "available_actions": ()}
    here = State("It has been moved.", info, history=(Turn(first.observation, talk.reference[0], first.info),))
    messages = chat(style).messages(here)
    assert any("It has been moved." in one["content"] for one in messages)
    assert "It has been moved." in WORDS.candidate(Candidate(talk.reference[0], preview=here))
    assert "It has been moved." in WORDS.values(here)["observation"]
    further = replace(here, history=(*here.history, Turn(here.observation, "[g()]", here.info)))
    assert chat(style).messages(further)
