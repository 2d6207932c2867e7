"""Runs strategies on tasks, interleaved by task so that partial results are paired, and keeps everything on disk."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from random import Random
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym

from iad_policy.adapters import described
from iad_policy.budget import Budget, Meter
from iad_policy.cast import Cast
from iad_policy.defaults import env_id
from iad_policy.digest import digest, seed_of
from iad_policy.errors import BudgetExhausted, IADError, Interrupted, StorageError
from iad_policy.evaluation.casting import identity_of
from iad_policy.evaluation.config import Arm, RunConfig
from iad_policy.evaluation.course import Course
from iad_policy.evaluation.crew import Crew
from iad_policy.evaluation.episodes import EpisodeRecord
from iad_policy.evaluation.folder import RunFolder
from iad_policy.evaluation.results import Heading
from iad_policy.log import EpisodeLog
from iad_policy.names import signed
from iad_policy.verifiers import NO_VERIFIER
from iad_policy.wrapper import IADPolicyWrapper

HOPELESS = ("auth", "not_found", "contract")
"""Kinds of errors that every further episode would meet."""
HOPELESS_AT_FIRST = (*HOPELESS, "other", "malformed")
"""Kinds that every further call will meet where not even the first one was answered: no such model, no key."""

MakeEnv: TypeAlias = Callable[[], gym.Env[Any, Any]]
LoadCast: TypeAlias = Callable[[RunConfig, gym.Env[Any, Any], str], Cast]


class RunStopped(IADError):
    """The run can't go on, but what was done is kept and the same command goes on later.

    Attributes:
        is_failure: False when it was the run's budget.
    """

    def __init__(self, message: str, *, is_failure: bool) -> None:
        super().__init__(message)
        self.is_failure = is_failure


class Job(NamedTuple):
    """One episode to be run."""

    arm: Arm
    task: str
    seed: int
    key: str


class Seat:
    """A worker's own environment, and who answers there.

    Args:
        config: What is run.
        make_env: Makes the environment.
        load_cast: Makes agent, verifier and roles for it.
    """

    def __init__(self, config: RunConfig, make_env: MakeEnv, load_cast: LoadCast) -> None:
        self.env = make_env()
        self._config = config
        self._load_cast = load_cast
        self._casts: dict[str, Cast] = {}

    def cast(self, agent: str) -> Cast:
        """Return who answers when this agent proposes."""
        if agent not in self._casts:
            self._casts[agent] = self._load_cast(self._config, self.env, agent)
        return self._casts[agent]


class Runner:
    """Runs a comparison in one environment.

    Args:
        config: What to run.
        make_env: Makes an environment; every worker has one of its own.
        load_cast: Given the configuration, an environment and an agent's name, makes who answers there.

    Raises:
        UnknownName: No such agent or verifier.
    """

    def __init__(self, config: RunConfig, make_env: MakeEnv, load_cast: LoadCast) -> None:
        self._config = config
        self._make_env = make_env
        self._load_cast = load_cast
        self._front = Seat(config, make_env, load_cast)  # tells what there is; nothing is run in it
        self._id = env_id(self._front.env)
        self._inner: Any = self._front.env.unwrapped
        self._environment = signed(self._id, self._inner)
        self._signatures = {name: identity_of(config.strategy(name), name) for name in config.strategies}
        self._names = {agent: _names(self._front.cast(agent), config, agent) for agent in config.agents}
        self._budget = Budget(config.budget)
        self._meter = Meter(self._budget.of("run"))
        self.tasks = _tasks(self._front.env, config)

    @property
    def information(self) -> str:
        """The verifier's label; "" without a verifier."""
        return self._names[self._config.agents[0]]["information"]

    @property
    def heading(self) -> Heading:
        """What stands above the table."""
        return Heading(self._config, self.information, len(self.tasks), self.data, self.instruments)

    @property
    def instruments(self) -> tuple[str, ...]:
        """The agents that know gold."""
        return tuple(agent for agent, names in self._names.items() if "agent_information" in names)

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
            **described(self._front.env),
            "identity": {**self._names, **self._signatures, self._id: self._environment},
            "iad_version": version("iad"),
        }

    def jobs(self) -> Iterator[Job]:
        """Yield every episode of the run, task by task."""
        for task in self.tasks:
            for seed in self._config.seeds:
                for arm in self._config.arms:
                    yield Job(arm, task, seed, self.key(arm, task, seed))

    def episodes(self, folder: RunFolder) -> Iterator[EpisodeRecord]:
        """Yield every episode: first those that are kept already, task by task, then the others as they end.

        Raises:
            RunStopped: The run's budget is spent, or the model can't be asked at all.
            KeyboardInterrupt: After Ctrl-C or `stop()`, when the calls under way were answered and kept.
        """
        self._charge_what_is_kept(folder)
        missing = []
        for job in self.jobs():
            kept = folder.episodes.get(job.key)
            if kept is None or kept.is_unfinished:
                missing.append(job)
            else:
                yield kept

        def serve(jobs: Iterator[Job]) -> Iterator[EpisodeRecord]:
            return self._serve(jobs, folder)

        yield from Crew(self._config.workers, serve, self._meter.stopped).work(missing)
        if self._meter.stopped.is_set():
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Ask nothing more: workers end when the calls under way were answered and kept. Safe in a signal handler."""
        self._meter.stopped.set()

    def key(self, arm: Arm, task: str, seed: int) -> str:
        """Return the hash of everything that can change an episode's answers."""
        config = self._config
        return digest(
            (self._environment, config.env_args, config.split, self.data.get("digest")),
            (task, seed),
            self._names[arm.agent],
            (self._signatures[arm.strategy], config.options(arm.strategy, arm.n), config.episode_budget),
        )

    def close(self) -> None:
        """Close the environment; the folder is the caller's."""
        self._front.env.close()

    def _serve(self, jobs: Iterator[Job], folder: RunFolder) -> Iterator[EpisodeRecord]:
        """Run jobs in an environment of its own: what one worker does."""
        seat = Seat(self._config, self._make_env, self._load_cast)
        try:
            for job in jobs:
                self._meter.refuse_if_stopped()
                self._refuse_if_spent()
                # What the run's budget cut has the cuts in its log: with more budget it is decided anew.
                kept, log = folder.episodes.get(job.key), folder.log.episode(job.key)
                if kept is not None and not kept.error_kind:
                    log.drop()
                record = self._run(job, seat, log)
                folder.add(record)
                yield record
                if record.cut.startswith("run."):
                    raise _spent(record.cut)
                is_first = not self._meter.total.completion_tokens and record.n_steps == 0
                if record.error_kind in (HOPELESS_AT_FIRST if is_first else HOPELESS):
                    raise RunStopped(" ".join(record.error.split()), is_failure=True)
        except Interrupted:
            pass
        finally:
            seat.env.close()

    def _run(self, job: Job, seat: Seat, log: EpisodeLog) -> EpisodeRecord:
        config, arm, cast = self._config, job.arm, seat.cast(job.arm.agent)
        policy = IADPolicyWrapper(
            cast.agent,
            seat.env,
            strategy=config.own.get(arm.strategy, arm.strategy),
            verifier=cast.verifier or NO_VERIFIER,
            roles=cast.roles,
            simulator=cast.simulator or config.simulator,
            budget=self._budget,
            seed=job.seed,
            threads=config.threads,
            log=lambda task: log,
            run_meter=self._meter,
            **config.options(arm.strategy, arm.n),
        )
        start = perf_counter()
        with policy:
            course = Course(seat.env, policy, job.task)
            try:
                course.run(seed_of(job.seed, job.task) % 2**31)
            except BudgetExhausted as spent:
                course.stop("budget", cut=spent.axis)
            except (Interrupted, StorageError):
                raise
            except Exception as error:
                self._meter.refuse_if_stopped()  # what failed while the run was coming to an end proves nothing
                course.stop("error", error=error)
            difficulty = getattr(self._inner, "difficulty", None)
            return EpisodeRecord(
                key=job.key,
                env=self._id,
                task_id=job.task,
                strategy=arm.strategy,
                seed=job.seed,
                agent=arm.agent,
                verifier=config.verifier,
                n=arm.n,
                difficulty=difficulty(job.task) if callable(difficulty) else "",
                information=self.information,
                wall_s=perf_counter() - start,
                **course.facts(),
            )

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
            raise _spent(spent.axis) from None


def _spent(limit: str) -> RunStopped:
    return RunStopped(f"the budget {limit} is spent; raise it and give the same command to go on", is_failure=False)


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
        places = sorted(Random(seed_of("subset", config.seeds[0])).sample(places, n_drawn))
    return [known[place] for place in places[: config.tasks]]


def _names(cast: Cast, config: RunConfig, agent: str) -> Mapping[str, str]:
    """Return what names the behaviour of those who answer."""
    verifier = config.verifier
    return {
        "agent": identity_of(cast.agent, agent),
        "verifier": identity_of(cast.verifier, verifier),
        "roles": identity_of(cast.roles, cast.roles.source),
        "simulator": identity_of(cast.simulator, config.simulator),
        "information": "" if cast.verifier is None else cast.verifier.information,
        **({"agent_information": cast.agent_information} if cast.agent_information else {}),
    }
