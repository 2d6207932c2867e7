"""Numbers that Python refuses to write down or to turn into floats are observations like everything else."""

from typing import Any

import gymnasium as gym
import pytest

import iad_envs  # noqa: F401 (registers the environments)

NUMBERS = (
    *("9" * 400, "-" + "9" * 400, "9" * 4299, "9" * 4400, "0x" + "f" * 400, "0x" + "f" * 5000, "-0x" + "f" * 5000),
    *("1e400", "-1e400", "2**14283 + 2**14283", "10**4000 * 10**290", "[0x" + "f" * 5000 + "] + [1]"),
)


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
