"""The base class of the environments: one step is a transition that knows no gold and a score that does.

So an action can be simulated beside the real environment, as often as a policy likes, without its score leaking. An
environment defines where a task starts, what an action does, what a state looks like, and how it is scored; everything
else (snapshots, simulations, the oracle's door, step limit, info) is here, once.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, ClassVar, Generic, NamedTuple, SupportsFloat, TypeVar

import gymnasium as gym
import numpy as np

from iad_envs.errors import UnknownTask
from iad_envs.guard import Guard, refuse_if_guarded

ObsT = TypeVar("ObsT")
StateT = TypeVar("StateT")
MAX_SIMULATIONS_KEPT = 2048


class Transition(NamedTuple):
    """What an action does, without gold.

    Attributes:
        state: The state after it.
        complaint: Why the action was invalid, in words an agent can use; empty for a valid one.
        done: True when the action ends the episode.
    """

    state: Any
    complaint: str
    done: bool


class View(NamedTuple):
    """What a state looks like to an agent.

    Attributes:
        observation: In the observation space.
        available_actions: Examples of valid actions; patterns like `search[...]` come last.
        facts: Findings of the environment without gold.
        page: The observation as data, so that nobody parses it back.
    """

    observation: Any
    available_actions: Sequence[Any]
    facts: Mapping[str, Any]
    page: Mapping[str, Any]


class Score(NamedTuple):
    """Gold about a state.

    Attributes:
        reward: Of the step that led here.
        progress: 0-1, of the episode so far.
        success: Whether the task is solved.
        parts: The reward's parts; the same keys in every step.
        memory: What the score of the next state needs to know of this one.
    """

    reward: float
    progress: float
    success: bool
    parts: Mapping[str, float]
    memory: Any


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """A moment of an episode. Opaque to policies: pass it back to `simulate`, `restore` or `oracle`."""

    task: Any
    state: Any
    step: int
    complaint: str
    stop_reason: str
    terminated: bool
    parent: "Snapshot | None" = field(repr=False)
    rng_state: Any = field(default=None, repr=False)

    @property
    def done(self) -> bool:
        """Whether the episode is over here."""
        return self.stop_reason != ""


class Outcome(NamedTuple):
    """What a simulated action leads to.

    Attributes:
        token: The snapshot after it.
        observation: What would be seen; after an irreversible action without score or gold.
        info: As `step` gives it, without the gold keys.
        done: Whether the episode would be over.
        key: Canonical form of the result: equal keys mean that two actions come to the same.
    """

    token: Snapshot
    observation: Any
    info: dict[str, Any]
    done: bool
    key: str


class IADEnv(gym.Env[ObsT, str], Generic[ObsT, StateT], ABC):
    """Base of the `IAD/...` environments; see the module's text and contract 1 in docs/design.md.

    Args:
        max_steps: Committed actions after which the episode is truncated.
        render_mode: `"ansi"` or None.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium declares it so)
    GOLD_INFO: ClassVar[frozenset[str]] = frozenset({"progress", "success", "reward_parts"})
    STOCHASTIC: ClassVar[bool] = False
    """True if `_transition` draws from its `rng`; the real and the simulated outcome of an action then differ."""

    def __init__(self, *, max_steps: int, render_mode: str | None = None) -> None:
        if max_steps < 1:
            raise ValueError(f"expected max_steps of 1 or more, got {max_steps}")
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            known = ", ".join(self.metadata["render_modes"])
            raise ValueError(f"expected a render_mode of {known}, or None, got {render_mode!r}")
        self.max_steps = max_steps
        self.render_mode = render_mode
        self._now: Snapshot | None = None
        self._simulations: dict[tuple[Snapshot, Any, int], Outcome] = {}
        self._scores: dict[Snapshot, Score] = {}

    # What an environment defines.

    @property
    @abstractmethod
    def task_ids(self) -> Sequence[str]:
        """The ids of the tasks that `reset` picks from."""

    @abstractmethod
    def _task(self, task_id: str) -> Any:
        """Return a task by its id, which need not be in the split; `UnknownTask` for none."""

    @abstractmethod
    def _task_id(self, task: Any) -> str:
        """Return a task's id."""

    @abstractmethod
    def _instruction(self, task: Any) -> str:
        """Return what the agent is asked to do."""

    @abstractmethod
    def _start(self, task: Any) -> StateT:
        """Return a task's first state."""

    @abstractmethod
    def _transition(self, state: StateT, action: str, rng: np.random.Generator | None) -> Transition:
        """Return what an action does. Knows no gold. `rng` is None unless the environment is `STOCHASTIC`."""

    @abstractmethod
    def _view(self, state: StateT, complaint: str) -> View:
        """Return what a state looks like. Knows no gold."""

    @abstractmethod
    def _score(self, task: Any, now: Snapshot, memory: Any) -> Score:
        """Return gold about a moment, given the score's memory of the moment before (None at the start)."""

    @abstractmethod
    def _reference(self, task: Any) -> Any:
        """Return the gold solution, for the oracle."""

    @abstractmethod
    def action_key(self, action: str) -> str:
        """Return the canonical form of an action: equal keys mean equal actions."""

    @abstractmethod
    def irreversible(self, action: str) -> bool:
        """Say whether an action can't be taken back."""

    def _reveal(self, view: View, score: Score) -> Any:
        """Return the real observation of a final state: where the published environment shows the score."""
        return view.observation

    def _committed(self, after: Snapshot) -> Snapshot:
        """Return the moment after a real action: where the world answers what no simulation may know in advance."""
        return after

    def _result_key(self, state: StateT, view: View) -> Hashable:
        """Return what makes two results the same."""
        return str(view.observation)

    # What everyone uses.

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ObsT, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Picks the task, and seeds the environment's randomness.
            options: `{"task_id": ...}` picks the task directly.

        Raises:
            UnknownTask: No such task, or an option that is none.
        """
        refuse_if_guarded("reset()")
        super().reset(seed=seed)
        options = options or {}
        for option in options:
            if option != "task_id":
                raise UnknownTask("reset option", option, ["task_id"])
        task_id = options.get("task_id")
        if task_id is None:
            task_ids = self.task_ids
            task_id = task_ids[int(self.np_random.integers(len(task_ids)))]
        task = self._task(task_id)
        self._simulations.clear()
        self._scores.clear()
        return self._arrive(Snapshot(task, self._start(task), 0, "", "", False, None))

    def step(self, action: str) -> tuple[ObsT, SupportsFloat, bool, bool, dict[str, Any]]:
        """Commit an action.

        After the end of an episode every action is refused: the reward is 0 and the observation says so.
        """
        refuse_if_guarded("step()")
        now = self._required()
        if now.done:
            observation, info = self._arrive(_like(now, complaint="the episode is over: call reset()"))
            return observation, 0.0, now.terminated, not now.terminated, info
        rng = self.np_random if self.STOCHASTIC else None
        known = self._simulations.get((now, _memo_key(action), 0)) if rng is None else None
        after = self._committed(self._move(now, action, rng) if known is None else known.token)
        observation, info = self._arrive(after)
        return observation, self._scored(after).reward, after.terminated, after.done and not after.terminated, info

    def render(self) -> Any:
        """Return the current observation as text in the mode `"ansi"`; an environment may add modes."""
        if self.render_mode is None:
            return None
        now = self._required()
        return f"Task: {self._instruction(now.task)}\n\n{self._view(now.state, now.complaint).observation}"

    # What a policy uses.

    def guard(self) -> Guard:
        """Return a context in which this thread can simulate, but not step, move or ask for gold."""
        return Guard()

    def snapshot(self) -> Snapshot:
        """Return a token of this moment, randomness included."""
        now = self._required()
        return _like(now, rng_state=self.np_random.bit_generator.state) if self.STOCHASTIC else now

    def simulate(self, token: Snapshot, action: str, draw: int = 0) -> Outcome:
        """Return what an action would lead to; the environment does not move.

        Pure and memoised, so that candidates can be tried side by side. Randomness comes from a stream named by the
        token's step, the action and `draw`, never from the environment's own.
        """
        memo = (token, _memo_key(action), draw)
        outcome = self._simulations.get(memo)
        if outcome is None:
            rng = np.random.default_rng(_seed_of(draw, token.step, action)) if self.STOCHASTIC else None
            after = token if token.done else self._move(token, action, rng)
            view = self._view(after.state, after.complaint)
            info = self._public(after, view)
            outcome = Outcome(after, view.observation, info, after.done, str(self._result_key(after.state, view)))
            if len(self._simulations) >= MAX_SIMULATIONS_KEPT:
                self._simulations.clear()
            outcome = self._simulations.setdefault(memo, outcome)  # of two threads, one outcome is everybody's
        return outcome

    def restore(self, token: Snapshot) -> tuple[ObsT, dict[str, Any]]:
        """Move to the moment of a token; returns the observation and info as they were."""
        refuse_if_guarded("restore()")
        if token.rng_state is not None:
            self.np_random.bit_generator.state = token.rng_state
        return self._arrive(token)

    def oracle(self, token: Snapshot) -> dict[str, Any]:
        """Return gold about a moment, simulated ones included: `reward progress success reward_parts reference`."""
        refuse_if_guarded("oracle()")
        score = self._scored(token)
        return {
            "reward": score.reward,
            "progress": score.progress,
            "success": score.success,
            "reward_parts": dict(score.parts),
            "reference": self._reference(token.task),
        }

    # How it works.

    def _required(self) -> Snapshot:
        if self._now is None:
            raise gym.error.ResetNeeded("expected reset() before anything else, got no episode yet; call env.reset()")
        return self._now

    def _move(self, before: Snapshot, action: Any, rng: np.random.Generator | None) -> Snapshot:
        if isinstance(action, str):
            state, complaint, terminated = self._transition(before.state, action, rng)
        else:
            state, terminated = before.state, False
            complaint = f"expected an action that is a text, got {type(action).__name__}"
        step = before.step + 1
        stop_reason = "done" if terminated else "max_steps" if step >= self.max_steps else ""
        return Snapshot(before.task, state, step, complaint, stop_reason, terminated, before)

    def _scored(self, now: Snapshot) -> Score:
        score = self._scores.get(now)
        if score is None:
            memory = None if now.parent is None else self._scored(now.parent).memory
            score = self._scores[now] = self._score(now.task, now, memory)
        return score

    def _arrive(self, now: Snapshot) -> tuple[ObsT, dict[str, Any]]:
        self._now = now
        view = self._view(now.state, now.complaint)
        score = self._scored(now)
        info = self._public(now, view)
        info["progress"] = score.progress
        info["success"] = score.success
        info["reward_parts"] = dict(score.parts)
        return (self._reveal(view, score) if now.terminated else view.observation), info

    def _public(self, now: Snapshot, view: View) -> dict[str, Any]:
        return {
            "task_id": self._task_id(now.task),
            "instruction": self._instruction(now.task),
            "available_actions": view.available_actions,
            "invalid_action": now.complaint != "",
            "step": now.step,
            "stop_reason": now.stop_reason,
            "facts": view.facts,
            "page": view.page,
        }


def _like(now: Snapshot, *, complaint: str | None = None, rng_state: Any = None) -> Snapshot:
    said = now.complaint if complaint is None else complaint
    return Snapshot(now.task, now.state, now.step, said, now.stop_reason, now.terminated, now.parent, rng_state)


def _memo_key(action: Any) -> Hashable:
    return action if isinstance(action, str) else (type(action).__name__,)  # all that its complaint depends on


def _seed_of(*parts: Any) -> int:
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=16).digest())
