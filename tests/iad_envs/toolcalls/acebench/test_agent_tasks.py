from typing import Any

import pytest

from iad_envs.toolcalls.acebench.checkout import AceGold
from iad_envs.toolcalls.acebench.executor import CallResult
from iad_envs.toolcalls.acebench.gold_classes import gold_by_class
from iad_envs.toolcalls.acebench.scoring.agent_tasks import (
    AgentScore,
    ends_right,
    milestone_calls,
    process_share,
    score_agent,
    score_agent_soundly,
)
from iad_envs.toolcalls.calls import FunctionCall, UnreadableCalls

STATE = [{"Base": {"on": True}}, {"Messages": {"inbox": {"1": {"text": "a"}}, "names": ["x"]}}]
STONES = ("[switch()]", "[add(text='a')]", "[stop()]")


def both(final: list[Any], gold: list[Any] = STATE) -> tuple[bool, bool]:
    """Return the official and the sound verdict on a state."""
    return ends_right(AceGold(gold), final), score_agent_soundly(AceGold(gold), final, ()).end_to_end


def changed(**attributes: Any) -> list[Any]:
    return [STATE[0], {"Messages": {**STATE[1]["Messages"], **attributes}}]


def test_states() -> None:
    assert both(STATE) == (True, True)
    assert both(STATE[::-1]) == (True, True)
    assert both(changed(names=["y"])) == (False, False)
    assert both(changed(inbox={})) == (False, False)
    assert both(changed(inbox=5)) == (False, False)
    assert both(changed(extra=1)) == (False, False)
    assert both(STATE[:1]) == (False, False)
    assert both([]) == (False, False)
    assert both([{"Base": {"on": 1}}, STATE[1]]) == (True, False)


def test_what_gold_lacks_in_a_dictionary_passes_officially() -> None:
    assert both(changed(inbox={"1": {"text": "a"}, "2": {"text": "b"}})) == (True, False)


def test_attributes_that_the_answer_lacks_pass_officially() -> None:
    assert both([STATE[0], {"Messages": {}}]) == (True, False)


def test_a_class_without_its_name_takes_the_verdict_before_it() -> None:
    assert both([{"Anything": {"on": False}}, STATE[1]]) == (True, False)
    assert both([STATE[0], {"Anything": {}}]) == (True, False)
    gold = [{"Base": {"on": True}}, {"Mesages": {"inbox": 1}}]
    assert not ends_right(AceGold(gold), [{"Base": {"on": False}}, {"Messages": {"inbox": 1}}])


def test_gold_that_misspells_a_class_still_means_it() -> None:
    gold = [{"BaseAPI": {"on": True}}, {"Reminderpi": {"list": [1]}}]
    final = [{"BaseApi": {"on": True}}, {"ReminderApi": {"list": [1]}}]
    assert both(final, gold) == (True, True)
    assert both([final[0], {"ReminderApi": {"list": [2]}}], gold) == (True, False)
    assert both([final[0], {"Kettle": {"list": [1]}}], gold) == (True, False)
    named = gold_by_class(AceGold(gold), ["BaseApi", "FoodPlatform", "ReminderApi"])
    assert named == {"BaseApi": {"on": True}, "ReminderApi": {"list": [1]}}


def test_milestones_are_texts_in_order_and_a_missing_one_eats_the_rest() -> None:
    share = [
        process_share([STONES], messages)
        for messages in (
            STONES,
            ("[noise()]", " [switch()] ", "[add(text='a')]", "[noise()]", "[stop()]"),
            STONES[1:],
            (STONES[0], STONES[2]),
            STONES[:2],
            ("[switch()]", '[add(text="a")]', "[stop()]"),
            (),
        )
    ]
    assert share == [1.0, 1.0, 0.0, pytest.approx(1 / 3), pytest.approx(2 / 3), pytest.approx(1 / 3), 0.0]
    assert process_share([STONES, ("[stop()]",)], ["[stop()]"]) == 1.0
    assert process_share([STONES, STONES], STONES[:1]) == 0.333
    assert process_share([()], ["[stop()]"]) == 1.0


def test_the_process_of_a_task_that_ends_right_is_1() -> None:
    gold = AceGold(STATE, (STONES,))
    assert score_agent(gold, STATE, []) == AgentScore(True, 1.0)
    assert score_agent(gold, [], STONES) == AgentScore(False, 1.0)


def test_soundly_calls_that_ran_count_as_data() -> None:
    def share(*ran: CallResult, stones: tuple[str, ...] = STONES) -> float:
        return score_agent_soundly(AceGold(STATE, (stones,)), [], ran).process

    made = FunctionCall("switch", {}), FunctionCall("add", {"text": "a"}), FunctionCall("stop", {})
    on, add, stop = (CallResult(call, 1) for call in made)
    assert share(on, add, stop) == 1.0
    assert share(add, stop) == pytest.approx(2 / 3)  # the missing one eats nothing
    assert share(stop, add, on) == pytest.approx(1 / 3)
    assert share(on, CallResult(add.call, {"status": False}, "tool_error"), stop) == pytest.approx(2 / 3)
    assert share(CallResult(None, "?", "unreadable")) == 0.0
    assert share(on, stones=('[ switch( ), add(text="a")] ',)) == 0.5
    assert share(on, stones=()) == 0.0


def test_milestones_with_bare_apostrophes_are_read() -> None:
    stone = "[order(shop='Domino's', items=[{'name': 'Tom's pie', 'n': 1}], note='Don't, it's \"Ana's\".')]"
    (call,) = milestone_calls(stone)
    assert call.arguments == {
        "shop": "Domino's", "items": [{"name": "Tom's pie", "n": 1}], "note": "Don't, it's \"Ana's\".",
    }  # fmt: skip
    with pytest.raises(UnreadableCalls):
        milestone_calls("hello")
