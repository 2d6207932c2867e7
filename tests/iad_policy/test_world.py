"""Environments that are not ours: simulated in copies, else by replay, else not at all, and it is said plainly."""

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


@pytest.mark.parametrize(("name", "options"), WAYS, ids=str)
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


@pytest.mark.parametrize(("name", "options"), WAYS, ids=str)
def test_a_simulation_is_the_same_twice_and_a_draw_differs(name: str, options: dict[str, Any]) -> None:
    world = begun(gym.make(name, **options))
    token = world.snapshot()
    is_random = False
    for action in (1, 2):
        first = [world.simulate(token, action, draw).observation for draw in DRAWS]
        assert first == [world.simulate(token, action, draw).observation for draw in DRAWS]
        is_random |= len(set(first)) > 1
        chains = [world.simulate(world.simulate(token, action, 0).token, 1, draw).key for draw in DRAWS]
        assert chains == [world.simulate(world.simulate(token, action, 0).token, 1, draw).key for draw in DRAWS]
    assert is_random


@pytest.mark.parametrize(("name", "options"), WAYS, ids=str)
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


def test_an_environment_that_can_neither_be_copied_nor_replayed_says_what_is_missing() -> None:
    def refused(world: World, said: str) -> None:
        said = rf"can't be copied .*lock.* nor replayed: {said}.*bon-sc, and a verifier with needs_preview=False"
        with pytest.raises(SimulationError, match=said):
            world.snapshot()

    refused(begun(Dice()), r"it was not made by gym\.make, .* make it with gym\.make")
    refused(begun(gym.make("Toy/Dice-v0", keeps_seed=False)), r"it keeps no seed; its reset\(\) has to call super\(\)")
    refused(
        begun(gym.make("Toy/Dice-v0", is_random=False), seed=None), r"it was reset without a seed; call reset\(seed="
    )
    env = gym.make("Toy/Dice-v0")
    world = begun(env)
    env.unwrapped.np_random = np.random.default_rng(3)
    refused(world, r"its seed is not known, as its np_random was set; call reset\(seed=")
    env = gym.make("Toy/Dice-v0")
    begun(env, seed=1)
    refused(
        begun(env, seed=None), r"its first observation is not the one that reset\(seed=1\) gives\. Reset it with a seed"
    )
    # What simulates nothing needs no copy.
    assert play(Dice, {"strategy": "bon-sc", "agent": lambda *_: 1}, verifier=None).actions == [1, 1, 1]


def test_looking_for_a_seed_draws_none() -> None:
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
    assert adapt(Digger(max_steps=4)).max_steps == 4
    assert adapt(gym.make(TAXI)).max_steps == 200
    assert adapt(gym.make("Toy/Dice-v0", max_episode_steps=9)).max_steps == 9
    assert adapt(Dice()).max_steps == float("inf")


def test_a_legal_action_respects_the_mask_and_the_order() -> None:
    taxi = adapt(gym.make(TAXI))
    for seed in range(20):
        assert taxi.legal_action({"action_mask": np.array([0, 0, 1, 0, 0, 0])}, seed) == 2
    assert {taxi.legal_action({}, seed) for seed in range(60)} == set(range(6))
    assert adapt(Digger()).legal_action({"available_actions": ["look", "dig"]}, 0) == "look"


def test_a_legal_action_is_never_a_pattern_nor_what_could_be_put_into_one() -> None:
    digger = adapt(Digger())
    listed = {"available_actions": ("search[...]", "click[back]"), "instruction": "a red lamp"}
    assert digger.legal_action(listed, 0) == "click[back]"
    assert digger.legal_action({**listed, "available_actions": ("search[...]",)}, 0) == ""
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


SPACES = [
    (Words(), True, "a text"),
    (Words(["north"]), True, "a text"),
    (UnicodeText(9), True, "a text"),
    (gym.spaces.Text(9), True, "a text"),
    (gym.spaces.Discrete(3), False, "a whole number"),
    (gym.spaces.Box(0, 1, (2,)), False, "an array"),
    (gym.spaces.Dict(name=gym.spaces.Text(9)), False, "a dict"),
    (gym.spaces.Tuple([gym.spaces.Text(9)]), False, "a tuple"),
    (gym.spaces.Sequence(gym.spaces.Text(9)), False, "an action"),
]


@pytest.mark.parametrize(("space", "is_textual", "words"), SPACES, ids=map(str, range(len(SPACES))))
def test_a_text_space_is_one_that_contains_a_text(space: gym.Space[Any], is_textual: bool, words: str) -> None:
    assert is_text(space) is is_textual
    env = Digger()
    env.action_space = space
    world = adapt(env)
    world.require_type(space.sample())
    if words != "an action":
        with pytest.raises(ActionTypeError, match=f"expected {words} from the agent"):
            world.require_type(None)
    assert space.contains(world.legal_action({}, 3))


def test_a_space_of_everything_has_actions_of_any_type() -> None:
    class Everything(gym.Space[Any]):
        def contains(self, x: Any) -> bool:
            return True

    env = Digger()
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
