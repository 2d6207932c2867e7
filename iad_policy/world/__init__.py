"""Adapts a Gymnasium environment for a driver, which reads and simulates it but never steps it.

Environments that implement contract 1 (`snapshot`, `simulate`, `oracle`) are used directly. Others are simulated in a
deep copy, or by replaying the episode from its seed in a fresh environment. If neither works, the error says why.
"""

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from iad_policy.errors import ActionTypeError, SimulationError
from iad_policy.types import Outcome
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.names import PATTERN
from iad_policy.types.read_only import ReadOnlyDict, read_only, writable
from iad_policy.world.wrappers import WITHOUT_SIMULATION, WrapperStack

DEFAULT_GOLD = frozenset({"progress", "success", "reward_parts", "episode"})


class ReadOnlyGold(ReadOnlyDict):
    """An environment's gold, read-only at any depth. What the environment only finds when it is read stays so.

    Args:
        gold: What the environment's oracle returned.
    """

    __slots__ = ("_gold",)

    def __init__(self, gold: Mapping[str, Any]) -> None:
        super().__init__({key: read_only(part) for key, part in gold.items()})
        self._gold = gold

    def __missing__(self, key: str) -> Any:
        found = read_only(self._gold[key])
        dict.__setitem__(self, key, found)  # found once
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return ReadOnlyDict, (dict(self),)


class World(ABC):
    """An environment as a driver sees it.

    Args:
        env: The environment that the user steps. For simulations, the effect of its wrappers must be known: see
            `iad_policy.world.wrappers`. An agent acts outside of them, so all methods take and return what is outside.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        self.env = env
        self.inner: Any = env.unwrapped
        self._wrappers = WrapperStack(env)
        self.gold_keys = frozenset(getattr(self.inner, "GOLD_INFO", DEFAULT_GOLD))
        # In an environment that does not name its actions these words may mean anything.
        names_actions = hasattr(self.inner, "action_key") and not self._wrappers.hides_actions
        risks = self.inner if names_actions else None
        through = self._wrappers.through
        self._key: Callable[[Any], Any] = through(getattr(risks, "action_key", _plain_key))
        self._terminal: Callable[[Any], bool] = through(getattr(risks, "terminal", lambda action: False))
        self._irreversible: Callable[[Any], bool] = through(getattr(risks, "irreversible", lambda action: False))
        self.thumbnail: Callable[[Any], bytes | None] = getattr(self.inner, "thumbnail", lambda token: None)
        """Returns a small PNG of a simulated state, or None if the environment can't draw its states."""
        self.guard: Callable[[], AbstractContextManager[None]] = getattr(self.inner, "guard", nullcontext)
        """Returns a context in which stepping the environment or reading its gold raises an error in this thread."""
        self.deciding: Callable[[], AbstractContextManager[None]] = getattr(self.inner, "deciding", nullcontext)
        """Returns a context in which both raise an error in every thread, until the decision is made."""
        self.driving: Callable[[], AbstractContextManager[None]] = getattr(self.inner, "driving", nullcontext)
        """Returns a context in which this thread may read gold though a decision is made, unless it is guarded."""
        self.max_steps = step_limit(env)
        self.is_random = bool(getattr(self.inner, "STOCHASTIC", True))  # of a foreign one it is not known

    def key(self, action: Any) -> str:
        """Return the canonical form of an action; equal actions have equal keys."""
        return str(self._key(action))

    def risks(self, action: Any) -> tuple[bool, bool]:
        """Return whether an action may end the episode (a purchase), and whether it can't be taken back (a sent mail).

        Each is False if it is not known.
        """
        return bool(self._terminal(action)), bool(self._irreversible(action))

    @property
    def simulated_by(self) -> str:
        """How it is simulated if it has no simulation of its own: by `fork` or by `replay`, which see hidden state."""
        return ""

    @property
    def is_answered(self) -> bool:
        """Whether the world answered the last real step. Then no simulation contains the current observation."""
        return bool(getattr(self.inner, "is_answered", False))

    def complaint(self, action: Any) -> str:
        """Return why an action is outside the action space, or ""."""
        if self.env.action_space.contains(action):
            return ""
        return f"expected an action in {self.env.action_space}, got {action!r:.200}"

    def require_type(self, action: Any) -> None:
        """Check that an action is of a type that actions here have.

        Raises:
            ActionTypeError: It is not, so the agent was misunderstood.
        """
        space = self.env.action_space
        words, types = _action_type(space)
        if not isinstance(action, types):
            raise ActionTypeError(
                f"expected {words} from the agent, as actions are {space}, got {type(action).__name__} "
                f"{action!r:.200}; return the action itself or a Candidate, Candidate(None, error=...) for an answer "
                "that is no action"
            )

    def available(self, info: Mapping[str, Any]) -> list[Any]:
        """Return the available actions that can be taken as they are, which patterns can't.

        What the environment lists is available inside of its wrappers.
        """
        if self._wrappers.changes_actions:
            return []
        return [
            action
            for action in info.get("available_actions", ())
            if not (isinstance(action, str) and action.endswith(PATTERN))
        ]

    def legal_action(self, info: Mapping[str, Any], seed: int) -> Any:
        """Return a fallback action: the first available one that is no pattern, else an empty text.

        A pattern such as `search[...]` is not filled in: that would be an agent's choice, and often a good one. Where
        an action can't be an empty text it is a sample of the action space.
        """
        available = self.available(info)
        if available:
            return available[0]
        if is_text(self.env.action_space) and self.env.action_space.contains(""):
            return ""
        space = copy.deepcopy(self.env.action_space)
        space.seed(seed % 2**32)
        mask = None if self._wrappers.changes_actions else info.get("action_mask")
        return space.sample() if mask is None else space.sample(mask=np.asarray(mask, dtype=np.int8))

    def begin(self, observation: Any) -> None:  # noqa: B027 (only forks need it)
        """Handle the start of a new episode."""

    def committed(self, action: Any) -> None:  # noqa: B027
        """Handle a real step."""

    def snapshot(self) -> Any:
        """Return a token of the environment's current state.

        Raises:
            SimulationError: The environment can't be simulated, or not through one of its wrappers.
        """
        self._wrappers.require_known()
        return self._snapshot()

    def simulate(self, token: Any, action: Any, draw: int) -> Outcome:
        """Return the outcome of an action in a simulated state. The environment itself does not change."""
        outcome = self._simulate(token, self._wrappers.action(writable(action)), draw)
        return outcome._replace(observation=self._wrappers.observation(outcome.observation))

    @abstractmethod
    def _snapshot(self) -> Any:
        """Return a token of the environment's current state."""

    @abstractmethod
    def _simulate(self, token: Any, action: Any, draw: int) -> Outcome:
        """Return the outcome of an action, both as they are inside of the wrappers."""

    @abstractmethod
    def oracle(self, token: Any) -> Mapping[str, Any]:
        """Return gold about a state: the keys `reward progress reward_parts reference solution`, where known.

        Reading the solution may take a search, so it need not be among the keys before. It is read-only at any depth.
        """


class NativeWorld(World):
    """An environment that implements contract 1."""

    def _snapshot(self) -> Any:
        return self.inner.snapshot()

    def _simulate(self, token: Any, action: Any, draw: int) -> Outcome:
        outcome: Outcome = self.inner.simulate(token, action, draw)
        return outcome

    def oracle(self, token: Any) -> Mapping[str, Any]:
        """See `World.oracle`."""
        return ReadOnlyGold(self.inner.oracle(token))


class _Fork(NamedTuple):
    env: Any  # None if it can't be copied: then every simulation replays the episode from its seed
    moves: tuple[tuple[Any, int], ...]
    name: str
    reward: float
    total: float


class ForkedWorld(World):
    """An environment without contract 1, which is simulated in copies or replays of itself."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._start: Any = None
        self._actions: list[Any] = []
        self._cause: Exception | None = None
        self._simulated_by = ""

    @property
    def simulated_by(self) -> str:
        """See `World.simulated_by`."""
        if not self._simulated_by:  # all outcomes so far were recorded in an earlier run
            self._copied()
        return self._simulated_by

    def begin(self, observation: Any) -> None:
        """See `World.begin`."""
        self._start = observation
        self._actions = []

    def committed(self, action: Any) -> None:
        """See `World.committed`."""
        self._actions.append(self._wrappers.action(action))

    def _snapshot(self) -> Any:
        env = self._copied()
        if env is None:
            self._replay()
        return _Fork(env, (), digest(self._start, self._actions), 0.0, 0.0)

    def _simulate(self, token: Any, action: Any, draw: int) -> Outcome:
        # The copy gets a new random stream, because a copied one would reveal future draws.
        moves = (*token.moves, (action, draw))
        if token.env is not None:
            env, ahead = copy.deepcopy(token.env), moves[-1:]
        else:
            env, ahead = self._replay(), moves
        name = token.name if token.env is not None else digest(self._start, self._actions)
        for move, its_draw in ahead:
            env.np_random = np.random.default_rng(seed_of(name, move, its_draw))
            observation, reward, terminated, truncated, info = env.step(writable(move))
            name = digest(name, move, its_draw)
        kept = None if token.env is None else env
        fork = _Fork(kept, moves, name, float(reward), token.total + float(reward))
        return Outcome(fork, observation, info, bool(terminated or truncated), digest(observation))

    def oracle(self, token: Any) -> Mapping[str, Any]:
        """See `World.oracle`. `reward` is the last reward, `progress` the sum of rewards since the real state."""
        gold = {"reward": token.reward, "progress": token.total, "reward_parts": {}, "reference": None}
        return ReadOnlyGold({**gold, "solution": None})

    def _copied(self) -> Any:
        """Return a copy of the environment, or None if it can't be copied."""
        try:
            env = copy.deepcopy(self.inner)
        except Exception as error:  # third-party code may raise anything; replay instead
            self._cause, self._simulated_by = error, "replay"
            return None
        self._simulated_by = "fork"
        return env

    def _replay(self) -> Any:
        """Return a new environment that was brought to the real state.

        Raises:
            SimulationError: What is needed for that is missing.
        """
        cause = self._cause
        why = f"{self.inner} can't be simulated: it can't be copied ({cause!r})"
        # Not `np_random_seed`, which draws a seed if there is none.
        spec, seed = self.inner.spec, self.inner._np_random_seed
        missing = _missing(spec, seed)
        if missing:
            raise SimulationError(f"{why}, nor replayed: {missing}; or use {WITHOUT_SIMULATION}") from cause
        env: Any = gym.make(spec).unwrapped
        observation, _ = env.reset(seed=seed)
        if digest(self._wrappers.observation(observation)) != digest(self._start):
            raise SimulationError(
                f"{why}, nor replayed: its first observation is not the one that reset(seed={seed}) gives. Reset it "
                "with a seed and without options in every episode. If you do, it depends on more than the seed; use "
                f"{WITHOUT_SIMULATION}"
            ) from cause
        for action in self._actions:
            env.step(writable(action))
        return env


def _missing(spec: Any, seed: int | None) -> str:
    """Return what an environment lacks to be replayed, or ""."""
    if spec is None:
        return "it was not made by gym.make, so it can't be made again; register it and make it with gym.make"
    if seed is None and not _keeps_seeds(spec):
        return "it keeps no seed; its reset() has to call super().reset(seed=seed)"
    if seed is None:
        return "it was reset without a seed; call reset(seed=...)"
    return "its seed is not known, as its np_random was set; call reset(seed=...)" if seed < 0 else ""


def _keeps_seeds(spec: Any) -> bool:
    env: Any = gym.make(spec)
    try:
        env.reset(seed=0)
        return bool(env.unwrapped._np_random_seed == 0)
    finally:
        env.close()


def adapt(env: gym.Env[Any, Any]) -> World:
    """Return the `World` of an environment."""
    has_contract = all(hasattr(env.unwrapped, name) for name in ("snapshot", "simulate", "oracle"))
    return NativeWorld(env) if has_contract else ForkedWorld(env)


def step_limit(env: gym.Env[Any, Any]) -> float:
    """Return the number of committed actions after which an episode is truncated; infinity for no limit."""
    own = getattr(env.unwrapped, "max_steps", None)
    limit = own if own is not None else env.spec.max_episode_steps if env.spec is not None else None
    return math.inf if limit is None else float(limit)


def described(env: gym.Env[Any, Any]) -> dict[str, Any]:
    """Return the facts that are needed to describe the states of a run in words, as JSON-able values.

    `max_steps` is the step limit. `discrete` is the first action and the number of actions of a discrete action space.
    Either is None if the environment has none. `success_rule` says what counts as success, or is "" for a reward of 1.
    `tasks_of` is the split that the tasks are from, None if there are no splits. `gold` are the gold keys of its info.
    """
    limit, space = step_limit(env), env.action_space
    discrete = [int(space.start), int(space.n)] if isinstance(space, gym.spaces.Discrete) else None
    return {
        "max_steps": int(limit) if math.isfinite(limit) else None,
        "discrete": discrete,
        "success_rule": str(getattr(env.unwrapped, "success_rule", "")),
        "tasks_of": getattr(env.unwrapped, "split", None),
        "gold": sorted(getattr(env.unwrapped, "GOLD_INFO", DEFAULT_GOLD)),
    }


def is_text(space: gym.Space[Any]) -> bool:
    """Return whether a space contains texts. Not every library's text space has the `dtype` of Gymnasium's."""
    if space.dtype is not None and space.dtype.kind != "O":
        return space.dtype.kind == "U"
    if space.contains("") or space.contains("a"):
        return True
    with suppress(Exception):  # third-party code may raise anything where it can't be copied or sampled
        return isinstance(copy.deepcopy(space).sample(), str)
    return False


def _action_type(space: gym.Space[Any]) -> tuple[str, tuple[type, ...]]:
    """Return what the actions of a space are, in words and as Python types."""
    if is_text(space) and not space.contains(0):  # some spaces contain everything
        return "a text", (str,)
    if isinstance(space, gym.spaces.Discrete):
        return "a whole number", (int, np.integer, np.ndarray)
    if isinstance(space, gym.spaces.Dict):
        return "a dict", (Mapping,)
    if isinstance(space, gym.spaces.Tuple):
        return "a tuple", (tuple, list)
    return ("an array", (np.ndarray, list, tuple)) if space.shape is not None else ("an action", (object,))


def _plain_key(action: Any) -> str:
    return str(action) if isinstance(action, str | int | np.integer) else digest(action)
