"""Observations: those that the documents show are real ones, and huge numbers are in them like everything else."""

import re
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers the environments)

DOCS = Path(__file__).parents[3] / "docs"
NUMBERS = (
    *("9" * 400, "-" + "9" * 400, "9" * 4299, "9" * 4400, "0x" + "f" * 400, "0x" + "f" * 5000, "-0x" + "f" * 5000),
    *("1e400", "-1e400", "2**14283 + 2**14283", "10**4000 * 10**290", "[0x" + "f" * 5000 + "] + [1]"),
)
"""Python refuses to write these down, or to turn them into floats."""


PARCEL = "[create_parcel(address_id='AD-31', weight_kg=10, service='express')]"
REMINDER = "[set_reminder(title='sharpen the skates', day='2026-04-04', hour='12:30')]"


@pytest.mark.parametrize(
    ("name", "task", "action"),
    [("BFCL", "multi_turn_base_45", PARCEL), ("ACEBench", "agent_multi_turn_27", REMINDER)],
)
def test_a_documented_observation_is_a_real_one(name: str, task: str, action: str) -> None:
    text = (DOCS / f"{name.lower()}.md").read_text(encoding="utf-8")
    env: Any = gym.make(f"IAD/{name}-v0")
    env.reset(options={"task_id": task})
    assert re.findall(r"^```text\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL) == [env.step(action)[0]]
    env.close()


@pytest.mark.parametrize("category", ["multi_turn", "single_turn"])
@pytest.mark.parametrize("options", [{}, {"published": True, "scoring": "official"}])
def test_a_huge_number_is_no_exception(category: str, options: dict[str, Any]) -> None:
    env: Any = gym.make("IAD/BFCL-v0", category=category, split=None, **options).unwrapped
    _, info = env.reset(seed=0)
    tool = next(tool for tool in info["page"]["tools"] if tool["parameters"]["properties"])
    name, parameter = tool["name"], next(iter(tool["parameters"]["properties"]))
    here = env.snapshot()
    for number in NUMBERS:
        for action in (
            f"[{name}({parameter}={number})]",
            f"[{name}({parameter}=[{number}]), {name}({parameter}={{'a': {number}}})]",
            f"draft[{name}({parameter}={number})]",
            f'[{{"name": "{name}", "arguments": {{"{parameter}": {number}}}}}]',
        ):
            outcome = env.simulate(here, action)
            assert env.action_key(action)
            env.terminal(action)
            env.irreversible(action)
            assert outcome.info["invalid_action"] == ("expected" in outcome.info["facts"]["complaint"])
            env.restore(here)
            assert env.step(action)[0] == outcome.observation or outcome.done
