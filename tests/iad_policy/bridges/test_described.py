"""Another library's environment, described: what agents, reports and simulations are given."""

import copy
import threading
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.envs.registration import EnvSpec

from iad_policy import IADPolicyWrapper
from iad_policy.agents.language import language_agent
from iad_policy.bridges.described import AnyText, Described
from iad_policy.errors import SimulationError
from iad_policy.models.scripted import ScriptedModel
from iad_policy.verifiers.judge import judge
from iad_policy.world import World, adapt
from tests.iad_policy.playing import play

KEYS = {"task_id", "instruction", "available_actions", "invalid_action", "step", "stop_reason", "facts", "page"}


class Corridor(gym.Env[dict[str, Any], str]):
    """Doors in a row, as another library would have it: the page in a field, the goal beside it, gold in the info."""

    observation_space = gym.spaces.Dict({"page": gym.spaces.Text(100), "goal": gym.spaces.Text(100)})
    action_space = gym.spaces.Text(20)

    def __init__(self, held: Any = None) -> None:
        self.held = held

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        super().reset(seed=seed)
        self.door, self.error = 0, ""
        self.last = 2 + int(self.np_random.integers(3))
        return self._seen(), {"solution": "on", "level": "easy"}

    def step(self, action: str) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        self.error = "" if action in ("on", "back") else f"no such way: {action}"
        self.door += {"on": 1, "back": -1}.get(action, 0)
        is_there = self.door == self.last
        return self._seen(), float(is_there), is_there, False, {"solution": "on", "level": "easy"}

    def _seen(self) -> dict[str, Any]:
        return {"page": f"door {self.door} of {self.last}", "goal": f"Reach door {self.last}.", "error": self.error}


def corridor(held: Any = None, **options: Any) -> Described:
    inner = Corridor(held)
    inner.spec = EnvSpec("Corridor-v0", entry_point=lambda **given: Corridor(held), disable_env_checker=True)
    return Described(
        inner,
        text=lambda observation, info: observation["page"],
        instruction=lambda observation, info: observation["goal"],
        actions=lambda observation, info: ["on", "back"],
        complaint=lambda observation, info: observation["error"],
        **options,
    )


def begun(env: Described) -> World:
    observation, _ = env.reset(seed=3)
    world = adapt(env)
    world.begin(observation)
    return world


def test_observations_are_texts_and_every_info_has_the_public_keys_alone() -> None:
    env = corridor()
    observation, info = env.reset(seed=3)
    steps = [env.step("on"), env.step("through the wall")]
    infos = [info, *(step[4] for step in steps)]
    assert (observation, steps[0][0]) == ("door 0 of 4", "door 1 of 4")
    assert all(set(one) == KEYS for one in infos)
    assert infos[0]["instruction"] == infos[2]["instruction"] == "Reach door 4."
    assert info["available_actions"] == ["on", "back"]
    assert [(one["step"], one["invalid_action"]) for one in infos] == [(0, False), (1, False), (2, True)]
    assert infos[2]["facts"] == {"complaint": "no such way: through the wall"}
    assert env.reset()[1]["step"] == 0


def test_a_task_is_named_by_the_seed_or_by_the_environment() -> None:
    named = corridor(task_id=lambda observation, info: info["level"])
    assert [corridor().reset(seed=seed)[1]["task_id"] for seed in (7, None)] == ["7", ""]
    assert named.reset(seed=7)[1]["task_id"] == "easy"
    observation, info = Described(Corridor(), instruction="Walk.").reset(seed=3)
    assert observation == str({"page": "door 0 of 4", "goal": "Reach door 4.", "error": ""})
    assert (info["instruction"], info["available_actions"], info["invalid_action"]) == ("Walk.", [], False)


def test_an_episode_ends_by_itself_or_at_the_tighter_of_two_limits() -> None:
    for max_steps, ends in ((2, (False, True, "max_steps", False)), (4, (True, False, "done", True))):
        env = corridor(max_steps=max_steps, success_at=1)
        env.reset(seed=3)
        *before, (_, _, *ended, info) = [env.step("on") for _ in range(max_steps)]
        assert {one[4]["stop_reason"] for one in before} == {""}
        assert (*ended, info["stop_reason"], info["success"]) == ends
        assert env.success_rule == "reward >= 1"
    limited = Described(gym.wrappers.TimeLimit(Corridor(), 3), max_steps=5)
    limited.reset(seed=3)
    assert [limited.step("on")[3] for _ in range(3)] == [False, False, True]
    with pytest.raises(ValueError, match="got 0"):
        corridor(max_steps=0)


def test_a_text_space_is_one_of_all_texts_and_another_space_stays() -> None:
    assert corridor().action_space == AnyText() != gym.spaces.Text(5)
    assert [corridor().observation_space.contains(one) for one in ("日本語", 5)] == [True, False]
    assert AnyText().sample() == ""
    assert Described(gym.make("Taxi-v4")).action_space == gym.spaces.Discrete(6)


def test_simulations_are_described_and_move_nothing() -> None:
    env = corridor()
    world = begun(env)
    outcome = world.simulate(world.snapshot(), "on", 0)
    assert (outcome.observation, outcome.info["step"]) == ("door 1 of 4", 1)
    assert set(outcome.info) == KEYS
    assert world.simulate(outcome.token, "back", 0).observation == "door 0 of 4"
    assert world.simulated_by == "fork"
    copied = copy.deepcopy(env)
    copied.step("on")
    assert env.step("back")[0] == "door -1 of 4"
    assert copied.step("on")[0] == "door 2 of 4"


def test_one_that_can_not_be_copied_is_replayed_described_unless_it_may_not_be_simulated() -> None:
    env = corridor(held=threading.Lock())
    world = begun(env)
    env.step("on")
    world.committed("on")
    outcome = world.simulate(world.snapshot(), "on", 0)
    assert (outcome.observation, outcome.info["instruction"]) == ("door 2 of 4", "Reach door 4.")
    assert world.simulated_by == "replay"
    for held in (None, threading.Lock()):
        world = begun(corridor(held=held, simulates=False))
        with pytest.raises(SimulationError, match="simulates=False"):
            world.snapshot()


def test_a_language_model_as_agent_and_as_judge_is_told_the_task() -> None:
    asked: list[str] = []

    def answer(messages: Any) -> str:
        asked.append("\n".join(message["content"] for message in messages))
        return "Critique: fine.\nScore: 7" if "Score: <" in asked[-1] else "Action: on"

    env, model = corridor(simulates=False, success_at=1), ScriptedModel(answer)
    agent, verifier = language_agent(env, model), judge(env, model)
    with IADPolicyWrapper(agent, env, strategy="iad", n=2, verifier=verifier) as policy:
        for seed in (3, 4):
            first = len(asked)
            _, _, info = play(env, policy, seed=seed)
            assert info["success"]
            assert "So far:" not in asked[first]
            assert all(f"Task: {info['instruction']}" in prompt for prompt in asked[first:])
    assert not any("solution" in prompt for prompt in asked)
    assert any("Score: <" in prompt for prompt in asked)


def test_the_inner_environment_is_rendered_and_closed() -> None:
    inner = Corridor()
    done: list[str] = []
    inner.render, inner.close = lambda: "a picture", lambda: done.append("closed")  # type: ignore[method-assign]
    env = Described(inner)
    assert (env.render(), env.close(), done) == ("a picture", None, ["closed"])  # type: ignore[func-returns-value]
