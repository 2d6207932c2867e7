"""Runs strategies on tasks, interleaved by task so that partial results are paired, and keeps everything on disk."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from random import Random
from time import perf_counter
from typing import Any

import gymnasium as gym

from iad_policy.answering import Cast
from iad_policy.budget import Budget, Meter
from iad_policy.defaults import env_id
from iad_policy.digest import digest, encode, seed_of
from iad_policy.errors import BudgetExhausted, IADError
from iad_policy.evaluation.config import RunConfig
from iad_policy.evaluation.episodes import EpisodeRecord, number
from iad_policy.evaluation.folder import RunFolder
from iad_policy.log import EpisodeLog
from iad_policy.names import signed
from iad_policy.strategies import find_strategy
from iad_policy.types import Decision
from iad_policy.verifiers import NO_VERIFIER
from iad_policy.wrapper import IADPolicyWrapper

HOPELESS = ("auth", "not_found", "contract")
"""Kinds of errors that every further episode would meet."""
HOPELESS_AT_FIRST = (*HOPELESS, "other", "malformed")
"""Kinds that every further call will meet where not even the first one was answered: no such model, no key."""


class RunStopped(IADError):
    """The run can't go on, but what was done is kept and the same command goes on later.

    Attributes:
        is_failure: False when it was the run's budget.
    """

    def __init__(self, message: str, *, is_failure: bool) -> None:
        super().__init__(message)
        self.is_failure = is_failure


class Runner:
    """Runs a comparison in one environment.

    Args:
        config: What to run.
        env: The environment; it is reset for every episode.
        cast: Who answers.
    """

    def __init__(
        self,
        config: RunConfig,
        env: gym.Env[Any, Any],
        cast: Cast,
    ) -> None:
        self._config = config
        self._env = env
        self._inner: Any = env.unwrapped
        self._cast = cast
        self._names = {
            "agent": _identity(cast.agent, config.agent),
            "verifier": _identity(cast.verifier, config.verifier),
            "roles": _identity(cast.roles, cast.roles.source),
            "information": self.information,
        }
        self._budget = Budget(config.budget)
        self._meter = Meter(self._budget.of("run"))
        self._log: EpisodeLog | None = None
        self._policies = {strategy: self._policy(strategy) for strategy in config.strategies}
        self.tasks = _tasks(env, config)

    @property
    def information(self) -> str:
        """The verifier's label; "" without a verifier."""
        return "" if self._cast.verifier is None else self._cast.verifier.information

    @property
    def data(self) -> Mapping[str, str]:
        """The name and digest of the data; empty for an environment that has none."""
        data = getattr(self._inner, "data", None)
        return {} if data is None else {"name": data.name, "digest": data.digest}

    def config(self) -> dict[str, Any]:
        """Return what `config.json` holds: what was asked for, and which code, data, agent and verifier answer."""
        return {
            **self._config.as_json(),
            "data": self.data,
            "identity": self._names,
            "iad_version": version("iad"),
        }

    def episodes(self, folder: RunFolder) -> Iterator[EpisodeRecord]:
        """Yield every episode, task by task: those that are kept already as they are, the others as they end.

        Raises:
            RunStopped: The run's budget is spent, or the model can't be asked at all.
        """
        self._charge_what_is_kept(folder)
        for task in self.tasks:
            for strategy in self._config.strategies:
                key = self.key(strategy, task)
                kept = folder.episodes.get(key)
                if kept is not None and not kept.is_unfinished:
                    yield kept
                    continue
                self._refuse_if_spent()
                # What the run's budget cut has the cuts in its log: with more budget it is decided anew.
                self._log = folder.log.episode(key)
                if kept is not None and not kept.error_kind:
                    self._log.drop()
                record = self._run(strategy, task, self._log)
                folder.add(record)
                yield record
                is_first = not self._meter.total.completion_tokens and record.n_steps == 0
                if record.error_kind in (HOPELESS_AT_FIRST if is_first else HOPELESS):
                    raise RunStopped(" ".join(record.error.split()), is_failure=True)

    def key(self, strategy: str, task: str) -> str:
        """Return the hash of everything that can change an episode's answers."""
        config = self._config
        return digest(
            (signed(env_id(self._env), self._inner), config.env_args, config.split, self.data.get("digest")),
            (task, config.seed),
            self._names,
            (signed(strategy, find_strategy(strategy)), config.options(strategy), config.episode_budget),
        )

    def close(self) -> None:
        """Release threads; the environment and the folder are the caller's."""
        for policy in self._policies.values():
            policy.close()

    def _policy(self, strategy: str) -> IADPolicyWrapper:
        config = self._config
        return IADPolicyWrapper(
            self._cast.agent,
            self._env,
            strategy=strategy,
            verifier=self._cast.verifier or NO_VERIFIER,
            roles=self._cast.roles,
            budget=self._budget,
            seed=config.seed,
            threads=config.threads,
            log=self._episode_log,
            run_meter=self._meter,
            **config.options(strategy),
        )

    def _episode_log(self, task: str) -> EpisodeLog:
        assert self._log is not None
        return self._log

    def _charge_what_is_kept(self, folder: RunFolder) -> None:
        """Charge the run's budget with episodes that won't be replayed; a replay charges by itself."""
        for record in folder.episodes.values():
            if not record.error_kind:
                for role, usage in record.spent_by_role.items():
                    self._meter.charge(role, usage)

    def _refuse_if_spent(self) -> None:
        try:
            self._meter.refuse_if_spent("agent")
        except BudgetExhausted as spent:
            raise RunStopped(
                f"the budget {spent.axis} is spent; raise it and give the same command to go on", is_failure=False
            ) from None

    def _run(self, strategy: str, task: str, log: EpisodeLog) -> EpisodeRecord:
        course = Course(self._env, self._policies[strategy], task)
        start = perf_counter()
        try:
            course.run(seed_of(self._config.seed, task) % 2**31)
        except BudgetExhausted as spent:
            course.stop("budget", cut=spent.axis)
        except Exception as error:
            course.stop("error", error=error)
        difficulty = getattr(self._inner, "difficulty", None)
        return EpisodeRecord(
            key=log.key,
            env=env_id(self._env),
            task_id=task,
            strategy=strategy,
            seed=self._config.seed,
            difficulty=difficulty(task) if callable(difficulty) else "",
            information=self.information,
            n_replayed=log.n_replayed,
            wall_s=perf_counter() - start,
            **course.facts(),
        )


class Course:
    """One episode as it unfolds.

    Args:
        env: The environment.
        policy: Decides.
        task: The task's id, or its number where the environment has no ids.
    """

    def __init__(self, env: gym.Env[Any, Any], policy: IADPolicyWrapper, task: str) -> None:
        self._env = env
        self._policy = policy
        self._task = task
        self._info: dict[str, Any] = {}
        self._progress: list[float | None] = []
        self._reward = 0.0
        self._n_accepted = 0
        self._stop_reason = self._cut = self._error_kind = self._error = ""

    def run(self, seed: int) -> None:
        """Run to the end; on an exception `facts` tells what came before it."""
        policy = self._policy
        policy.reset()
        has_ids = hasattr(self._env.unwrapped, "task_ids")
        observation, info = self._env.reset(seed=seed, options={"task_id": self._task} if has_ids else None)
        self._arrived(info)
        while True:
            action = policy.act(observation, {"task_id": self._task, "step": len(self._progress) - 1} | self._info)
            observation, reward, terminated, truncated, info = self._env.step(action)
            done = terminated or truncated
            self._reward += float(reward)
            policy.observe(observation, info, reward=float(reward), done=done)
            self._n_accepted += not (info.get("invalid_action") or policy.decisions[-1].committed.error)
            self._arrived(info)
            if done:
                self._stop_reason = info.get("stop_reason") or ("terminated" if terminated else "truncated")
                return

    def stop(self, reason: str, *, cut: str = "", error: Exception | None = None) -> None:
        """Note that the episode ended before its end."""
        self._stop_reason, self._cut = reason, cut
        if error is not None:
            self._error_kind = getattr(error, "kind", "crash")
            self._error = f"{type(error).__name__}: {error!s:.1000}"

    def facts(self) -> dict[str, Any]:
        """Return the outcome's part of the record."""
        decisions = self._policy.decisions
        n_steps = max(0, len(self._progress) - 1)
        success = self._info.get("success")
        cuts = [self._cut, *(decision.cut for decision in decisions)]
        return {
            "success": None if success is None else float(success),
            "progress": self._progress[-1] if self._progress else None,
            "reward": self._reward,
            "n_steps": n_steps,
            "grounding": (1 + self._n_accepted) / (1 + n_steps),
            "stop_reason": self._stop_reason,
            "cut": next((cut for cut in cuts if cut.startswith("run.")), self._cut),
            "error_kind": self._error_kind,
            "error": self._error,
            "n_failed_verdicts": sum(map(_n_failed_verdicts, decisions)),
            "usage": {role: usage.as_dict() for role, usage in self._policy.spent.items()},
            "progress_by_step": tuple(self._progress),
            "actions": tuple(encode(decision.committed.action) for decision in decisions[:n_steps]),
        }

    def _arrived(self, info: dict[str, Any]) -> None:
        self._info = info
        self._progress.append(number(info.get("progress")))


def _tasks(env: gym.Env[Any, Any], config: RunConfig) -> Sequence[str]:
    """Return the first task ids of the split or its subset.

    For an environment without ids they are numbers, which become its seeds.

    Raises:
        ValueError: All tasks, or a share of them, of an environment without ids.
    """
    known = getattr(env.unwrapped, "task_ids", None)
    if known is None:
        if config.tasks is None or config.subset is not None:
            raise ValueError(f"expected a number of tasks for {config.env}, which has no list of them; pass --tasks")
        return list(map(str, range(config.tasks)))
    places: Sequence[int] = range(len(known))
    if config.subset is not None:
        n_drawn = max(1, round(config.subset * len(known)))
        places = sorted(Random(seed_of("subset", config.seed)).sample(places, n_drawn))
    return [known[place] for place in places[: config.tasks]]


def _identity(role: Any, name: str) -> str:
    """Return what names an agent's or verifier's behaviour: its own word for it, else how it was asked for."""
    return str(getattr(role, "identity", "")) or signed(name, role)


def _n_failed_verdicts(decision: Decision) -> int:
    verdicts = [candidate.verdict for candidate in decision.candidates if candidate.verdict is not None]
    return sum("error_kind" in verdict.details for verdict in verdicts)
