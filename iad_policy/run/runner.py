"""Runs strategies on tasks and records everything on disk. Tasks are interleaved, so partial results are paired."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import product
from random import Random
from typing import Any

import gymnasium as gym

from iad_policy.budget import Budget, Meter
from iad_policy.ledger.episode_record import Arm, EpisodeRecord
from iad_policy.ledger.run_folder import RunFolder
from iad_policy.run.config import RunConfig
from iad_policy.run.engines import load_engine
from iad_policy.run.journal import RunJournal
from iad_policy.run.places import WorkerPlaces
from iad_policy.run.trained import refuse_trained
from iad_policy.run.worker import EpisodeJob, LoadComponents, MakeEnv, WorkerContext, WorkerSpec
from iad_policy.strategies import require_verifier
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.plan import PLAN, load_plan, refinement_of
from iad_policy.types.secrets import masked, without_secrets
from iad_policy.world import described


class Runner:
    """Runs a comparison in one environment.

    Args:
        config: Configuration of the run.
        make_env: Function that makes an environment. Every worker has its own.
        load_components: Function from the configuration, an environment and an agent's name to the components.

    Raises:
        UnknownName: There is no such agent, verifier or engine.
        MissingExtra: The engine's package is not installed.
        ValueError: A strategy needs a verifier and got none, or an `oracle` verifier and got another one; its plan was
            made for something else; or spending is to be matched with a baseline of one n.
        TrainedHere: A trained component was trained on some of the tasks, and that is not allowed.
    """

    def __init__(self, config: RunConfig, make_env: MakeEnv, load_components: LoadComponents) -> None:
        if config.match:
            config.require_curve(config.match)
        self.config = config
        self._spec = WorkerSpec(config, make_env, load_components)
        self._make_engine = load_engine(config.engine)
        self._context = WorkerContext(self._spec)  # describes the run; no episode runs in it
        self._names = self._all_names()
        self._accepted: dict[str, list[str]] = {}
        for arm in config.arms:
            verifier = self._context.components(arm.agent, arm.verifier).verifier
            strategy, options = config.own.get(arm.strategy, arm.strategy), config.options(arm.strategy, arm.n)
            require_verifier(strategy, verifier, options)
            if options.get(PLAN) is not None:
                here = {"env": config.env, "agent": arm.agent, "verifier": arm.verifier, **refinement_of(options)}
                load_plan(options[PLAN]).refuse_other(**here)
        signatures = self._context.signatures()
        # What an arm's keys have in common: a run may have a million.
        self._settings = {
            arm: (signatures[arm.strategy], config.options(arm.strategy, arm.n), config.episode_budget)
            for arm in config.arms
        }
        self._environment = self._context.environment
        self._meter = Meter(Budget(config.budget).of("run"))
        self._place: Callable[[], AbstractContextManager[None]] = nullcontext
        self.tasks = _tasks(self._context.env, config)
        self._trained_here = {
            f"{name} of {agent}" if len(config.agent) > 1 else name: n
            for agent, verifier in self._names
            for name, n in self._context.trained_here(agent, verifier, self.tasks).items()
        }
        if not config.allow_trained_tasks:
            refuse_trained(self._trained_here)

    def _all_names(self) -> dict[tuple[str, str], Mapping[str, Any]]:
        """Return what identifies the components, by agent and verifier."""
        pairs = product(self.config.agent, self.config.verifier)
        return {(agent, verifier): self._context.names(agent, verifier) for agent, verifier in pairs}

    def resume(self, recorded: Mapping[str, Any]) -> None:
        """Take over what the `config.json` of the run's folder says of the code of its agents.

        With `accept_agent`, an agent whose code was changed goes on under the identity that is recorded there.
        """
        self._accepted = {agent: list(codes) for agent, codes in recorded.get("accepted", {}).items()}
        if not self.config.accept_agent:
            return
        for agent in self.config.agent:
            was = recorded.get("identity", {}).get(agent, {}).get("agent")
            now = self._names[agent, self.config.verifier[0]]["agent"]
            if was not in (None, now):
                self._accepted[agent] = sorted({*self._accepted.get(agent, ()), now})
                self._context.recorded_as[agent] = was, recorded.get("sources", {}).get(agent, {})
        self._names = self._all_names()

    @property
    def information(self) -> str:
        """The first verifier's label; "" without a verifier."""
        return str(self._names[self.config.agent[0], self.config.verifier[0]]["information"])

    @property
    def data(self) -> Mapping[str, str]:
        """The name and digest of the data; empty for an environment without data."""
        return self._context.data

    def recorded_config(self) -> dict[str, Any]:
        """Return the content of `config.json`: the configuration, and the versions of code, data and components."""
        trained = {"trained_here": self._trained_here} if self._trained_here else {}
        accepted = {"accepted": self._accepted} if self._accepted else {}
        facts = {**described(self._context.env), **self._context.facts()}
        return masked({**self.config.as_json(), **facts, **trained, **accepted})

    def jobs(self) -> Iterator[EpisodeJob]:
        """Yield every episode of the run, task by task."""
        arms = self.config.arms
        for task in self.tasks:
            for seed in self.config.seed:
                for arm in arms:
                    yield EpisodeJob(arm, task, seed, self.key(arm, task, seed))

    def episodes(self, folder: RunFolder) -> Iterator[EpisodeRecord]:
        """Yield every episode: first the recorded ones, task by task, then the others when they end.

        Raises:
            RunStopped: The run's budget is spent, or the model can't be used at all.
            EngineError: The engine can't run these episodes.
            KeyboardInterrupt: Ctrl-C or `stop()` ended the run. The answers of running calls are recorded.
        """
        self._meter.forget()  # a second pass over the folder does not pay twice
        for record in folder.episodes.values():
            if not record.error_kind:
                self._meter.charge_all(record.spent_by_role)
        missing = []
        for job in self.jobs():
            kept = folder.episodes.get(job.key)
            if kept is None or kept.is_unfinished:
                missing.append(job)
            else:
                yield kept
        if missing:
            journal = RunJournal(folder, self._meter, self._place, keeps_going=self.config.keep_going)
            yield from self._make_engine(self._spec, journal).work(missing)
        if self._meter.stopped.is_set():
            raise KeyboardInterrupt

    def share(self, places: WorkerPlaces, rank: int) -> None:
        """Share the workers with other runs of this process. Runs of a lower rank go first."""
        self._place = places.of(rank, self._meter.refuse_if_stopped)

    def stop(self) -> None:
        """Make no more requests. Workers end when running calls are answered and recorded. Safe in a signal handler."""
        self._meter.stopped.set()

    def key(self, arm: Arm, task: str, seed: int) -> str:
        """Return the hash of everything that can change an episode's answers."""
        config = self.config
        return digest(
            (self._environment, without_secrets(config.env_args), config.split, self.data.get("digest")),
            (task, seed),
            self._names[arm.agent, arm.verifier],
            self._settings[arm],
        )

    def close(self) -> None:
        """Close the environment, and end the servers of models on this machine. The caller closes the folder."""
        self._context.env.close()
        self._context.release()


def _tasks(env: gym.Env[Any, Any], config: RunConfig) -> Sequence[str]:
    """Return the first task ids of the split or its subset.

    For an environment without ids they are numbers, which are used as seeds.

    Raises:
        ValueError: All tasks or a share of them were requested, but the environment has no ids; or it has no tasks.
    """
    known = getattr(env.unwrapped, "task_ids", None)
    if known is None:
        if config.tasks is None or config.subset is not None:
            raise ValueError(f"expected a number of tasks for {config.env}, which has no list of them; pass --tasks")
        return list(map(str, range(config.tasks)))
    if not known:
        raise ValueError(f"expected tasks in {config.env}, got none; give it some, or choose another split")
    places: Sequence[int] = range(len(known))
    if config.subset is not None:
        n_drawn = max(1, round(config.subset * len(known)))
        places = sorted(Random(seed_of("subset", config.seed[0])).sample(places, n_drawn))
    return [known[place] for place in places[: config.tasks]]
