import json
import sys
from pathlib import Path

import pytest

from iad_envs.errors import DataNotFound, UnknownTask
from iad_envs.toolcalls.acebench.checkout import AceCheckout, AceGold

BASE = """
class BaseApi:
    def __init__(self):
        self.wifi = False

    def turn_on_wifi(self):
        print("this is not seen")
        self.wifi = True
        return {"status": True}
"""
MESSAGE = """
from datetime import datetime
from model_inference.multi_turn.scenariosen.phone_platform.base_api import BaseApi


class MessageApi(BaseApi):
    def year(self):
        return datetime(2024, 1, 1).year
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    data = tmp_path / "data_all" / "data_en" / "possible_answer"
    data.mkdir(parents=True)
    question = {
        "question": "Send it.", "function": [], "initial_config": {}, "involved_classes": ["BaseApi", "MessageApi"],
    }  # fmt: skip
    answer = {"ground_truth": [{"BaseApi": {"wifi": True}}], "mile_stone": ["[turn_on_wifi()]"]}
    for place, row in ((data.parent, question), (data, answer)):
        (place / "data_agent_multi_step.json").write_text(json.dumps({"id": "agent_multi_step_0", **row}) + "\n\n")
    for loop in ("multi_step", "multi_turn"):
        code = tmp_path / "model_inference" / loop / "scenariosen" / "phone_platform"
        code.mkdir(parents=True)
        (code / "base_api.py").write_text(BASE)
        (code / "message.py").write_text(MESSAGE)
    return tmp_path


def test_tasks_and_gold_are_read_apart(folder: Path) -> None:
    checkout = AceCheckout(folder)
    (task,) = checkout.tasks("agent_multi_step")
    assert (task.task_id, task.question, task.multi_turn) == ("agent_multi_step_0", "Send it.", False)
    assert task.involved_classes == ("BaseApi", "MessageApi")
    gold = checkout.gold("agent_multi_step")
    assert gold == {"agent_multi_step_0": AceGold([{"BaseApi": {"wifi": True}}], (("[turn_on_wifi()]",),))}
    path = folder / "data_all" / "data_en" / "possible_answer" / "data_agent_multi_step.json"
    path.write_text(json.dumps({"id": "a", "ground_truth": [], "mile_stone": [["[f()]"], ["[g()]", "[h()]"]]}))
    assert AceCheckout(folder).gold("agent_multi_step")["a"].milestones == (("[f()]",), ("[g()]", "[h()]"))


def test_simulated_classes_leave_no_trace(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    modules, path = set(sys.modules), list(sys.path)
    classes = AceCheckout(folder).classes("multi_step")
    phone = classes["MessageApi"]()
    assert phone.turn_on_wifi() == {"status": True}
    assert phone.year() == 2024
    assert classes["MessageApi"] is classes["MessageApi"]
    assert "BaseApi" in classes
    assert len(list(classes)) == len(classes)
    assert (set(sys.modules), sys.path) == (modules, path)
    assert capsys.readouterr().out == ""


def test_what_is_missing_says_how_to_get_it(folder: Path, tmp_path: Path) -> None:
    checkout = AceCheckout(folder)
    for call, error, said in (
        (lambda: AceCheckout(tmp_path / "nowhere"), DataNotFound, r"nowhere.* git clone"),
        (lambda: checkout.tasks("normal_preference"), DataNotFound, r"data_normal_preference\.json.* git clone"),
        (lambda: checkout.classes()["Travel"], DataNotFound, r"travel\.py.* git clone"),
        (lambda: checkout.tasks("agent_multistep"), UnknownTask, "near: agent_multi_step"),
    ):
        with pytest.raises(error, match=said):
            call()
