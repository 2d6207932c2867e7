import pytest

from iad_envs.errors import UnknownTask
from iad_envs.toolcalls.acebench.checkout import AGENT, CATEGORIES, NORMAL, SPECIAL
from iad_envs.toolcalls.acebench.scoring.totals import category_accuracy, dialogue_accuracies, total_score


def test_a_dialogue_is_right_if_all_its_turns_are() -> None:
    turns = [("m_0_0", True), ("m_0_1", True), ("m_1_0", True), ("m_1_1", False), ("m_1_2", False)]
    assert dialogue_accuracies(turns) == (0.5, 0.666)
    assert dialogue_accuracies([]) == (0.0, 0.0)
    assert category_accuracy("normal_multi_turn_user_switch", turns) == 0.5


def test_other_categories_are_plain_means() -> None:
    verdicts = [("x_0", True), ("x_1", False), ("x_2", False)]
    assert category_accuracy("normal_preference", verdicts) == 0.333
    assert category_accuracy("agent_multi_turn", verdicts) == 0.333
    assert category_accuracy("special_irrelevant", verdicts) == pytest.approx(1 / 3)
    assert category_accuracy("special_irrelevant", []) == 0.0


def test_the_total_weighs_the_means_of_three_groups() -> None:
    assert total_score(dict.fromkeys(CATEGORIES, 1.0)).total == 1.0
    totals = total_score(dict.fromkeys(NORMAL, 0.5) | dict.fromkeys(SPECIAL, 0.3) | {AGENT[0]: 0.4})
    assert totals == (0.5, 0.3, 0.2, round(0.578 * 0.5 + 0.2676 * 0.3 + 0.1545 * 0.2, 3))
    with pytest.raises(UnknownTask):
        total_score({"normal": 1.0})
