"""The pages that the documents show are those that an agent sees."""

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers)

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.parametrize(
    ("name", "task_id", "action"),
    [
        ("BFCL", "multi_turn_base_45", "[create_parcel(address_id='AD-31', weight_kg=10, service='express')]"),
        (
            *("ACEBench", "agent_multi_turn_27"),
            "[set_reminder(title='sharpen the skates', day='2026-04-04', hour='12:30')]",
        ),
    ],
)
def test_a_documented_observation_is_a_real_one(name: str, task_id: str, action: str) -> None:
    text = (DOCS / f"{name.lower()}.md").read_text(encoding="utf-8")
    env: Any = gym.make(f"IAD/{name}-v0")
    env.reset(options={"task_id": task_id})
    shown = re.findall(r"^```text\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    assert shown == [env.step(action)[0]]
    env.close()


def test_text_that_looks_like_calls_and_is_none_is_answered_by_a_sentence() -> None:
    env: Any = gym.make("IAD/ACEBench-v0", category="agent_multi_step", published=True)
    env.reset(seed=0)
    observation, *_ = env.step("[1+]")
    assert observation.startswith("Results:\nexpected calls such as")
    env.close()
