"""The base class of the environments: one step is a transition that knows no gold and a score that does.

So an action can be simulated beside the real environment, as often as a policy likes, without its score leaking. An
environment defines where a task starts, what an action does, what a state looks like, and how it is scored; everything
else (snapshots, simulations, the oracle's door, step limit, info) is here, once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from typing import Any, ClassVar, Generic, NamedTuple, Self, SupportsFloat, TypeVar

import gymnasium as gym
import numpy as np

from iad_envs.errors import UnknownTask
from iad_envs.frozen import FrozenDict
from iad_envs.guard import closed, driving, guarded, refuse_if_guarded
from iad_envs.tasks import PublicTasks, TaskInfo, TaskRecord, split_of

ObsT = TypeVar("ObsT")
StateT = TypeVar("StateT")
ReturnT = TypeVar("ReturnT")
SOLUTION = "solution"
"""What the oracle calls the actions that solve a task."""
MAX_WHY = 300
"""Characters of what is said of a failure."""
AWAITING = "awaiting"
"""The `stop_reason` of a simulation that only the world can continue: with the user's next message, say."""
OVER = "the episode is over: call reset()"
"""Why an action after the end of an episode fails."""


class Transition(NamedTuple):
    """What an action does, without gold.

    Attributes:
        state: The state after it.
        complaint: Why the action was invalid, in words an agent can use; empty for a valid one.
        done: True when the action ends the episode.
        awaiting: True when only the world can say what comes next. A simulation stops there; `step` lets
            `IADEnv._committed` add the world's answer, and the episode goes on.
    """

    state: Any
    complaint: str
    done: bool
    awaiting: bool = False


class Effect(NamedTuple):
    """What an action did, as the environment knows it.

    Attributes:
        failure: What went wrong, in the environment's own words; "" if nothing did. The complaint about an invalid
            action counts without being named here.
        changed: Whether the world changed: files, a page, a reservation. What only the last answer shows is no change.
    """

    failure: str
    changed: bool


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
    """A moment of an episode, as the environment sees it: with the task's own record, which may have gold.

    Policies get a `Token` of it.
    """

    task: Any
    state: Any
    step: int
    complaint: str
    stop_reason: str
    terminated: bool
    parent: "Snapshot | None" = field(repr=False)
    rng_state: Any = field(default=None, repr=False)
    is_answered: bool = False
    action: str | None = field(default=None, repr=False)

    @property
    def done(self) -> bool:
        """Whether nothing can be simulated from here: the episode is over, or the world has to answer first."""
        return self.stop_reason != ""

    @property
    def is_awaiting(self) -> bool:
        """Whether the world has to answer first."""
        return self.stop_reason == AWAITING

    def back_to_start(self) -> "Iterator[Snapshot]":
        """Yield this moment and those before it, the first one last."""
        moment: Snapshot | None = self
        while moment is not None:
            yield moment
            moment = moment.parent


class Token:
    """A moment of an episode, as policies hold it. Opaque: pass it back to `simulate`, `restore` or `oracle`.

    Nothing that it shows tells more than the observation and info of the moment do. Two tokens of one moment are equal.

    Attributes:
        step: Actions that led there.
        terminated: Whether an action ended the episode.
        done: Whether nothing can be simulated from there: the episode is over, or the world has to answer first.
        is_awaiting: Whether the world has to answer first.
    """

    __slots__ = ("_moment",)

    def __init__(self, moment: Snapshot) -> None:
        self._moment = moment

    step = property(lambda self: self._moment.step)
    terminated = property(lambda self: self._moment.terminated)
    done = property(lambda self: self._moment.done)
    is_awaiting = property(lambda self: self._moment.is_awaiting)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token) and self._moment is other._moment

    def __hash__(self) -> int:
        return hash(self._moment)

    def __repr__(self) -> str:
        return f"Token(step={self.step}, done={self.done})"


class Outcome(NamedTuple):
    """What a simulated action leads to. The observation and info are the caller's own.

    Attributes:
        token: A token of the moment after it.
        observation: What would be seen; if the action ends the episode, without score or gold.
        info: As `step` gives it, without the gold keys.
        done: Whether the simulation ends here: the episode would be over, or `info["stop_reason"]` is `"awaiting"`.
        key: Canonical form of the result: equal keys mean that two actions come to the same.
        failure: What went wrong, in the environment's own words; "" if nothing did.
        changed: Whether the world changed. The end of the episode is a change, looking at something is none.
    """

    token: Token
    observation: Any
    info: dict[str, Any]
    done: bool
    key: str
    failure: str
    changed: bool


class OracleAnswer(dict[str, Any]):
    """Gold about a moment, by name. The `solution` is found when it is first read, as a `defaultdict` finds a value.

    Args:
        known: The rest of the gold.
        solve: Function that finds the solution.
    """

    def __init__(self, known: Mapping[str, Any], solve: Callable[[], list[str] | None]) -> None:
        super().__init__(known)
        self._solve = solve

    def __missing__(self, key: str) -> Any:
        if key != SOLUTION:
            raise KeyError(key)
        return self.setdefault(key, self._solve())

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy is plain and complete, as it has no environment.
        return dict, ({**self, SOLUTION: self[SOLUTION]},)

    def get(self, key: str, default: Any = None) -> Any:
        """Work as `dict.get`, for the solution too."""
        return self[key] if key in self or key == SOLUTION else default


class IADEnv(gym.Env[ObsT, str], Generic[ObsT, StateT], ABC):
    """Base of the `IAD/...` environments; see the module's text and contract 1 in docs/design.md.

    A subclass defines `_start`, `_transition`, `_view` and `_score`, and gives its tasks to `__init__`.
    Everything else has a default.

    Args:
        tasks: The environment's own records of its tasks by id, those of other splits included.
        max_steps: Committed actions after which the episode is truncated.
        split: The split that `reset` picks tasks from; None for all.
        render_mode: `"ansi"` or None. One that the environment lacks is warned about, and means None.

    Raises:
        UnknownTask: No task is in that split.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 (Gymnasium declares it so)
    GOLD_INFO: ClassVar[frozenset[str]] = frozenset({"progress", "success", "reward_parts"})
    STOCHASTIC: ClassVar[bool] = False
    """True if `_transition` draws from its `rng`; the real and the simulated outcome of an action then differ."""
    REPLAYED: ClassVar[bool] = False
    """True if states can't be pickled. An unpickled environment then does the episode's actions again."""
    domain: ClassVar[str] = ""
    """Where the policy side is, as "module:DOMAIN": its agent, verifier, prompts. Loaded when somebody asks."""
    GONE: ClassVar[Mapping[str, str]] = {}
    """Arguments of the last version that are gone -> what to use instead."""
    success_rule: str = ""
    """What counts as success where that is not a reward of 1, such as `layout >= 0.75`. Every table names it."""

    _made_with: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Keep the arguments, with which copies are made.

        Raises:
            ValueError: One of them is gone.
        """
        for name in cls.GONE.keys() & options.keys():
            raise ValueError(f"expected no argument {name}, which is gone; {cls.GONE[name]}")
        made = super().__new__(cls)
        made._made_with = arguments, options
        return made

    def __init__(
        self,
        tasks: Mapping[str, TaskRecord],
        *,
        max_steps: int,
        split: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        if not isinstance(max_steps, int) or max_steps < 1:
            raise ValueError(f"expected max_steps of 1 or more, a whole number, got {max_steps!r:.100}")
        self.max_steps = max_steps
        self.split = split
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            # Some libraries pass the same mode to whatever they make, as Stable-Baselines3 does with `rgb_array`.
            expected = f"expected a render_mode of {', '.join(modes)}, or None"
            gym.logger.warn("%s, got %r; taken as None: render() returns nothing", expected, render_mode)
            render_mode = None
        self.render_mode = render_mode
        self._tasks: Mapping[str, Any] = tasks
        splits = {} if split is None else {task_id: split_of(record) for task_id, record in tasks.items()}
        known = dict.fromkeys(filter(None, splits.values()))
        if known and split not in known:
            raise UnknownTask("split", split, [*known, None])
        # A record without a split is in every split.
        self._task_ids = [task_id for task_id in tasks if splits.get(task_id, "") in ("", split)]
        self._closings: list[None] = []
        self._now: Snapshot | None = None
        self._simulations: dict[tuple[Snapshot, Any, int], Outcome] = {}
        self._scores: dict[Snapshot, Score] = {}
        self._solutions: dict[str, Sequence[str] | None] = {}

    # What an environment defines.

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

    # What an environment may define.

    def _solution(self, task: Any) -> Sequence[str] | None:
        """Return the actions that solve a task from its start, for the oracle, or None if none are known.

        They are found from the gold. Called when they are first read in an episode, and only then.
        """
        return None

    def _reference(self, task: Any) -> Any:
        """Return the gold of a task in the form of its data, for the oracle. By default the solution."""
        return self._solved(task)

    def _why(self, now: Snapshot, score: Score) -> str:
        """Return what is not right in a state that is no success. By default the reward's parts that are below 1."""
        return ", ".join(f"{name} {value:.2f}" for name, value in score.parts.items() if value < 1.0)

    def action_key(self, action: str) -> str:
        """Return the canonical form of an action: equal keys mean equal actions."""
        return action.strip()

    def terminal(self, action: str) -> bool:
        """Say, from the action alone, whether it may end the episode: a purchase, a submission.

        `Outcome.done` says whether it did. Any other action ends an episode only by the step limit.
        """
        return False

    def irreversible(self, action: str) -> bool:
        """Say, from the action alone, whether it can't be taken back while the episode goes on: a sent mail, say."""
        return False

    def _passed(self, state: StateT) -> StateT:
        """Return the state after an action that no environment takes, where time passes with every action."""
        return state

    def _reveal(self, view: View, score: Score) -> Any:
        """Return the real observation of a final state: where the published environment shows the score."""
        return view.observation

    def _committed(self, after: Snapshot) -> Snapshot:
        """Return the moment after a real action, with what no simulation may know: the answer of the world.

        After a transition that awaits this answer, `after.is_awaiting` is True here. Return
        `dataclasses.replace(after, state=...)`: the episode then goes on from that state.
        """
        return after

    def _result_key(self, state: StateT, view: View) -> Hashable:
        """Return what makes two results the same."""
        return str(view.observation)

    def _effect(self, before: StateT, after: StateT) -> Effect:
        """Return what the action between two states did. By default it changed the world if its result is another."""
        keys = [self._result_key(state, self._view(state, "")) for state in (before, after)]
        return Effect("", keys[0] != keys[1])

    def _bound_by(self) -> str:
        """Return what of an episode that has begun exists in this process only; "" if it can be pickled."""
        return ""

    def _resume(self, original: Self | None) -> None:
        """Prepare a copy that has just got its moment to go on. `original` is None if it was unpickled."""

    # What everyone uses.

    @property
    def tasks(self) -> Mapping[str, TaskInfo]:
        """Instruction, split and difficulty of every task that `reset` takes, by id, those of other splits included."""
        return PublicTasks(self._tasks, self.split or "")

    @property
    def task_ids(self) -> Sequence[str]:
        """The ids of the split's tasks, in order: what `reset` picks from."""
        return self._task_ids

    def subject_of(self, task_id: str) -> str:
        """Return what a task is about besides its wording, such as its database; "" if nothing is shared with others.

        Who has learned from a task knows something of every task with the same subject. Agents are not told it.
        """
        return ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[ObsT, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Picks the task, and seeds the environment's randomness.
            options: `{"task_id": ...}` picks the task directly.

        Raises:
            UnknownTask: No such task, or an option that is none.
        """
        refuse_if_guarded("reset()", self._closings)
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
        self._solutions.clear()
        return self._arrive(Snapshot(task, self._start(task), 0, "", "", False, None))

    def step(self, action: str) -> tuple[ObsT, SupportsFloat, bool, bool, dict[str, Any]]:
        """Commit an action.

        After the end of an episode every action is refused: the reward is 0 and the observation says so.
        """
        refuse_if_guarded("step()", self._closings)
        now = self._required()
        if now.done:
            observation, info = self._arrive(replace(now, complaint=OVER))
            return observation, 0.0, now.terminated, not now.terminated, info
        rng = self.np_random if self.STOCHASTIC else None
        known = self._simulations.get((now, _memo_key(action), 0)) if rng is None else None
        after = self._answered(self._move(now, action, rng) if known is None else known.token._moment)
        observation, info = self._arrive(after)
        return observation, self._scored(after).reward, after.terminated, after.done and not after.terminated, info

    def render(self) -> Any:
        """Return the current observation as text in the mode `"ansi"`; an environment may add modes."""
        if self.render_mode is None:
            return None
        now = self._required()
        return f"Task: {now.task.instruction}\n\n{self._view(now.state, now.complaint).observation}"

    # What a policy uses.

    @property
    def is_answered(self) -> bool:
        """Whether the world has answered the last action, so that what is seen now was in no simulation."""
        return self._now is not None and self._now.is_answered

    def guard(self) -> AbstractContextManager[None]:
        """Return a context in which this thread can simulate, but not step, move or ask for gold.

        An agent or a verifier is called in it.
        """
        return guarded()

    def deciding(self) -> AbstractContextManager[None]:
        """Return a context in which no thread at all can step, move or ask for gold, as a policy decides."""
        return closed(self._closings)

    def driving(self) -> AbstractContextManager[None]:
        """Return a context in which this thread may ask for gold though a policy decides. It doesn't undo a guard."""
        return driving()

    def snapshot(self) -> Token:
        """Return a token of this moment, randomness included."""
        now = self._required()
        return Token(replace(now, rng_state=self.np_random.bit_generator.state) if self.STOCHASTIC else now)

    def simulate(self, token: Token, action: str, draw: int = 0) -> Outcome:
        """Return what an action would lead to; the environment does not move.

        Pure and memoised, so that candidates can be tried side by side. Randomness comes from a stream named by the
        token's step, the action and `draw`, never from the environment's own.
        """
        before = token._moment
        memo = (before, _memo_key(action), draw)
        outcome = self._simulations.get(memo)
        if outcome is None:
            if before.done:
                after, failure, changed = before, OVER, False
            else:
                rng = None
                if self.STOCHASTIC:
                    seed = blake2b(repr((draw, before.step, action)).encode(), digest_size=16).digest()
                    rng = np.random.default_rng(int.from_bytes(seed))
                after = self._move(before, action, rng)
                failure, changed = self._effect(before.state, after.state)
                failure, changed = after.complaint or failure, changed or after.terminated
            view = self._view(after.state, after.complaint)
            info, key = self._public(after, view), str(self._result_key(after.state, view))
            outcome = Outcome(Token(after), view.observation, info, after.done, key, failure, changed)
            if len(self._simulations) >= 2048:
                self._simulations.clear()
            outcome = self._simulations.setdefault(memo, outcome)  # of two threads, one outcome is everybody's
        # Whoever changes what they get changes nothing of the memo, which others are answered from, and the next step.
        return outcome._replace(observation=_own(outcome.observation), info=_own(outcome.info))

    def restore(self, token: Token) -> tuple[ObsT, dict[str, Any]]:
        """Move to the moment of a token; returns the observation and info as they were.

        Raises:
            ValueError: It is a simulated moment that awaits the world's answer.
        """
        refuse_if_guarded("restore()", self._closings)
        if token.is_awaiting:
            raise ValueError(
                "expected a moment from which the episode can go on, got a simulated one that awaits the world's "
                "answer; restore the moment before it and step"
            )
        if token._moment.rng_state is not None:
            self.np_random.bit_generator.state = token._moment.rng_state
        return self._arrive(token._moment)

    def why_failed(self) -> str:
        """Return in a line why the episode, as it stands, is no success; "" if it is one. This is gold, for readers."""
        refuse_if_guarded("why_failed()", self._closings)
        now = self._required()
        score = self._scored(now)
        if score.success:
            return ""
        ended = f"not finished within {self.max_steps} actions" if now.stop_reason == "max_steps" else ""
        said = [ended, " ".join(self._why(now, score).split())[:MAX_WHY]]
        return "; ".join(filter(None, said)) or ("ended without success" if now.stop_reason else "not finished")

    def oracle(self, token: Token) -> dict[str, Any]:
        """Return gold about a moment, simulated ones included: `reward progress success reward_parts reference`.

        The key `solution` has the actions that solve the task from its start, whatever the moment is, or None. To find
        them may take a search, so that is done when it is first read; only then it is among the keys.
        """
        refuse_if_guarded("oracle()", self._closings)
        score, task = self._scored(token._moment), token._moment.task
        known = {
            "reward": score.reward,
            "progress": score.progress,
            "success": score.success,
            "reward_parts": dict(score.parts),
            "reference": self._reference(task),
        }
        return OracleAnswer(known, partial(self._solved, task))

    # Copies.

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return an environment with equal arguments at the same moment, randomness included.

        Moments are shared, as they never change. So this environment's tokens are valid in the copy, too.
        """
        arguments, options = deepcopy(self._made_with, memo)
        copied = memo[id(self)] = type(self)(*arguments, **options)
        vars(copied).update(deepcopy(self._kept(), memo))
        copied._now = self._now
        copied._resume(self)
        return copied

    def __reduce__(self) -> Any:
        """Pickle the arguments and the moment. What is loaded from files is loaded again where it is unpickled.

        Raises:
            TypeError: The episode has begun, and depends on what exists in this process only.
        """
        now = self._now
        if now is not None and now.step and (bound_by := self._bound_by()):
            raise TypeError(
                f"expected an episode that can be pickled, got one of {type(self).__name__} that depends on "
                f"{bound_by}; pickle the environment before the first step, or copy it here: copy.deepcopy(env)"
            )
        packed: dict[str, Any] | None = None
        if now is not None:
            # A list from the first moment on: a chain would be too deep to pickle.
            moments = [
                replace(one, task=None, state=None if self.REPLAYED else one.state, parent=None)
                for one in now.back_to_start()
            ][::-1]
            task, shown = now.task, self._digest(now)
            packed = {"task_id": task.task_id, "instruction": task.instruction, "moments": moments, "shown": shown}
        arguments, options = self._made_with
        return partial(type(self), *arguments, **options), (), {**self._kept(), "_now": packed}

    def __setstate__(self, kept: dict[str, Any]) -> None:
        """Move an environment that has just been made to the pickled moment.

        Raises:
            UnknownTask: The data here don't have the task.
            ValueError: The task or its episode is another one with the data here.
        """
        packed = kept.pop("_now")
        vars(self).update(kept)
        if packed is None:
            return
        task = self._task(packed["task_id"])
        now: Snapshot | None = None
        given = "" if task.instruction == packed["instruction"] else f"the instruction {task.instruction!r:.200}"
        if not given:
            for moment in packed["moments"]:
                if not self.REPLAYED:
                    state = moment.state
                elif now is None:
                    state = self._start(task)
                else:  # the action is done again
                    state = self._answered(self._move(now, moment.action, None)).state
                now = replace(moment, task=task, state=state, parent=now)
            assert now is not None
            if self.REPLAYED and self._digest(now) != packed["shown"]:
                given = "another state after the same actions"
        if given:
            raise ValueError(
                f"expected the data and the version with which task {task.task_id!r} was pickled, got {given}; give "
                "the same data_dir or IAD_DATA in both processes"
            )
        self._now = now
        self._resume(None)

    def _kept(self) -> dict[str, Any]:
        """Return the attributes that a copy takes over, besides the moment."""
        # The action space has a random stream of its own.
        names = ("spec", "action_space", "_np_random", "_np_random_seed", "_closings")
        return {name: value for name, value in vars(self).items() if name in names}

    def _digest(self, now: Snapshot) -> str:
        """Return a hash of what is seen at a moment, where its state is not pickled."""
        if not self.REPLAYED:
            return ""
        view = self._view(now.state, now.complaint)
        seen = (view.observation, str(self._result_key(now.state, view)))
        return blake2b(repr(seen).encode(errors="surrogatepass"), digest_size=16).hexdigest()

    # How it works.

    def _required(self) -> Snapshot:
        if self._now is None:
            raise gym.error.ResetNeeded("expected reset() before anything else, got no episode yet; call env.reset()")
        return self._now

    def _task(self, task_id: str) -> Any:
        """Return a task's record; the task need not be in the split."""
        try:
            return self._tasks[task_id]
        except (KeyError, TypeError):
            raise UnknownTask("task_id", task_id, self._tasks) from None

    def _answered(self, moved: Snapshot) -> Snapshot:
        """Return the moment after a real action, which never awaits: the world has answered."""
        after = self._committed(moved)
        if not moved.is_awaiting:
            return after
        return replace(after, stop_reason="" if after.is_awaiting else after.stop_reason, is_answered=True)

    def _solved(self, task: Any) -> list[str] | None:
        if task.task_id not in self._solutions:
            self._solutions[task.task_id] = self._solution(task)
        solution = self._solutions[task.task_id]
        return None if solution is None else list(solution)

    def _move(self, before: Snapshot, action: Any, rng: np.random.Generator | None) -> Snapshot:
        complaint = unusable(action)
        if complaint:
            state, terminated, awaiting = self._passed(before.state), False, False
        else:
            after = _returned(Transition, self._transition(before.state, action, rng), self, "_transition")
            state, complaint, terminated, awaiting = after
        step = before.step + 1
        is_last = step >= self.max_steps
        stop_reason = "done" if terminated else "max_steps" if is_last else AWAITING if awaiting else ""
        said = action if isinstance(action, str) else None
        return Snapshot(before.task, state, step, complaint, stop_reason, terminated, before, action=said)

    def _scored(self, now: Snapshot) -> Score:
        unscored: list[Snapshot] = []
        score: Score | None = None
        for moment in now.back_to_start():  # a copy has scored nothing
            if (score := self._scores.get(moment)) is not None:
                break
            unscored.append(moment)
        for one in reversed(unscored):
            # A simulation that awaits the world is in the middle of the episode, and is scored so.
            scored = replace(one, stop_reason="") if one.is_awaiting else one
            given = self._score(one.task, scored, None if score is None else score.memory)
            score = self._scores[one] = _returned(Score, given, self, "_score")
            if score.progress < 0 or score.progress > 1:  # NaN: it has no gold
                raise ValueError(
                    f"expected a progress from 0 to 1 of {type(self).__name__}._score, got {score.progress!r:.50}"
                )
        assert score is not None
        return score

    def _arrive(self, now: Snapshot) -> tuple[ObsT, dict[str, Any]]:
        self._now = now
        view = _returned(View, self._view(now.state, now.complaint), self, "_view")
        score = self._scored(now)
        info = self._public(now, view)
        info["progress"] = score.progress
        info["success"] = score.success
        info["reward_parts"] = dict(score.parts)
        return (self._reveal(view, score) if now.terminated else view.observation), info

    def _public(self, now: Snapshot, view: View) -> dict[str, Any]:
        return {
            "task_id": now.task.task_id,
            "instruction": now.task.instruction,
            "available_actions": _own(view.available_actions),
            "invalid_action": now.complaint != "",
            "step": now.step,
            "stop_reason": now.stop_reason,
            "facts": _own(view.facts),
            "page": _own(view.page),
        }


def _returned(kind: type[ReturnT], value: Any, env: object, hook: str) -> ReturnT:
    """Return what an environment's hook gave, which has to be of a kind."""
    if not isinstance(value, kind):
        raise TypeError(f"expected a {kind.__name__} of {type(env).__name__}.{hook}, got {value!r:.100}")
    return value


_SHARED = frozenset({str, int, float, bool, type(None), bytes, FrozenDict})
"""Types of values that nobody can change."""


def _own(value: Any) -> Any:
    """Return a value with dicts, lists and arrays of its own, at any depth. What can't be changed is shared."""
    kind = type(value)
    if kind in _SHARED:
        return value
    if isinstance(value, dict):
        return {key: part if type(part) in _SHARED else _own(part) for key, part in value.items()}
    if isinstance(value, list):
        return [part if type(part) in _SHARED else _own(part) for part in value]
    if isinstance(value, tuple):
        return tuple.__new__(kind, [part if type(part) in _SHARED else _own(part) for part in value])
    if isinstance(value, np.ndarray) and value.flags.writeable:
        return value.copy()
    return value


def unusable(action: Any) -> str:
    """Return the reason why no environment takes an action, or ""."""
    if not isinstance(action, str):
        return f"expected an action that is a text, got {type(action).__name__}"
    if "\x00" in action:
        return "expected an action without NUL characters, got one that has some; write it without them"
    return ""


def _memo_key(action: Any) -> Hashable:
    return action if isinstance(action, str) else (type(action).__name__,)  # all that its complaint depends on
