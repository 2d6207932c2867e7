"""Environments that are not ours, and wrappers: simulated in copies, by replay, or not at all, as is said."""

from collections.abc import Callable, Iterator
from itertools import cycle, islice
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import wrappers

from iad_envs import ENVIRONMENTS
from iad_envs.spaces import UnicodeText
from iad_policy import Candidate, Commit, IADPolicyWrapper, Propose, Simulate
from iad_policy.agents.random import RandomAgent
from iad_policy.errors import ActionTypeError, SimulationError
from iad_policy.types import UNLISTED
from iad_policy.world import World, adapt, is_text
from iad_policy.world.wrappers import effect_of
from tests.contract.components import STRATEGIES, TAXI, Hunch, play
from tests.contract.foreign import Dice, Words
from tests.contract.toy import Digger


def begun(env: gym.Env[Any, Any], seed: int | None = 7) -> World:
    world = adapt(env)
    world.begin(env.reset(seed=seed)[0])
    return world


def steps(env: gym.Env[Any, Any], policy: IADPolicyWrapper, seed: int) -> Iterator[tuple[Any, Any]]:
    """Play an episode, with all that happens told to the policy: its actions and what is seen after them."""
    observation, info = env.reset(seed=seed)
    done = False
    while not done:
        action = policy.act(observation, info)
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        policy.observe(observation, info, reward=float(reward), done=done)
        yield action, observation


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
            world.simulate(world.simulate(token, other, 0).token, 1, 0)
        seen = [env.step(action)[:4] for env in (still, busy)]
        world.committed(action)
        assert seen[0] == seen[1]


@ways
def test_a_simulation_is_the_same_twice_and_a_draw_differs(name: str, options: dict[str, Any]) -> None:
    world = begun(gym.make(name, **options))
    token = world.snapshot()

    def drawn(action: int) -> list[list[Any]]:
        first = [world.simulate(token, action, draw) for draw in range(5)]
        following = [world.simulate(first[0].token, 1, draw).key for draw in range(5)]
        return [[one.observation for one in first], following]

    found = [drawn(action) for action in (1, 2)]
    assert found == [drawn(action) for action in (1, 2)]
    assert any(len(set(first)) > 1 for first, _ in found)


@ways
def test_a_fork_is_not_clairvoyant(name: str, options: dict[str, Any]) -> None:
    agreed = []
    for seed in range(8):
        world = begun(env := gym.make(name, **options), seed)
        world.committed(1)
        env.step(1)
        ahead = world.simulate(world.snapshot(), 1, 0)
        agreed.append(ahead.observation == env.step(1)[0])
    assert 0 < sum(agreed) < len(agreed)


def test_what_is_missing_for_a_simulation_is_said_and_looking_for_a_seed_draws_none() -> None:
    unseeded, changed, again = (gym.make("Toy/Dice-v0", is_random=one) for one in (False, True, True))
    begun(again, seed=1)
    begun_then_changed = begun(changed)
    changed.unwrapped.np_random = np.random.default_rng(3)
    for world, said in (
        (begun(Dice()), r"not made by gym\.make"),
        (begun(gym.make("Toy/Dice-v0", keeps_seed=False)), r"keeps no seed; .*super\(\)"),
        (begun(unseeded, seed=None), r"without a seed; call reset\(seed="),
        (begun_then_changed, "np_random was set"),
        (begun(again, seed=None), r"not the one that reset\(seed=1\) gives"),
    ):
        with pytest.raises(SimulationError, match=rf"can't be copied .*lock.* nor replayed: .*{said}.*bon-sc, .*False"):
            world.snapshot()
    assert unseeded.unwrapped._np_random_seed is None
    # What simulates nothing needs no copy.
    assert play(Dice, {"strategy": "bon-sc", "agent": lambda *_: 1}, verifier=None).actions == [1, 1, 1]


def test_a_forked_environment_is_over_for_a_simulation_at_its_time_limit() -> None:
    ends: list[tuple[bool, float]] = []

    def looking(here: Any) -> Any:
        there = here
        for _ in range(3):
            there = yield from Simulate(there, Candidate(1))
            ends.append((there.done, there.steps_left))
        yield from Commit(Candidate(1))

    play(lambda: gym.make("Toy/Dice-v0"), {"strategy": looking, "agent": rotating(1)}, verifier=None, n_decisions=1)
    assert ends == [(False, 2), (False, 1), (True, 0)]


def test_step_limits_are_found_wherever_they_are() -> None:
    made = (Digger(max_steps=4), gym.make(TAXI), gym.make("Toy/Dice-v0", max_episode_steps=9), Dice())
    assert [adapt(env).max_steps for env in made] == [4, 200, 9, float("inf")]


def test_a_legal_action_respects_the_mask_and_the_order_and_is_no_pattern() -> None:
    taxi, digger = adapt(gym.make(TAXI)), adapt(Digger())
    assert {taxi.legal_action({"action_mask": np.array([0, 0, 1, 0, 0, 0])}, seed) for seed in range(20)} == {2}
    assert {taxi.legal_action({}, seed) for seed in range(60)} == set(range(6))
    for listed, action in (("look dig", "look"), ("search[...] click[back]", "click[back]"), ("search[...]", "")):
        info = {"available_actions": tuple(listed.split()), "instruction": "a red lamp"}
        assert digger.legal_action(info, 0) == action  # nor what could be put into a pattern
    digger.env.action_space = gym.spaces.Text(9)
    assert digger.env.action_space.contains(drawn := digger.legal_action({}, 0))
    assert drawn == digger.legal_action({}, 0) != digger.legal_action({}, 1)


TEXTUAL: list[Any] = [(name, {}) for name in ENVIRONMENTS if "Browser" not in name and "Sketch" not in name]
TEXTUAL += [("IAD/BIRD-v0", {"mode": "answer"})]


@pytest.mark.parametrize(("name", "options"), TEXTUAL)
def test_the_fallback_is_the_first_available_action_or_none(name: str, options: dict[str, Any]) -> None:
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
    *((space, "a text") for space in (Words(), Words(["north"]), UnicodeText(9), gym.spaces.Text(9))),
    *((gym.spaces.Discrete(3), "a whole number"), (gym.spaces.Box(0, 1, (2,)), "an array")),
    *((gym.spaces.Dict(name=gym.spaces.Text(9)), "a dict"), (gym.spaces.Tuple([gym.spaces.Text(9)]), "a tuple")),
    (gym.spaces.Sequence(gym.spaces.Text(9)), ""),
]


@pytest.mark.parametrize(("space", "words"), SPACES, ids=map(str, range(len(SPACES))))
def test_a_text_space_is_one_that_contains_a_text(space: gym.Space[Any], words: str) -> None:
    assert is_text(space) is (words == "a text")
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
            list(steps(env, policy, seed=4))
            assert len(policy.decisions) == 3
        policy.reset()
        policy.act(*env.reset(seed=4))
        assert len(policy.decisions) == 1


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
    def observation(self, observation: int) -> dict[str, str]:
        return {"seen": f"state {observation}"}


Idle = type("Idle", (gym.Wrapper,), {"__doc__": "Overrides nothing that matters."})


class Counting(gym.Wrapper[Any, Any, Any, Any]):
    """Counts steps, and says that it changes nothing."""

    iad_neutral, n_steps = True, 0

    def step(self, action: Any) -> Any:
        self.n_steps += 1
        return self.env.step(action)


class Undeclared(Counting):
    iad_neutral = False


class Remembering(gym.ObservationWrapper[Any, Any, Any]):
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
        n_compared = 0
        for action, observation in islice(steps(env, policy, seed=5), 4):
            decision = policy.decisions[-1]
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
        dice = gym.make("Toy/Dice-v0", is_copyable=is_copyable)
        world = begun(env := Told(wrappers.TransformAction(dice, lambda one: 2 - one, None)))
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
    assert (world.risks(4)[1], world.complaint("go west") != "") == (False, True)
    world.require_type(np.int64(3))


def test_the_fallback_and_the_random_agent_take_actions_of_the_wrapper() -> None:
    world = adapt(digger())
    listed = {"available_actions": ("go north", "dig")}
    assert world.available(listed) == []
    assert {world.legal_action(listed, seed) for seed in range(60)} == set(range(len(ORDERS)))
    taken = play(digger, {"strategy": "single", "agent": RandomAgent(digger())}, verifier=None).actions
    assert all(0 <= action < len(ORDERS) for action in taken)


class Drawn(Digger):
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
    assert [(one.key, one.is_terminal) for one in played.decisions[0].candidates] == [(key, False) for key in "010"]
