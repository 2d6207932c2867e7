"""Checks an environment: whether its tasks can be solved, can't be solved by tricks, and are what the contract says.

`iad validate ENV` prints the findings. They are what people ask of an environment before they trust a figure of it.
"""

import copy
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import zip_longest
from random import Random
from typing import Any, Literal, NamedTuple, cast

import gymnasium as gym

from iad_policy.types.hashing import digest
from iad_policy.types.names import PATTERN
from iad_policy.types.traces import place_of
from iad_policy.world import is_text

Choose = Callable[[Any, Mapping[str, Any], Random], Any]
"""From an observation, its info and a source of chance to an action. It raises StopIteration to end the episode."""
Trick = Callable[[gym.Env[Any, Any], Any, Mapping[str, Any], Random], Any]
Words = Callable[[Any, Mapping[str, Any]], str | None]
"""From an observation and its info to a text to say, or None where there is none."""
MOST_TRICKED = 0.05
"""Share of the tasks from which on a trick solves too many."""
ENDLESS = 1_000
"""Actions after which an episode without a limit of its own is called endless."""
NONSENSE = ("", "nonsense", "nonsense[nonsense]", "[" * 50, "\u202e\ud7ff", "x" * 10_000)


Status = Literal["ok", "failed", "open"]
Found = tuple[Status, str]


class Check(NamedTuple):
    """One finding.

    Attributes:
        name: What was checked, in words.
        status: `ok`, `failed`, or `open` where it can't be checked.
        said: What was found, in a line.
    """

    name: str
    status: Status
    said: str


class Played(NamedTuple):
    """An episode that was played to its end.

    Attributes:
        seen: What was observed, the reset first, each as a digest.
        texts: The same, as text.
        rewards: Of the steps.
        progress: After the reset and after each step; NaN where the environment doesn't say.
        success: Whether the task is solved: a success, or a reward of 1 where there is none.
        is_over: Whether it ended.
    """

    seen: tuple[str, ...]
    texts: tuple[str, ...]
    rewards: tuple[float, ...]
    progress: tuple[float, ...]
    success: bool
    is_over: bool


class Subject:
    """An environment with its tasks, their solutions, and the episodes in which these were played."""

    def __init__(self, env: gym.Env[Any, Any], n_tasks: int, seed: int) -> None:
        self.env, self.seed = env, seed
        self.tasks: list[Any] = list(getattr(env.unwrapped, "task_ids", range(n_tasks)))[:n_tasks]

    @cached_property
    def solutions(self) -> dict[Any, list[Any]]:
        """The solutions of the tasks that have one."""
        found = ((task, _solution(self.env, task, self.seed)) for task in self.tasks)
        return {task: actions for task, actions in found if actions is not None}

    @cached_property
    def solved(self) -> dict[Any, Played]:
        """Their episodes."""
        return {task: self.played(task, _following(actions)) for task, actions in self.solutions.items()}

    def played(self, task: Any, choose: Choose) -> Played:
        """Play an episode."""
        return _played(self.env, task, self.seed, choose)


def validate(env: gym.Env[Any, Any], *, n_tasks: int = 40, seed: int = 0) -> Iterator[Check]:
    """Yield the findings about an environment. It is played through, and left at the end of some episode.

    Args:
        env: The environment.
        n_tasks: Number of its tasks that are played, from the start of the split.
        seed: Seed of the episodes and of what is drawn.
    """
    subject = Subject(env, n_tasks, seed)
    for name, check in CHECKS.items():
        try:
            yield Check(name, *check(subject))
        except Exception as error:  # somebody's environment may raise anything
            yield Check(name, "failed", f"{type(error).__name__}: {error!s:.200}{place_of(error)}")


def _solution(env: gym.Env[Any, Any], task: Any, seed: int) -> list[Any] | None:
    _reset(env, task, seed)
    inner: Any = env.unwrapped
    if not hasattr(inner, "oracle"):
        return None
    found = inner.oracle(inner.snapshot())["solution"]
    return None if found is None else list(found)


def _reset(env: gym.Env[Any, Any], task: Any, seed: int) -> tuple[Any, dict[str, Any]]:
    if hasattr(env.unwrapped, "task_ids"):
        return env.reset(seed=seed, options={"task_id": task})
    return env.reset(seed=seed + int(task))


def _played(env: gym.Env[Any, Any], task: Any, seed: int, choose: Choose) -> Played:
    """Play an episode until it ends, or what chooses has nothing more to say."""
    rng = Random(f"{seed} {task}")
    observation, info = _reset(env, task, seed)
    seen, texts, progress = [digest(observation)], [_text(observation, info)], [_progress(info)]
    rewards: list[float] = []
    done = False
    while not done and len(rewards) < ENDLESS:
        try:
            action = choose(observation, info, rng)
        except StopIteration:
            break
        observation, reward, terminated, truncated, info = env.step(action)
        done = terminated or truncated
        seen.append(digest(observation))
        texts.append(_text(observation, info))
        rewards.append(float(reward))
        progress.append(_progress(info))
    success = info["success"] if info.get("success") is not None else bool(rewards) and rewards[-1] >= 1.0
    return Played(tuple(seen), tuple(texts), tuple(rewards), tuple(progress), bool(success), done)


def _following(actions: Sequence[Any]) -> Choose:
    left = iter(actions)
    return lambda observation, info, rng: next(left)


def _text(observation: Any, info: Mapping[str, Any]) -> str:
    """Return what an agent may read at a moment."""
    parts = observation.values() if isinstance(observation, Mapping) else [observation]
    public = [info.get("instruction", ""), info.get("page", ""), info.get("available_actions", "")]
    return " ".join(str(part) for part in [*(one for one in parts if isinstance(one, str)), *public])


def _progress(info: Mapping[str, Any]) -> float:
    value = info.get("progress")
    return math.nan if value is None else float(value)


def _some(tasks: Sequence[Any]) -> str:
    return ", ".join(map(str, tasks[:3])) + (f" and {len(tasks) - 3} more" if len(tasks) > 3 else "")


def _nonsense(subject: Subject) -> Found:
    if not is_text(subject.env.action_space):
        return "open", "actions are no texts"
    for said in NONSENSE:
        _reset(subject.env, subject.tasks[0], subject.seed)
        try:
            info = subject.env.step(said)[4]
        except Exception as error:  # which is the finding
            return "failed", f"{said[:20]!r} raised {type(error).__name__}: {error!s:.200}{place_of(error)}"
        if "invalid_action" not in info:
            return "failed", "info has no invalid_action, by which an agent's mistakes are counted"
    return "ok", f"{len(NONSENSE)} texts"


def _ending(subject: Subject) -> Found:
    env, is_textual = subject.env, is_text(subject.env.action_space)
    played = subject.played(subject.tasks[0], lambda _, info, rng: "nonsense" if is_textual else _drawn(env, info, rng))
    if played.is_over:
        return "ok", f"at action {len(played.rewards)}"
    return "failed", f"it went on after {ENDLESS} actions; truncate it at a limit (max_episode_steps)"


def _solvable(subject: Subject) -> Found:
    solved, tasks = subject.solved, subject.tasks
    failed = [task for task, one in solved.items() if not one.success]
    rest = f", {len(tasks) - len(solved)} without a solution" if len(solved) < len(tasks) else ""
    if not solved:
        return "open", "no task has a solution; give one (_solution), and mistakes of scoring are found"
    if failed:
        return "failed", f"{len(failed)} of {len(solved)} are not: {_some(failed)}{rest}"
    return "ok", f"{len(solved)} tasks{rest}"


def _repeatable(subject: Subject) -> Found:
    env, tasks = subject.env, subject.tasks[:5]
    for task in tasks:
        one, other = (
            subject.played(
                task,
                _following(subject.solutions[task])
                if task in subject.solutions
                else lambda _, info, rng: _drawn(env, info, rng),
            )
            for _ in range(2)
        )
        if (one.seen, one.rewards) != (other.seen, other.rewards):
            pairs = enumerate(zip_longest(one.seen, other.seen))
            step = next((place for place, (first, second) in pairs if first != second), len(one.seen) - 1)
            return "failed", f"task {task} differs after action {step}; draw from self.np_random only"
    return "ok", f"{len(tasks)} tasks, played twice"


def _simulated(subject: Subject) -> Found:
    """Simulate the actions of an episode before each is taken: it must happen so, and the rest of the episode too."""
    env, inner = subject.env, cast(Any, subject.env.unwrapped)
    if not hasattr(inner, "simulate"):
        return "open", "it has no simulation of its own; copies or replays stand in"
    is_random = bool(getattr(inner, "STOCHASTIC", True))
    tasks = subject.tasks[:5]
    for task in tasks:
        actions = subject.solutions.get(task, ())
        plain = subject.played(task, _following(actions))
        _, info = _reset(env, task, subject.seed)
        rng = Random(f"{subject.seed} {task}")
        for step, action in enumerate(actions, 1):
            now = inner.snapshot()
            before = digest(inner.restore(now)[0])
            for other in (*dict.fromkeys(actions[:5]), _drawn(env, info, rng)):
                inner.simulate(now, other)
            if digest(inner.restore(now)[0]) != before:
                return "failed", f"task {task}: simulations change what is seen before action {step}; make new states"
            ahead = inner.simulate(inner.snapshot(), action)
            observation, _, terminated, truncated, info = env.step(action)
            if digest(observation) != plain.seen[step]:
                return "failed", f"task {task}: action {step} leads elsewhere after simulations"
            is_free = is_random or getattr(inner, "is_answered", False) or info.get("stop_reason") == "awaiting"
            if not is_free and digest(ahead.observation) != digest(observation) and not terminated:
                return "failed", f"task {task}: action {step} was simulated otherwise than it happened"
            if terminated or truncated:
                break
    return "ok", f"{len(tasks)} tasks"


def _ended(subject: Subject) -> Found:
    env, inner = subject.env, cast(Any, subject.env.unwrapped)
    if not hasattr(inner, "terminal") or not subject.solutions:
        return "open", "no solutions, or it does not say which actions may end an episode (terminal)"
    for task, actions in subject.solutions.items():
        _reset(env, task, subject.seed)
        for action in actions:
            # At this moment, and by what is said; after some replies the world decides whether it goes on.
            ahead = inner.simulate(inner.snapshot(), action)
            may_end = inner.terminal(action) or ahead.info["stop_reason"] == "awaiting"
            if env.step(action)[2]:
                if not may_end:
                    return "failed", f"task {task}: {action!s:.80} did, and terminal() says that it never does"
                break
    return "ok", f"{len(subject.solutions)} tasks"


def _moving(subject: Subject) -> Found:
    known = [one for one in subject.solved.values() if not any(map(math.isnan, one.progress))]
    long = [one for one in known if len(one.rewards) > 1]
    if any(not 0.0 <= value <= 1.0 for one in known for value in one.progress):
        return "failed", "it leaves the range from 0 to 1"
    if not long:
        return "open", "no solution of several actions, or no progress"
    moved = [one for one in long if max(one.progress[:-1]) > one.progress[0]]
    if not moved:
        return "failed", f"in none of {len(long)} solutions; reports can't tell near misses from nothing"
    return "ok", f"in {len(moved)} of {len(long)} solutions"


def _visible(subject: Subject) -> Found:
    """Look for the words of each solution in what is seen before they are needed."""
    solutions, solved = subject.solutions, subject.solved
    if (
        not solutions
        or not is_text(subject.env.action_space)
        or not all(one.texts[0].strip() for one in solved.values())
    ):
        return "open", "no solutions, or nothing that is text"
    blind = []
    for task, actions in solutions.items():
        texts = zip(actions, solved[task].texts, strict=False)
        wanted = [(word, text.casefold()) for action, text in texts for word in _words(str(action))]
        if wanted and not any(word in text for word, text in wanted):
            blind.append(task)
    if 2 * len(blind) >= len(solutions):
        return "failed", f"nothing of the solution in {len(blind)} of {len(solutions)} tasks: {_some(blind)}"
    return "ok", f"in {len(solutions) - len(blind)} of {len(solutions)} tasks"


def _words(action: str) -> list[str]:
    """Return what an action says besides its name: `buy[red lamp]` says red and lamp."""
    inner = re.fullmatch(r"\w+\[(.*)\]", action, re.DOTALL)
    return [word.casefold() for word in re.findall(r"[\w.-]{2,}|\d", inner[1] if inner else action)]


def _tricked(trick: Trick, subject: Subject) -> Found:
    """Count the tasks that a trick solves. One whose right answer is what the trick does is not counted."""
    env = subject.env
    key = getattr(env.unwrapped, "action_key", str)
    n_tried, won = 0, []
    for task in subject.tasks:
        said: list[Any] = []
        played = subject.played(task, partial(_noted, env, trick, said))
        right = subject.solutions.get(task)
        if right is not None and len(right) <= 1 and (not right or key(said[0]) == key(right[0])):
            continue
        n_tried += 1
        if played.success:
            won.append(task)
    if not n_tried:
        return "open", "in every task it is the right answer"
    found = f"{len(won)} of {n_tried}"
    is_bad = len(won) >= max(2, MOST_TRICKED * n_tried)
    return ("failed", f"{found}: {_some(won)}") if is_bad else ("ok", found)


def _tricked_by(words: Words, subject: Subject) -> Found:
    if not is_text(subject.env.action_space):
        return "open", "not tried: actions are no texts"
    if words(*_reset(subject.env, subject.tasks[0], subject.seed)) is None:
        return "open", f"not tried: task {subject.tasks[0]} has no such text"
    return _tricked(lambda env, observation, info, rng: _filled(info, words(observation, info) or ""), subject)


def _noted(
    env: gym.Env[Any, Any], trick: Trick, said: list[Any], observation: Any, info: Mapping[str, Any], rng: Random
) -> Any:
    said.append(trick(env, observation, info, rng))
    return said[-1]


def _drawn(env: gym.Env[Any, Any], info: Mapping[str, Any], rng: Random) -> Any:
    """Return a random action: one that is available, its pattern filled with words of the task, or any."""
    available = list(info.get("available_actions") or ())
    if not available:
        space = copy.deepcopy(env.action_space)
        space.seed(rng.getrandbits(32))
        return space.sample()
    action = rng.choice(available)
    words = str(info.get("instruction", "")).split() or ["a"]
    filled = " ".join(rng.sample(words, min(len(words), 3)))
    return action.replace("...", filled) if isinstance(action, str) and action.endswith(PATTERN) else action


def _filled(info: Mapping[str, Any], text: str) -> str:
    """Return a text as an action: in the last pattern that is offered, else alone."""
    patterns = [one for one in info.get("available_actions") or () if str(one).endswith(PATTERN)]
    return str(patterns[-1]).replace("...", text) if patterns else text


TRICKS: Mapping[str, Callable[[Subject], Found]] = {
    "a random agent": partial(_tricked, lambda env, observation, info, rng: _drawn(env, info, rng)),
    "an agent that says nothing": partial(_tricked_by, lambda observation, info: ""),
    "one that repeats what it sees": partial(
        _tricked_by, lambda observation, info: _text(observation, {}).strip() or None
    ),
    "one that copies the task": partial(_tricked_by, lambda observation, info: info.get("instruction") or None),
}
"""What agents may try without doing the task."""
CHECKS: Mapping[str, Callable[[Subject], Found]] = {
    "nonsense is an invalid action, and no crash": _nonsense,
    "an episode without sense ends": _ending,
    "each task is solved by its solution": _solvable,
    "the same seed and actions give the same episode": _repeatable,
    "a simulated action is what the real one is, and changes nothing": _simulated,
    "only actions that are said to end an episode do": _ended,
    "progress moves before the end": _moving,
    "what a solution needs can be seen": _visible,
    **{f"{what} solves less than {MOST_TRICKED:.0%}": check for what, check in TRICKS.items()},
}
"""What is checked, in words -> the check."""
