"""Environments that are not ours: simulated in copies, else by replay, else not at all, and it is said plainly."""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from iad_envs import ENVIRONMENTS
from iad_envs.spaces import UnicodeText
from iad_policy import Candidate, Commit, IADPolicyWrapper, Simulate
from iad_policy.errors import ActionTypeError, SimulationError
from iad_policy.types import UNLISTED
from iad_policy.world import World, adapt, is_text
from tests.contract.components import TAXI, Hunch, play
from tests.contract.foreign import Dice, Words
from tests.contract.toy import Digger


def begun(env: gym.Env[Any, Any], seed: int | None = 7) -> World:
    world = adapt(env)
    observation, _ = env.reset(seed=seed)
    world.begin(observation)
    return world


DRAWS = range(5)
WAYS = [(TAXI, {"is_rainy": True}), ("Toy/Dice-v0", {}), ("Toy/Dice-v0", {"is_copyable": True})]
ways = pytest.mark.parametrize(("name", "options"), WAYS, ids=str)


@ways
def test_simulating_does_not_move_a_foreign_environment(name: str, options: dict[str, Any]) -> None:
    still, busy = gym.make(name, **options), gym.make(name, **options)
    world = begun(busy)
    still.reset(seed=7)
    for action in (1, 0, 2):
        token = world.snapshot()
        for other in range(3):
            deeper = world.simulate(token, other, 0)
            world.simulate(deeper.token, 1, 0)
        seen = [env.step(action)[:4] for env in (still, busy)]
        world.committed(action)
        assert seen[0] == seen[1]


@ways
def test_a_simulation_is_the_same_twice_and_a_draw_differs(name: str, options: dict[str, Any]) -> None:
    world = begun(gym.make(name, **options))
    token = world.snapshot()

    def drawn(action: int) -> list[list[Any]]:
        first = [world.simulate(token, action, draw) for draw in DRAWS]
        following = [world.simulate(first[0].token, 1, draw).key for draw in DRAWS]
        return [[one.observation for one in first], following]

    found = [drawn(action) for action in (1, 2)]
    assert found == [drawn(action) for action in (1, 2)]
    assert any(len(set(first)) > 1 for first, _ in found)


@ways
def test_a_fork_is_not_clairvoyant(name: str, options: dict[str, Any]) -> None:
    agreed = []
    for seed in range(8):
        env = gym.make(name, **options)
        world = begun(env, seed)
        world.committed(1)
        env.step(1)
        ahead = world.simulate(world.snapshot(), 1, 0)
        agreed.append(ahead.observation == env.step(1)[0])
    assert 0 < sum(agreed) < len(agreed)


def with_other_numbers() -> World:
    env = gym.make("Toy/Dice-v0")
    world = begun(env)
    env.unwrapped.np_random = np.random.default_rng(3)
    return world


def begun_again() -> World:
    env = gym.make("Toy/Dice-v0")
    begun(env, seed=1)
    return begun(env, seed=None)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: begun(Dice()), r"not made by gym\.make"),
        (lambda: begun(gym.make("Toy/Dice-v0", keeps_seed=False)), r"keeps no seed; .*super\(\)"),
        (lambda: begun(gym.make("Toy/Dice-v0", is_random=False), seed=None), r"without a seed; call reset\(seed="),
        (with_other_numbers, "np_random was set"),
        (begun_again, r"not the one that reset\(seed=1\) gives"),
    ],
)
def test_an_environment_that_can_neither_be_copied_nor_replayed_says_what_is_missing(
    made: Callable[[], World], said: str
) -> None:
    world = made()
    with pytest.raises(SimulationError, match=rf"can't be copied .*lock.* nor replayed: .*{said}.*bon-sc, .*False"):
        world.snapshot()


def test_what_simulates_nothing_needs_no_copy_and_looking_for_a_seed_draws_none() -> None:
    assert play(Dice, {"strategy": "bon-sc", "agent": lambda *_: 1}, verifier=None).actions == [1, 1, 1]
    env = gym.make("Toy/Dice-v0", is_random=False)
    world = begun(env, seed=None)
    with pytest.raises(SimulationError):
        world.snapshot()
    assert env.unwrapped._np_random_seed is None


def test_a_forked_environment_is_over_for_a_simulation_at_its_time_limit() -> None:
    ends: list[tuple[bool, float]] = []

    def chain(here: Any) -> Any:
        there = here
        for _ in range(3):
            there = yield from Simulate(there, Candidate(1))
            ends.append((there.done, there.steps_left))
        yield from Commit(Candidate(1))

    play(lambda: gym.make("Toy/Dice-v0"), {"strategy": chain, "agent": lambda o, i: 1}, verifier=None, n_decisions=1)
    assert ends == [(False, 2), (False, 1), (True, 0)]


def test_step_limits_are_found_wherever_they_are() -> None:
    made = (Digger(max_steps=4), gym.make(TAXI), gym.make("Toy/Dice-v0", max_episode_steps=9), Dice())
    assert [adapt(env).max_steps for env in made] == [4, 200, 9, float("inf")]


def test_a_legal_action_respects_the_mask_and_the_order_and_is_no_pattern() -> None:
    taxi, digger = adapt(gym.make(TAXI)), adapt(Digger())
    assert {taxi.legal_action({"action_mask": np.array([0, 0, 1, 0, 0, 0])}, seed) for seed in range(20)} == {2}
    assert {taxi.legal_action({}, seed) for seed in range(60)} == set(range(6))
    for listed, action in (
        (("look", "dig"), "look"),
        (("search[...]", "click[back]"), "click[back]"),
        (("search[...]",), ""),  # nor what could be put into one
    ):
        assert digger.legal_action({"available_actions": listed, "instruction": "a red lamp"}, 0) == action
    digger.env.action_space = gym.spaces.Text(9)
    assert digger.env.action_space.contains(drawn := digger.legal_action({}, 0))
    assert drawn == digger.legal_action({}, 0) != digger.legal_action({}, 1)


TEXTUAL: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ENVIRONMENTS if "Browser" not in name and "Sketch" not in name),
    ("IAD/BIRD-v0", {"mode": "answer"}),
]


@pytest.mark.parametrize(("name", "options"), TEXTUAL)
def test_where_no_candidate_is_usable_the_first_available_action_is_committed_else_nothing(
    name: str, options: dict[str, Any]
) -> None:
    env = gym.make(name, **options)
    with IADPolicyWrapper(lambda *_: Candidate(None, error="no idea"), env, strategy="single") as policy:
        observation, info = env.reset(seed=0)
        action = policy.act(observation, info)
        (decision,) = policy.decisions
        assert (decision.is_fallback, decision.committed.error) == (True, "no idea")
        listed = [one for one in info["available_actions"] if not one.endswith("[...]")]
        # An empty text is invalid in the environment, too; an action from the list is not.
        assert env.step(action)[4]["invalid_action"] is (UNLISTED in decision.notes) is (not listed)
        assert not listed or action == listed[0]
    env.close()


class Everything(gym.Space[Any]):
    def contains(self, x: Any) -> bool:
        return True


SPACES = [
    *((space, True, "a text") for space in (Words(), Words(["north"]), UnicodeText(9), gym.spaces.Text(9))),
    (gym.spaces.Discrete(3), False, "a whole number"),
    (gym.spaces.Box(0, 1, (2,)), False, "an array"),
    (gym.spaces.Dict(name=gym.spaces.Text(9)), False, "a dict"),
    (gym.spaces.Tuple([gym.spaces.Text(9)]), False, "a tuple"),
    (gym.spaces.Sequence(gym.spaces.Text(9)), False, ""),
]


@pytest.mark.parametrize(("space", "is_textual", "words"), SPACES, ids=map(str, range(len(SPACES))))
def test_a_text_space_is_one_that_contains_a_text(space: gym.Space[Any], is_textual: bool, words: str) -> None:
    assert is_text(space) is is_textual
    env = Digger()
    env.action_space = space
    world = adapt(env)
    world.require_type(space.sample())
    if words:
        with pytest.raises(ActionTypeError, match=f"expected {words} from the agent"):
            world.require_type(None)
    assert space.contains(world.legal_action({}, 3))
    env.action_space = Everything()
    assert is_text(env.action_space)
    for action in ("north", 3, {"go": "north"}):
        adapt(env).require_type(action)


def test_a_new_episode_of_an_environment_without_step_is_seen_after_its_end_or_by_reset() -> None:
    env = gym.make("Toy/Dice-v0", is_copyable=True)
    with IADPolicyWrapper(lambda observation, info: 1, env, verifier=Hunch(), strategy="iad") as policy:
        for _ in range(2):
            observation, info = env.reset(seed=4)
            done = False
            while not done:
                observation, reward, terminated, done, info = env.step(policy.act(observation, info))
                policy.observe(observation, info, reward=float(reward), done=terminated or done)
            assert len(policy.decisions) == 3
        policy.reset()
        policy.act(*env.reset(seed=4))
        assert len(policy.decisions) == 1
