"""Wrappers around an environment: what is simulated is what is seen outside of them, and others are refused."""

from collections.abc import Callable
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

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gym.spaces.Discrete(len(ORDERS))

    def action(self, action: Any) -> str:
        return ORDERS[action].lower()


class Loud(gym.ObservationWrapper[Any, Any, Any]):
    """Shouts."""

    def observation(self, observation: str) -> str:
        return observation.upper() + "!"


class Turned(gym.ActionWrapper[Any, Any, Any]):
    """Counts the actions of a taxi from the end."""

    def action(self, action: Any) -> Any:
        return 5 - action


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

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.action_space = gym.spaces.Discrete(len(ORDERS))

    def step(self, action: Any) -> Any:
        return self.env.step(ORDERS[action].lower())


def digger() -> gym.Env[Any, Any]:
    return wrappers.TransformReward(Loud(Idle(Numbered(Digger()))), lambda reward: -reward)


def taxi() -> gym.Env[Any, Any]:
    return Turned(Counting(Told(gym.make(TAXI))))


def dice(*, is_copyable: bool = False) -> gym.Env[Any, Any]:
    return Told(wrappers.TransformAction(gym.make("Toy/Dice-v0", is_copyable=is_copyable), lambda one: 2 - one, None))


def rotating(n: int) -> Callable[..., Any]:
    asked = iter(range(10**6))

    def agent(observation: Any, info: Any) -> int:
        return next(asked) % n

    return agent


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
            for one in decision.candidates:
                if one.preview is not None and one.key == decision.committed.key and len(one.preview.path) == 1:
                    assert one.preview.observation == observation
                    n_compared += 1
        assert n_compared >= 4


def chain(here: Any) -> Any:
    """Look three steps ahead, then commit the same steps."""
    there, moves = here, [Candidate(1), Candidate(0), Candidate(3)]
    seen = []
    for move in moves:
        there = yield from Simulate(there, move)
        seen.append(there.observation)
    for move, ahead in zip(moves, seen, strict=True):
        here = yield from Commit(move)
        assert here.observation == ahead
    while not here.done:
        (one,) = yield from Propose(here)
        here = yield from Commit(one)


@pytest.mark.parametrize("name", WRAPPED)
def test_a_simulation_goes_on_from_what_was_simulated(name: str) -> None:
    make, n_actions = WRAPPED[name]
    assert len(play(make, {"strategy": chain, "agent": rotating(n_actions)}, verifier=None, n_decisions=4).actions) == 4


def test_a_replay_and_a_copy_simulate_alike_through_wrappers() -> None:
    outcomes = []
    for is_copyable in (True, False):
        env = dice(is_copyable=is_copyable)
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


def stacked(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    return wrappers.FrameStackObservation(env, 2)


def with_numbers(make: Callable[[gym.Env[Any, Any]], gym.Env[Any, Any]]) -> Callable[[], gym.Env[Any, Any]]:
    return lambda: make(gym.make("CartPole-v1", render_mode="rgb_array"))


EFFECTS: list[tuple[Callable[[], Any], str]] = [
    (with_numbers(wrappers.PassiveEnvChecker), "none"),
    (with_numbers(wrappers.OrderEnforcing), "none"),
    (with_numbers(lambda env: wrappers.TimeLimit(env, 50)), "none"),
    (with_numbers(wrappers.RecordEpisodeStatistics), "none"),
    (with_numbers(wrappers.NormalizeReward), "none"),
    (with_numbers(lambda env: wrappers.ClipReward(env, 0, 1)), "none"),
    (with_numbers(lambda env: wrappers.TransformReward(env, abs)), "none"),
    (with_numbers(wrappers.RenderCollection), "none"),
    (with_numbers(lambda env: wrappers.ObstructView(env, 0.3, 1)), "none"),
    (with_numbers(Idle), "none"),
    (with_numbers(Counting), "none"),
    (with_numbers(wrappers.FlattenObservation), "observation"),
    (with_numbers(lambda env: wrappers.DtypeObservation(env, np.float64)), "observation"),
    (with_numbers(lambda env: wrappers.TransformObservation(env, np.abs, None)), "observation"),
    (with_numbers(lambda env: wrappers.TransformAction(env, int, None)), "action"),
    (with_numbers(Undeclared), "unknown"),
    (with_numbers(Remembering), "unknown"),
    (with_numbers(Table), "unknown"),
    (with_numbers(stacked), "unknown"),
    (with_numbers(wrappers.NormalizeObservation), "unknown"),
    (with_numbers(wrappers.TimeAwareObservation), "unknown"),
    (with_numbers(lambda env: wrappers.DelayObservation(env, 1)), "unknown"),
    (lambda: wrappers.AddRenderObservation(Drawn(render_mode="rgb_array")), "unknown"),
    (with_numbers(lambda env: wrappers.StickyAction(env, 0.5)), "unknown"),
    (with_numbers(lambda env: wrappers.RepeatAction(env, 2)), "unknown"),
]


@pytest.mark.parametrize(("make", "effect"), EFFECTS)
def test_the_effect_of_every_kind_of_wrapper_is_known(make: Callable[[], Any], effect: str) -> None:
    env = make()
    assert effect_of(env) == effect
    env.close()


@pytest.mark.parametrize("wrap", [Undeclared, Remembering, Table])
def test_a_wrapper_of_unknown_effect_is_refused_and_told_what_to_declare(wrap: Any) -> None:
    def make() -> gym.Env[Any, Any]:
        return wrappers.RecordEpisodeStatistics(wrap(Digger()))

    name = wrap.__name__
    said = (
        rf"got {name}: simulations go .* set iad_neutral = True in {name}; else unwrap it, or use .*needs_preview=False"
    )
    with pytest.raises(SimulationError, match=said):
        play(make, {"strategy": "iad", "agent": rotating(4) if wrap is Table else lambda *_: "go north"})


def test_what_simulates_nothing_may_be_wrapped_in_anything() -> None:
    for wrap in (Undeclared, Remembering):
        how = {"strategy": "bon-sc", "agent": lambda *_: "go north"}
        assert play(lambda wrap=wrap: wrap(Digger()), how, verifier=None).actions == ["go north"] * 3
    # Its numbers are no actions of the environment inside, so they are compared as they are.
    played = play(lambda: Table(Digger()), {"strategy": "bon-sc", "agent": rotating(2)}, verifier=None)
    assert played.actions == [0, 1, 0]
    assert [one.key for one in played.decisions[0].candidates] == ["0", "1", "0"]
    assert not any(one.is_terminal for one in played.decisions[0].candidates)
