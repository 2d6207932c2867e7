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
    two = {"1": {"text": "a"}, "2": {"text": "b"}}
    for final, expected in (
        (STATE, (True, True)), (STATE[::-1], (True, True)), (changed(names=["y"]), (False, False)),
        (changed(inbox={}), (False, False)), (changed(inbox=5), (False, False)), (changed(extra=1), (False, False)),
        (STATE[:1], (False, False)), ([], (False, False)), ([{"Base": {"on": 1}}, STATE[1]], (True, False)),
        # What gold lacks in a dictionary, and attributes that the answer lacks, pass officially.
        (changed(inbox=two), (True, False)), ([STATE[0], {"Messages": {}}], (True, False)),
        # A class without its name takes the verdict before it.
        ([{"Anything": {"on": False}}, STATE[1]], (True, False)), ([STATE[0], {"Anything": {}}], (True, False)),
    ):  # fmt: skip
        assert both(final) == expected, final
    gold = [{"Base": {"on": True}}, {"Mesages": {"inbox": 1}}]
    assert not ends_right(AceGold(gold), [{"Base": {"on": False}}, {"Messages": {"inbox": 1}}])
    right = AceGold(STATE, (STONES,))
    assert score_agent(right, STATE, []) == AgentScore(True, 1.0)
    assert score_agent(right, [], STONES) == AgentScore(False, 1.0)


def test_gold_that_misspells_a_class_still_means_it() -> None:
    gold = [{"BaseAPI": {"on": True}}, {"Reminderpi": {"list": [1]}}]
    final = [{"BaseApi": {"on": True}}, {"ReminderApi": {"list": [1]}}]
    assert both(final, gold) == (True, True)
    assert both([final[0], {"ReminderApi": {"list": [2]}}], gold) == (True, False)
    assert both([final[0], {"Kettle": {"list": [1]}}], gold) == (True, False)
    named = gold_by_class(AceGold(gold), ["BaseApi", "FoodPlatform", "ReminderApi"])
    assert named == {"BaseApi": {"on": True}, "ReminderApi": {"list": [1]}}


def test_milestones_are_texts_in_order_and_a_missing_one_eats_the_rest() -> None:
    for messages, share in (
        (STONES, 1), (("[noise()]", " [switch()] ", "[add(text='a')]", "[noise()]", "[stop()]"), 1), (STONES[1:], 0),
        ((STONES[0], STONES[2]), 1 / 3), (STONES[:2], 2 / 3), (("[switch()]", '[add(text="a")]', "[stop()]"), 1 / 3),
        ((), 0),
    ):  # fmt: skip
        assert process_share([STONES], messages) == pytest.approx(share)
    assert process_share([STONES, ("[stop()]",)], ["[stop()]"]) == 1.0
    assert process_share([STONES, STONES], STONES[:1]) == 0.333
    assert process_share([()], ["[stop()]"]) == 1.0


def test_soundly_calls_that_ran_count_as_data() -> None:
    def share(*ran: CallResult, stones: tuple[str, ...] = STONES) -> float:
        return score_agent_soundly(AceGold(STATE, (stones,)), [], ran).process

    made = FunctionCall("switch", {}), FunctionCall("add", {"text": "a"}), FunctionCall("stop", {})
    on, add, stop = (CallResult(call, 1) for call in made)
    assert share(on, add, stop) == 1.0
    assert share(add, stop) == pytest.approx(2 / 3)  # the missing one eats nothing
    assert share(stop, add, on) == pytest.approx(1 / 3)
    assert share(on, CallResult(add.call, {"status": False}, True), stop) == pytest.approx(2 / 3)
    assert share(CallResult(None, "?", True)) == 0.0
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
