"""Wrappers around an environment: what is simulated is what is seen outside of them, and others are refused."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers

from iad_policy import Candidate, Commit, IADPolicyWrapper, Propose, Simulate
from iad_policy.agents.random import RandomAgent
from iad_policy.errors import SimulationError
from iad_policy.world import adapt
from iad_policy.world.wrappers import effect_of
from tests.contract.components import STRATEGIES, TAXI, Hunch, play
from tests.contract.toy import Digger

ORDERS = ("go north", "go south", "go west", "go east", "dig", "GO  WEST")


class Numbered(gym.ActionWrapper[Any, Any, Any]):
    """Actions are numbers of orders. Two of them mean the same."""

    action_space = gym.spaces.Discrete(len(ORDERS))

    def action(self, action: Any) -> str:
        return ORDERS[action].lower()


class Loud(gym.ObservationWrapper[Any, Any, Any]):
    def observation(self, observation: str) -> str:
        return observation.upper() + "!"


class Told(gym.ObservationWrapper[Any, Any, Any]):
    """Tells a number in words."""

    def observation(self, observation: int) -> dict[str, str]:
        return {"seen": f"state {observation}"}


class Idle(gym.Wrapper[Any, Any, Any, Any]):
    """Overrides nothing that matters."""


class Counting(gym.Wrapper[Any, Any, Any, Any]):
    """Counts steps, and says that it changes nothing."""

    iad_neutral = True
    n_steps = 0

    def step(self, action: Any) -> Any:
        self.n_steps += 1
        return self.env.step(action)


class Undeclared(Counting):
    iad_neutral = False


class Remembering(gym.ObservationWrapper[Any, Any, Any]):
    """Shows the last observation, too."""

    _last = ""

    def reset(self, **options: Any) -> Any:
        self._last = ""
        return super().reset(**options)

    def observation(self, observation: str) -> str:
        shown, self._last = f"{self._last} {observation}", observation
        return shown


class Table(gym.Wrapper[Any, Any, Any, Any]):
    """Numbers instead of texts, as for training, with a `step` of its own."""

    action_space = gym.spaces.Discrete(len(ORDERS))

    def step(self, action: Any) -> Any:
        return self.env.step(ORDERS[action].lower())


def digger() -> gym.Env[Any, Any]:
    return wrappers.TransformReward(Loud(Idle(Numbered(Digger()))), lambda reward: -reward)


def taxi() -> gym.Env[Any, Any]:
    return wrappers.TransformAction(Counting(Told(gym.make(TAXI))), lambda action: 5 - action, gym.spaces.Discrete(6))


def rotating(n: int) -> Callable[..., Any]:
    turns = cycle(range(n))
    return lambda observation, info: next(turns)


WRAPPED = {"native": (digger, 4), "forked": (taxi, 6)}


@pytest.mark.parametrize("name", WRAPPED)
@pytest.mark.parametrize("strategy", ["bon", "iad", "mcts"])
def test_what_is_committed_is_seen_as_it_was_simulated(name: str, strategy: str) -> None:
    make, n_actions = WRAPPED[name]
    env = make()
    how = {**STRATEGIES[strategy], "n": 4}
    with IADPolicyWrapper(rotating(n_actions), env, verifier=Hunch(), **how) as policy:
        observation, info = env.reset(seed=5)
        n_compared = 0
        for _ in range(4):
            action = policy.act(observation, info)
            decision = policy.decisions[-1]
            observation, _, terminated, truncated, info = env.step(action)
            policy.observe(observation, info, done=terminated or truncated)
            assert env.action_space.contains(action)
            own = [one.preview for one in decision.candidates if one.key == decision.committed.key and one.preview]
            seen = [one.observation for one in own if len(one.path) == 1]
            assert all(one == observation for one in seen)
            n_compared += len(seen)
        assert n_compared >= 4


def chain(here: Any) -> Any:
    """Look three steps ahead, then commit the same steps."""
    there, moves, seen = here, [Candidate(1), Candidate(0), Candidate(3)], []
    for move in moves:
        there = yield from Simulate(there, move)
        seen.append(there.observation)
    for move, ahead in zip(moves, seen, strict=True):
        here = yield from Commit(move)
        assert here.observation == ahead
    while not here.done:
        here = yield from Commit((yield from Propose(here))[0])


@pytest.mark.parametrize("name", WRAPPED)
def test_a_simulation_goes_on_from_what_was_simulated(name: str) -> None:
    make, n_actions = WRAPPED[name]
    assert len(play(make, {"strategy": chain, "agent": rotating(n_actions)}, verifier=None, n_decisions=4).actions) == 4


def test_a_replay_and_a_copy_simulate_alike_through_wrappers() -> None:
    outcomes = []
    for is_copyable in (True, False):
        env = Told(
            wrappers.TransformAction(gym.make("Toy/Dice-v0", is_copyable=is_copyable), lambda one: 2 - one, None)
        )
        world = adapt(env)
        world.begin(env.reset(seed=7)[0])
        world.committed(0)
        seen = env.step(0)[0]
        ahead = world.simulate(world.snapshot(), 2, 0)
        # Two of two dice are none, so nothing is added.
        outcomes.append((seen, ahead.observation, world.simulate(ahead.token, 1, 3).observation))
        assert ahead.observation == seen
    assert outcomes[0] == outcomes[1]
    assert set(outcomes[0][0]) == {"seen"}


def test_keys_and_risks_are_those_of_the_action_inside() -> None:
    world = adapt(digger())
    assert world.key(2) == world.key(5) == "go west"
    assert [world.risks(action)[0] for action in range(6)] == [False] * 4 + [True, False]
    assert not world.risks(4)[1]
    assert world.complaint("go west")
    world.require_type(np.int64(3))


@pytest.mark.parametrize("name", WRAPPED)
def test_a_recorded_episode_is_replayed_through_wrappers(name: str, tmp_path: Path) -> None:
    make, n_actions = WRAPPED[name]

    def episode(agent: Callable[..., Any]) -> list[Any]:
        env = make()
        with IADPolicyWrapper(agent, env, strategy="iad", verifier=Hunch(), log=tmp_path / "log") as policy:
            observation, info = env.reset(seed=5)
            seen = []
            for _ in range(3):
                action = policy.act(observation, info)
                observation, reward, terminated, truncated, info = env.step(action)
                policy.observe(observation, info, reward=float(reward), done=terminated or truncated)
                seen.append((action, observation))
            return seen

    def never(observation: Any, info: Any) -> int:
        raise AssertionError("everything is recorded")

    first = episode(rotating(n_actions))
    assert episode(never) == first


def test_the_fallback_and_the_random_agent_take_actions_of_the_wrapper() -> None:
    world = adapt(digger())
    listed = {"available_actions": ("go north", "dig")}
    assert world.available(listed) == []
    assert {world.legal_action(listed, seed) for seed in range(60)} == set(range(len(ORDERS)))
    taken = play(digger, {"strategy": "single", "agent": RandomAgent(digger())}, verifier=None).actions
    assert all(0 <= action < len(ORDERS) for action in taken)


class Drawn(Digger):
    """Has a picture."""

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}  # noqa: RUF012

    def render(self) -> Any:
        return np.zeros((2, 2, 3), np.uint8)


EFFECTS: dict[str, list[Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]]] = {
    "none": [
        *(wrappers.PassiveEnvChecker, wrappers.OrderEnforcing, wrappers.RecordEpisodeStatistics, Idle, Counting),
        *(wrappers.NormalizeReward, wrappers.RenderCollection, lambda env: wrappers.TimeLimit(env, 50)),
        *(lambda env: wrappers.ClipReward(env, 0, 1), lambda env: wrappers.TransformReward(env, abs)),
        lambda env: wrappers.ObstructView(env, 0.3, 1),
    ],
    "observation": [
        *(wrappers.FlattenObservation, lambda env: wrappers.DtypeObservation(env, np.float64)),
        lambda env: wrappers.TransformObservation(env, np.abs, None),
    ],
    "action": [lambda env: wrappers.TransformAction(env, int, None)],
    "unknown": [
        *(Undeclared, Remembering, Table, wrappers.NormalizeObservation, wrappers.TimeAwareObservation),
        *(lambda env: wrappers.FrameStackObservation(env, 2), lambda env: wrappers.DelayObservation(env, 1)),
        *(lambda env: wrappers.StickyAction(env, 0.5), lambda env: wrappers.RepeatAction(env, 2)),
        lambda env: wrappers.AddRenderObservation(Drawn(render_mode="rgb_array")),
    ],
}


@pytest.mark.parametrize(("effect", "wrap"), [(effect, wrap) for effect, known in EFFECTS.items() for wrap in known])
def test_the_effect_of_every_kind_of_wrapper_is_known(effect: str, wrap: Any) -> None:
    env = wrap(gym.make("CartPole-v1", render_mode="rgb_array"))
    assert effect_of(env) == effect
    env.close()


@pytest.mark.parametrize("wrap", [Undeclared, Remembering, Table])
def test_a_wrapper_of_unknown_effect_is_refused_and_told_what_to_declare(wrap: Any) -> None:
    said = rf"got {wrap.__name__}: .*set iad_neutral = True in {wrap.__name__}; .*needs_preview=False"
    agent = rotating(4) if wrap is Table else lambda *_: "go north"
    with pytest.raises(SimulationError, match=said):
        play(lambda: wrappers.RecordEpisodeStatistics(wrap(Digger())), {"strategy": "iad", "agent": agent})


def test_what_simulates_nothing_may_be_wrapped_in_anything() -> None:
    for wrap in (Undeclared, Remembering):
        how = {"strategy": "bon-sc", "agent": lambda *_: "go north"}
        assert play(lambda wrap=wrap: wrap(Digger()), how, verifier=None).actions == ["go north"] * 3
    # Its numbers are no actions of the environment inside, so they are compared as they are.
    played = play(lambda: Table(Digger()), {"strategy": "bon-sc", "agent": rotating(2)}, verifier=None)
    assert played.actions == [0, 1, 0]
    assert [one.key for one in played.decisions[0].candidates] == ["0", "1", "0"]
    assert not any(one.is_terminal for one in played.decisions[0].candidates)
