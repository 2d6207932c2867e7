"""Runs single episodes: a worker has an environment and components, and returns the record of each episode."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from itertools import product
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym

from iad_policy.budget import Budget, Meter
from iad_policy.errors import BudgetExhausted, Interrupted, StorageError
from iad_policy.ledger.answer_log import FORMAT, EpisodeLog
from iad_policy.ledger.episode_record import Arm, EpisodeRecord
from iad_policy.models import release
from iad_policy.registry.domain import env_id
from iad_policy.registry.source import source_parts, with_source_digest
from iad_policy.roles import AssignedRoles
from iad_policy.run.components import asking, code_of, identity_of
from iad_policy.run.config import RunConfig
from iad_policy.run.episode_run import EpisodeRun
from iad_policy.run.trained import trained_here
from iad_policy.runtime.components import Components
from iad_policy.runtime.event_loop import EventLoop
from iad_policy.types.hashing import seed_of
from iad_policy.types.names import NO_VERIFIER
from iad_policy.types.secrets import learn, masked
from iad_policy.wrapper import IADPolicyWrapper

MakeEnv: TypeAlias = Callable[[], gym.Env[Any, Any]]
LoadComponents: TypeAlias = Callable[[RunConfig, gym.Env[Any, Any], str], Components]


class EpisodeJob(NamedTuple):
    """One episode to run."""

    arm: Arm
    task: str
    seed: int
    key: str


class WorkerSpec(NamedTuple):
    """Everything that is needed to construct a worker.

    Attributes:
        config: Configuration of the run.
        make_env: Function that makes the worker's environment.
        load_components: Function from the configuration with one verifier, the environment and an agent's name to the
            components.
    """

    config: RunConfig
    make_env: MakeEnv
    load_components: LoadComponents


class WorkerContext:
    """An environment, and the components that answer in it.

    Args:
        spec: The configuration, with the functions that make the environment and the components.

    Attributes:
        recorded_as: Identity and sources under which an agent's answers are recorded, if they are not its own.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        learn([spec.config.env_args, spec.config.agent_args, spec.config.strategy_args])
        self.env = spec.make_env()
        learn({} if self.env.spec is None else self.env.spec.kwargs)
        self.env_id = env_id(self.env)
        self._spec = spec
        self._components: dict[tuple[str, str], Components] = {}
        self.recorded_as: dict[str, tuple[str, dict[str, str]]] = {}

    def components(self, agent: str, verifier: str) -> Components:
        """Return the components of a run with this agent and verifier."""
        if (agent, verifier) not in self._components:
            config = self._spec.config
            own = config if len(config.verifier) == 1 else replace(config, verifier=(verifier,), match="")
            self._components[agent, verifier] = self._spec.load_components(own, self.env, agent)
        return self._components[agent, verifier]

    def release(self) -> None:
        """Let the language models end the servers that they started."""
        for components in self._components.values():
            for component in asking(components):
                release(component.model)

    @property
    def data(self) -> Mapping[str, str]:
        """The name and digest of the data; empty for an environment without data."""
        data = getattr(self.env.unwrapped, "data", None)
        return {} if data is None else {"name": data.name, "digest": data.digest}

    @property
    def environment(self) -> str:
        """A text that identifies the environment's behaviour."""
        return with_source_digest(self.env_id, self.env.unwrapped)

    def names(self, agent: str, verifier: str) -> Mapping[str, Any]:
        """Return texts that identify the behaviour of the components of a run with this agent and verifier."""
        config, components = self._spec.config, self.components(agent, verifier)
        return {
            "agent": self.recorded_as[agent][0] if agent in self.recorded_as else identity_of(components.agent, agent),
            "verifier": identity_of(components.verifier, verifier),
            "roles": components.roles.identity or components.roles.source,
            "simulator": identity_of(components.simulator, config.simulator),
            "information": "" if components.verifier is None else components.verifier.information,
            **({"agent_information": components.agent.information} if components.agent.information else {}),
            **({} if components.agent.takes_feedback else {"takes_feedback": False}),
            **({"oracle_roles": components.oracle_roles} if components.oracle_roles else {}),
        }

    def trained_here(self, agent: str, verifier: str, tasks: Sequence[str]) -> dict[str, int]:
        """Return on how many of the tasks the trained components of a run with both were trained."""
        data = self.data.get("digest", "")
        subject_of = getattr(self.env.unwrapped, "subject_of", lambda task: "")
        components = self.components(agent, verifier)
        return trained_here(components, env=self.env_id, data=data, tasks=tasks, subject_of=subject_of)

    def signatures(self) -> Mapping[str, str]:
        """Return texts that identify the behaviour of the strategies, by name."""
        config = self._spec.config
        return {name: with_source_digest(name, config.strategy(name)) for name in config.strategies}

    def _sources(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the parts of the source of each component, by its name. One with an identity of its own has none."""
        config = self._spec.config
        yield self.env_id, source_parts(self.env.unwrapped)
        for name in config.strategies:
            yield name, source_parts(config.strategy(name))
        for agent, verifier in product(config.agent, config.verifier):
            own = self.components(agent, verifier)
            for name, one in ((agent, own.agent), (verifier, own.verifier), (config.simulator, own.simulator)):
                yield name, {} if getattr(one, "identity", "") else source_parts(code_of(one))

    def facts(self) -> dict[str, Any]:
        """Return the code version, the data, and the identities of all components, as `config.json` records them."""
        config = self._spec.config
        first, *others = config.verifier
        agents = {agent: self.names(agent, first) for agent in config.agent}
        with_others = {f"{agent} with {one}": self.names(agent, one) for agent in config.agent for one in others}
        return {
            "data": self.data,
            "identity": {**agents, **with_others, **self.signatures(), self.env_id: self.environment},
            "sources": {name: parts for name, parts in self._sources() if parts}
            | {agent: parts for agent, (_, parts) in self.recorded_as.items()},
            "iad_version": version("iad"),
            "format": FORMAT,
        }


class _Again(Exception):
    """What the environment runs in was lost, so that the episode is run again."""


class Worker:
    """Runs episodes one after another, in its own environment.

    Args:
        spec: The configuration, with the functions that make the environment and the components.
        meter: Meter of the run, which all workers share. It limits the usage and tells when to stop.
        event_loop: Event loop of the run, which all workers share.
    """

    def __init__(self, spec: WorkerSpec, meter: Meter, event_loop: EventLoop) -> None:
        self.context = WorkerContext(spec)
        self._config = spec.config
        self._meter = meter
        self._event_loop = event_loop
        self._budget = Budget(spec.config.budget)

    def run(self, job: EpisodeJob, log: EpisodeLog) -> EpisodeRecord:
        """Run an episode and return its record. An error in the episode is part of the record.

        If what the environment runs in has ended, such as a sandbox, the episode is run once more, in another one.

        Raises:
            Interrupted: The run was asked to stop.
            StorageError: The log can't be written.
        """
        with suppress(_Again):
            return self._run(job, log, is_last=False)
        log.restart()
        return self._run(job, log, is_last=True)

    def _run(self, job: EpisodeJob, log: EpisodeLog, *, is_last: bool) -> EpisodeRecord:
        config, arm, context = self._config, job.arm, self.context
        components = context.components(arm.agent, arm.verifier)
        policy = IADPolicyWrapper(
            components.agent,
            context.env,
            strategy=config.own.get(arm.strategy, arm.strategy),
            verifier=components.verifier or NO_VERIFIER,
            roles=roles.of(arm.strategy) if isinstance(roles := components.roles, AssignedRoles) else roles,
            simulator=components.simulator or config.simulator,
            budget=self._budget,
            seed=job.seed,
            threads=config.threads,
            log=lambda task: log,
            run_meter=self._meter,
            event_loop=self._event_loop,
            **config.options(arm.strategy, arm.n),
        )
        start = perf_counter()
        with policy:
            run = EpisodeRun(context.env, policy, job.task)
            try:
                run.run(seed_of(job.seed, job.task) % 2**31)
            except BudgetExhausted as spent:
                run.stop("budget", cut=spent.axis)
            except (Interrupted, StorageError):
                raise
            except (Exception, SystemExit) as error:  # `sys.exit()` in an agent would end the run without a word
                self._meter.refuse_if_stopped()  # an error while the run is stopping is not a failure of the episode
                if getattr(error, "is_lost", False) and not is_last:
                    raise _Again from error
                run.stop("error", error=error)
            tasks = getattr(context.env.unwrapped, "tasks", None)
            return EpisodeRecord(
                **identified(job, context.env_id),
                difficulty=str(getattr(tasks.get(job.task), "difficulty", "")) if isinstance(tasks, Mapping) else "",
                information="" if components.verifier is None else components.verifier.information,
                wall_s=perf_counter() - start,
                **masked(run.facts()),
            )

    def close(self) -> None:
        """Close the environment."""
        self.context.env.close()


def identified(job: EpisodeJob, env_id: str) -> dict[str, Any]:
    """Return the part of a record that is known before the episode is run."""
    return {
        "key": job.key,
        "env": env_id,
        "task_id": job.task,
        "strategy": job.arm.strategy,
        "seed": job.seed,
        "agent": job.arm.agent,
        "verifier": job.arm.verifier,
        "n": job.arm.n,
    }
