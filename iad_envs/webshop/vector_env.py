"""Many sessions of the shop as one vector environment, in one process and without an environment for each."""

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from iad_envs.core import Snapshot
from iad_envs.errors import UnknownTask
from iad_envs.guard import refuse_if_guarded
from iad_envs.vector_info import InfoColumns, vector_columns, vector_info
from iad_envs.webshop.env import NO_PARTS, WebShopEnv
from iad_envs.webshop.shared_pages import SharedPage, SharedPages
from webshop_server.engine import ShopState
from webshop_server.progress import NO_PROGRESS, Progress, joined
from webshop_server.storefront import ShopTask

NO_TASK = ShopTask("", "", "", 0.0, "")
NO_PAGE = SharedPage("", None, (), "", (), (), (), (), None, {}, {})


@dataclass(slots=True)
class _Session:
    """A session between two steps.

    Attributes:
        rng, seed: Its random stream, and the seed of that.
        task: Its task, `NO_TASK` before the first reset.
        shown: The task's instruction as pages show it.
        state: Where it is in the shop.
        page: The page of this state.
        progress: Running progress.
        step, complaint, stop_reason: As in `info`.
    """

    rng: np.random.Generator | None = None
    seed: int | None = None
    task: ShopTask = NO_TASK
    shown: str = ""
    state: ShopState = field(default_factory=lambda: ShopState(""))
    page: SharedPage = NO_PAGE
    progress: Progress = NO_PROGRESS
    step: int = 0
    complaint: str = ""
    stop_reason: str = ""

    def seeded(self) -> np.random.Generator:
        """Return the session's random stream, which begins anywhere unless a reset has given a seed."""
        if self.rng is None:
            self.rng, self.seed = seeding.np_random()
        return self.rng


class _Seen(NamedTuple):
    """What some sessions see after a step or a reset: a list for each kind of thing, in the order of the sessions."""

    observations: list[str]
    rewards: list[float]
    terminated: list[bool]
    truncated: list[bool]
    tasks: list[ShopTask]
    pages: list[SharedPage]
    values: list[tuple[Any, ...]]
    chosen: list[tuple[tuple[str, str], ...]]
    complaints: list[str]
    steps: list[int]
    stop_reasons: list[str]
    progress: list[float]
    success: list[bool]
    parts: list[Mapping[str, float]]

    def some(self, rows: Sequence[int]) -> "_Seen":
        """Return what the sessions in some rows see."""
        columns: Sequence[Any] = self
        return _Seen(*([column[row] for row in rows] for column in columns))

    def put(self, rows: Sequence[int], other: "_Seen") -> None:
        """Put what other sessions see into some rows."""
        columns: Sequence[Any] = self
        others: Sequence[Any] = other
        for column, values in zip(columns, others, strict=True):
            for row, value in zip(rows, values, strict=True):
                column[row] = value


class WebShopVectorEnv(VectorEnv[tuple[str, ...], Iterable[str], NDArray[Any]]):
    """`IAD/WebShop-v0` for many sessions. It returns what `gymnasium.vector.SyncVectorEnv` returns, in less time.

    A session is a task, a state and a random stream. Pages are made once for all sessions that see them.

    Args:
        num_envs: Number of sessions.
        autoreset_mode: When a session that has ended is reset: `NextStep`, `SameStep` or `Disabled`.
        max_episode_steps: Steps after which a session is truncated, as by `gymnasium.wrappers.TimeLimit`.
        arguments: Arguments of `IAD/WebShop-v0`.

    Raises:
        ValueError: There is to be no session or no step, or an argument of the environment is wrong.
    """

    def __init__(
        self,
        num_envs: int,
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        if num_envs < 1:
            raise ValueError(f"expected num_envs of 1 or more, got {num_envs}")
        if max_episode_steps is not None and max_episode_steps < 1:
            raise ValueError(f"expected max_episode_steps of 1 or more, got {max_episode_steps}")
        self.num_envs = num_envs
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._time_limit = math.inf if max_episode_steps is None else max_episode_steps
        self._rules = WebShopEnv(**arguments)
        self._pages = SharedPages(self._rules)
        self._sessions = [_Session() for _ in range(num_envs)]
        self._ended = np.zeros(num_envs, dtype=np.bool_)
        self.metadata = {**self._rules.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self._rules.render_mode
        self.single_action_space = self._rules.action_space
        self.single_observation_space = self._rules.observation_space

    @cached_property
    def action_space(self) -> gym.Space[Any]:  # type: ignore[override]
        """The sessions' action spaces. Made on first access, because they are larger than the sessions."""
        return batch_space(self.single_action_space, self.num_envs)

    @cached_property
    def observation_space(self) -> gym.Space[Any]:  # type: ignore[override]
        """The sessions' observation spaces. Made on first access."""
        return batch_space(self.single_observation_space, self.num_envs)

    @property  # type: ignore[misc]  # a session's stream is set by its seed
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The sessions' random streams."""
        return tuple(session.seeded() for session in self._sessions)

    @property
    def np_random_seed(self) -> tuple[int | None, ...]:  # type: ignore[override]
        """The seeds of the sessions' random streams."""
        return tuple(session.seed for session in self._sessions if session.seeded())

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[tuple[str, ...], dict[str, Any]]:
        """Start an episode in every session.

        Args:
            seed: One seed, to which a session's number is added, or a list of seeds.
            options: `task_id` is a task for all sessions, or a list with one for each (None: the seed picks it).
                `reset_mask` is an array of booleans: only these sessions are reset, and infos have no others.

        Raises:
            UnknownTask: No such task, or an option that is none.
            ValueError: Seeds, tasks or mask are not as many as sessions, or the mask selects none.
        """
        refuse_if_guarded("reset()", self._rules._closings)
        options, known = options or {}, ("task_id", "reset_mask")
        for option in options:
            if option not in known:
                raise UnknownTask("reset option", option, known)
        places: Sequence[int] = range(self.num_envs)
        mask = options.get("reset_mask")
        if mask is not None:
            if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
                raise ValueError(
                    f"expected a reset_mask that is an array of {self.num_envs} booleans, got {mask!r:.200}; pass "
                    "terminated | truncated"
                )
            places = np.flatnonzero(mask).tolist()
            if not places:
                raise ValueError(
                    "expected a reset_mask that selects a session, got one that selects none; leave it out"
                )
        seeds = self._for_each("seeds", [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else seed)
        named = options.get("task_id")
        are_many = isinstance(named, list | tuple | np.ndarray)
        task_ids = self._for_each("task ids", named if are_many else [named] * self.num_envs)
        tasks = {place: self._rules._task(task_ids[place]) for place in places if task_ids[place] is not None}
        for place in places:
            self._begin(self._sessions[place], seed=seeds[place], task=tasks.get(place))
        self._ended[places] = False
        seen = self._look([self._sessions[place] for place in places])
        observations: Iterable[Any] = seen.observations
        if len(places) < self.num_envs:  # of the others the same again, None before their first reset
            observations = [
                None if session.task == NO_TASK else self._look([session]).observations[0] for session in self._sessions
            ]
        return tuple(observations), self._infos(seen, places)

    def step(
        self, actions: Iterable[str]
    ) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Commit an action in every session. A session that is reset in this step ignores its action.

        Raises:
            ResetNeeded: A session has not begun. Or one has ended, and `autoreset_mode` is `Disabled`.
            ValueError: There are not as many actions as sessions.
        """
        refuse_if_guarded("step()", self._rules._closings)
        if any(session.task == NO_TASK for session in self._sessions):
            raise gym.error.ResetNeeded("expected reset() before step(), got sessions without a task; reset them first")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._ended.any():
            raise gym.error.ResetNeeded(
                "expected sessions that go on, got some that have ended; reset those before the next step: "
                "reset(options={'reset_mask': terminated | truncated})"
            )
        act, max_steps, given = self._pages.act, self._rules.max_steps, self._for_each("actions", actions)
        for session, action, has_ended in zip(self._sessions, given, self._ended.tolist(), strict=True):
            if has_ended:  # in the step before
                self._begin(session)
                continue
            session.state, session.complaint = act(session.page, session.state, action)
            session.step += 1
            is_last = session.step >= max_steps
            session.stop_reason = "done" if session.state.kind == "done" else "max_steps" if is_last else ""
        seen = self._look(self._sessions)
        rewards, terminated, truncated = map(np.array, (seen.rewards, seen.terminated, seen.truncated))
        ended, final = terminated | truncated, dict[str, Any]()
        if self.autoreset_mode != AutoresetMode.SAME_STEP:
            self._ended = ended
        elif ended.any():
            places = np.flatnonzero(ended).tolist()
            last, sessions = seen.some(places), [self._sessions[place] for place in places]
            for session in sessions:
                self._begin(session)
            seen.put(places, self._look(sessions))
            infos = {"final_obs": last.observations, "final_info": self._infos(last, places)}
            final = InfoColumns(self, places).of(infos)
        infos = self._infos(seen, range(self.num_envs))
        infos = {**final, **infos} if ended[0] else {**infos, **final}
        return tuple(seen.observations), rewards, terminated, truncated, infos

    def render(self) -> tuple[Any, ...]:
        """Return the pages of all sessions as text in the mode `"ansi"`."""
        if self.render_mode is None:
            return (None,) * self.num_envs
        return tuple(self.single(place).render() for place in range(self.num_envs))

    def single(self, place: int) -> WebShopEnv:
        """Return a copy of a session as an environment, with which one can simulate, or go on.

        Args:
            place: Number of the session. It does not move, whatever is done with the environment.
        """
        session = self._sessions[place]
        env = copy.deepcopy(self._rules)
        env._np_random, env._np_random_seed = copy.deepcopy(session.rng), session.seed
        if session.task != NO_TASK:
            is_done = session.state.kind == "done"
            step, complaint, stop_reason = session.step, session.complaint, session.stop_reason
            env._now = now = Snapshot(session.task, session.state, step, complaint, stop_reason, is_done, None)
            env._scores[now] = env._score(session.task, now, session.progress)
        return env

    def close_extras(self, **kwargs: Any) -> None:
        """Close the connection to a hosted shop."""
        self._rules.close()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cached pages."""
        sessions = [replace(session, page=NO_PAGE) for session in self._sessions]
        return {**vars(self), "_sessions": sessions, "_pages": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._pages = SharedPages(self._rules)
        for session in self._sessions:
            session.page = self._pages.of(session.state)

    # How it works.

    def _for_each(self, what: str, given: Iterable[Any] | None) -> Sequence[Any]:
        values = [None] * self.num_envs if given is None else list(given)
        if len(values) != self.num_envs:
            raise ValueError(f"expected {self.num_envs} {what}, one for each session, got {len(values)}")
        return values

    def _begin(self, session: _Session, *, seed: int | None = None, task: ShopTask | None = None) -> None:
        if seed is not None:
            session.rng, session.seed = seeding.np_random(seed)
        if task is None:
            task_ids = self._rules.task_ids
            task = self._rules._task(task_ids[int(session.seeded().integers(len(task_ids)))])
        session.task = task
        session.shown = self._pages.shown(task.instruction)
        session.state = self._rules._start(task)
        session.progress = NO_PROGRESS
        session.step = 0
        session.complaint = session.stop_reason = ""

    def _look(self, sessions: Sequence[_Session]) -> _Seen:
        """Return what sessions see, and count what their pages are worth. Looking again changes nothing."""
        of, n, limit = self._pages.of, len(sessions), self._time_limit
        pages = [of(session.state) for session in sessions]
        seen = _Seen(
            observations=[
                page.before if page.after is None else f"{page.before}{session.shown}{page.after}"
                for session, page in zip(sessions, pages, strict=True)
            ],
            rewards=[0.0] * n,
            terminated=[session.stop_reason == "done" for session in sessions],
            truncated=[session.stop_reason == "max_steps" or session.step >= limit for session in sessions],
            tasks=[session.task for session in sessions],
            pages=pages,
            values=[page.values() for page in pages],
            chosen=[session.state.options for session in sessions],
            complaints=[session.complaint for session in sessions],
            steps=[session.step for session in sessions],
            stop_reasons=[session.stop_reason for session in sessions],
            progress=[math.nan] * n,
            success=[False] * n,
            parts=[NO_PARTS] * n,
        )
        for session, page, is_done in zip(sessions, pages, seen.terminated, strict=True):
            session.page = page
            if not is_done:
                before, task = session.progress, session.task
                worth = page.worth.get(task.task_id) or self._pages.worth(page, session.state, task)
                if worth.search > before.search or worth.item > before.item:
                    session.progress = joined(before, worth)
        for row, session in enumerate(sessions):
            if session.complaint:
                seen.observations[row] = self._rules._with_complaint(seen.observations[row], session.complaint)
            if session.stop_reason == "done":
                rules, state = self._rules, session.state
                found = rules.storefront.assess(session.task.task_id, state, session.progress, rules._progress)
                reward, _, seen.success[row], seen.parts[row], session.progress = rules._score_of(found)
                seen.rewards[row] = reward
                seen.observations[row] = rules._receipt(state, seen.observations[row], reward)
        if self._rules._progress != "off":
            seen.progress[:] = [session.progress.best for session in sessions]
        return seen

    def _infos(self, seen: _Seen, places: Sequence[int]) -> dict[str, Any]:
        """Return the infos of some sessions as one."""
        columns = InfoColumns(self, places)
        parts: dict[str, Any] = dict.fromkeys(NO_PARTS, np.zeros(len(seen.parts)))
        if any(seen.terminated):
            parts = {name: [of_session[name] for of_session in seen.parts] for name in NO_PARTS}
        return columns.of(
            {
                "task_id": [task.task_id for task in seen.tasks],
                "instruction": [task.instruction for task in seen.tasks],
                "available_actions": [page.actions for page in seen.pages],
                "invalid_action": [complaint != "" for complaint in seen.complaints],
                "step": seen.steps,
                "stop_reason": seen.stop_reasons,
                "facts": columns.of({"complaint": seen.complaints}),
                "page": self._pages_info(seen, places),
                "progress": seen.progress,
                "success": seen.success,
                "reward_parts": columns.of(parts),
            }
        )

    def _pages_info(self, seen: _Seen, places: Sequence[int]) -> dict[str, Any]:
        """Return the pages as data. Pages of one kind have the same keys."""
        kinds: dict[str, list[int]] = {}
        for row, page in enumerate(seen.pages):
            kinds.setdefault(page.kind, []).append(row)
        found: dict[str, tuple[list[int], list[Any]]] = {}
        for rows in kinds.values():
            where = [places[row] for row in rows]
            columns = zip(*[seen.values[row] for row in rows], strict=True)
            for key, column in zip(seen.pages[rows[0]].keys, columns, strict=True):
                have = found.setdefault(key, ([], []))
                have[0].extend(where)
                have[1].extend(column)
        info = vector_columns(self, found)
        if "item" in kinds:
            rows = kinds["item"]
            where = [places[row] for row in rows]
            pages = [seen.pages[row] for row in rows]
            options = [(page.options, [values.copy() for values in page.lists]) for page in pages]
            chosen = [dict(seen.chosen[row]) for row in rows]
            info["options"] = vector_info(self, options, where)
            info["selected"] = vector_info(self, [(one, one.values()) for one in chosen], where)
        return info
