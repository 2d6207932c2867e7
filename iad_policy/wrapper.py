"""Wraps any base agent so that it proposes, verifies and refines each action before it commits."""

from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, TypeVar

import gymnasium as gym

from iad_policy.budget import Budget, Meter
from iad_policy.errors import ContractError
from iad_policy.ledger.answer_log import AnswerLog, EpisodeLog
from iad_policy.requests import Asking
from iad_policy.runtime.components import load_components
from iad_policy.runtime.driver import Driver
from iad_policy.runtime.episode import LiveEpisode
from iad_policy.runtime.event_loop import EventLoop
from iad_policy.strategies import Strategy, declaration_of, load_strategy, require_verifier
from iad_policy.strategies.building_blocks.feedback_forms import FeedbackForm
from iad_policy.strategies.building_blocks.stop import StopRule
from iad_policy.types import Agent, AsyncAgent, Candidate, Decision, Roles, State, Usage, Verifier
from iad_policy.types.hashing import digest
from iad_policy.types.names import PERFECT
from iad_policy.types.read_only import writable
from iad_policy.world import adapt
from iad_policy.world.simulator import Simulator

T = TypeVar("T")


class IADPolicyWrapper:
    """Wraps a policy, not an environment. Your loop steps the real environment; the wrapper only simulates.

    `info["step"] == 0` marks a new episode. Call `reset()` for environments without that key.

    Args:
        agent: The base agent: a name (`"shopper"`, `"litellm:gpt-4o-mini"`), an object with `propose`, or a plain
            function `f(observation, info) -> action`. Both may be `async def`, as may `verify` of a verifier.
        env: The environment that the loop steps.
        strategy: A name from `iad_policy.strategies.STRATEGIES`, or a generator function.
        n: Proposals per decision, for strategies with this option. A strategy may give `n` another meaning.
        verifier: A name (`"proxy"`, `"oracle"`, `"judge:<model>"`, `"none"`) or an object with `verify`; by default
            the environment's proxy verifier, if it has one.
        feedback: A feedback form or its name, for strategies with this option.
        stop: A stop rule or its name, for strategies with this option.
        roles: The component for the critic, judge and other roles; by default the agent's own language model, else the
            verifier's, else templates. A mapping such as `{"evaluator": "litellm:<model>"}` sets single roles.
        simulator: The component for simulations and previews: a name (`"perfect"`, `"noisy:0.8"`, `"retrieval"`,
            `"llm:<model>"`) or an object with `simulate`. All but `perfect` refuse verifiers that read gold.
        budget: Limits such as `{"decision.proposals": 3, "run.tokens": 1_000_000}`.
        seed: Seed of every sample.
        threads: Number of requests that run in parallel. The answers don't depend on it.
        log: A run folder, its `AnswerLog`, or a function from task to `EpisodeLog`. Answers are recorded there, and
            recorded answers are replayed.
        run_meter: The meter of a run that several wrappers share.
        event_loop: The loop for coroutine functions that several wrappers share. By default the wrapper has its own.
        options: Further options of the strategy, such as `delta=0.1` or `instruct="improve"`.
    """

    def __init__(
        self,
        agent: str | Agent | AsyncAgent | Callable[..., Any],
        env: gym.Env[Any, Any],
        *,
        strategy: str | Strategy = "iad",
        n: int = 3,
        verifier: str | Verifier | None = None,
        feedback: str | FeedbackForm | None = None,
        stop: str | StopRule | None = None,
        roles: Roles | Mapping[str, str | Roles] | None = None,
        simulator: str | Simulator = PERFECT,
        budget: Budget | Mapping[str, float] | None = None,
        seed: int = 0,
        threads: int = 1,
        log: "AnswerLog | Path | str | Callable[[str], EpisodeLog] | None" = None,
        run_meter: Meter | None = None,
        event_loop: EventLoop | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(env, gym.Env):
            raise TypeError(f"expected an environment, got {env!r:.200}; make one: gym.make('IAD/WebShop-v0')")
        if threads < 1:
            raise ValueError(f"expected threads of 1 or more, got {threads}")
        if feedback is not None:
            options["feedback"] = feedback
        if stop is not None:
            options["stop"] = stop
        self.env = env
        self.decisions: list[Decision] = []
        self._strategy = load_strategy(strategy, n=n, **options)
        needs_info = declaration_of(strategy).needs != "nothing"
        self._components = load_components(
            env, agent, verifier, roles=roles, simulator=simulator, needs_info=needs_info
        )
        require_verifier(strategy, self._components.verifier, options)
        self._world = adapt(env)
        assert self._components.simulator is not None
        self._simulator = self._components.simulator
        self._budget = budget if isinstance(budget, Budget) else Budget(budget or {})
        self._run_meter = run_meter or Meter(self._budget.of("run"))
        self._seed = seed
        self._executor: Executor | None = ThreadPoolExecutor(threads) if threads > 1 else None
        self._event_loop = event_loop or EventLoop()
        self._owns_event_loop = event_loop is None
        self._own_log = AnswerLog(log) if isinstance(log, str | Path) else None
        self._log = self._own_log or log
        self._n_episodes = 0
        self._driver: Driver | None = None
        self._episode: LiveEpisode | None = None
        self._pending: Candidate | None = None

    @property
    def agent(self) -> Agent:
        """The base agent."""
        return self._components.agent

    @property
    def verifier(self) -> Verifier | None:
        """The verifier, if there is one."""
        return self._components.verifier

    @property
    def usage(self) -> Usage:
        """Total usage of all episodes of this wrapper."""
        return self._run_meter.total

    @property
    def spent(self) -> Mapping[str, Usage]:
        """Usage of the current episode, by role."""
        return {} if self._episode is None else self._episode.meter.spent

    @property
    def simulated_by(self) -> str:
        """What the current episode was simulated by, if the environment has no simulation of its own.

        By `fork` (copies of the environment) or `replay`, which know what the agent can't see. "" if nothing was
        simulated in it.
        """
        is_simulated = any(usage.simulations for usage in self.spent.values())
        return self._world.simulated_by if is_simulated and self._simulator.uses_world else ""

    def reset(self) -> None:
        """End the episode. The next `act` starts a new one."""
        if self._driver is not None:
            self._driver.close()
        self._driver = self._episode = None
        self.decisions = []

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """Return the action to commit.

        Args:
            observation: The observation that `env.reset` or `env.step` returned.
            info: The info that `env.reset` or `env.step` returned. Its gold is removed first.

        Raises:
            BudgetExhausted: The budget of the episode or of the run is spent. No request was made.
        """
        state = self._at(observation, info)
        decision = self._required_driver().decide(state)
        self.decisions.append(decision)
        self._pending = decision.committed
        return writable(decision.committed.action)

    def look(self, observation: Any, info: Mapping[str, Any], looking: Callable[[State], Asking[T]]) -> T:
        """Run a generator that makes requests but commits nothing, and return its result.

        Args:
            observation: The observation that `env.reset` or `env.step` returned.
            info: The info that `env.reset` or `env.step` returned.
            looking: Function from the state to the generator.

        Raises:
            BudgetExhausted: The budget of the episode or of the run is spent. No request was made.
            ContractError: The generator yielded a commit.
        """
        state = self._at(observation, info)
        return self._required_driver().look(state, looking)

    def observe(
        self, observation: Any, info: Mapping[str, Any], *, reward: float | None = None, done: bool = False
    ) -> None:
        """Record the result of a commit.

        This is optional: `act` takes the result from its arguments. But `act` never sees the end of an episode.

        Raises:
            ReplayError: The log has another observation for this step.
        """
        episode = self._episode
        if episode is None:
            raise ContractError("expected act() before observe(): there is no episode yet")
        self._arrived(observation, info, done=done, reward=reward)
        if done and self._driver is not None:
            self._driver.close()

    def close(self) -> None:
        """Release threads and files. Closing twice is harmless."""
        self.reset()
        if self._owns_event_loop:
            self._event_loop.close()
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        if self._own_log is not None:
            self._own_log.close()

    def __reduce__(self) -> NoReturn:
        """Refuse to be copied or pickled: threads, files and a decision in progress can't be in two places.

        Raises:
            TypeError: Always.
        """
        raise TypeError(
            "expected a policy to stay where it was made, got a request to copy or pickle it; copy the environment and "
            "make a policy around the copy: IADPolicyWrapper(agent, copy.deepcopy(env), ...)"
        )

    def __enter__(self) -> "IADPolicyWrapper":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _at(self, observation: Any, info: Mapping[str, Any]) -> State:
        """Return the state of a call: a new episode's first one, or the one after the last commit."""
        if self._episode is None or self._episode.is_done or info.get("step") == 0:
            self.reset()
            task = str(info.get("task_id", self._n_episodes))
            meter = Meter(self._budget.of("episode"), parent=self._run_meter)
            log = self._episode_log(task)
            episode = LiveEpisode(self._world, self._simulator, task=task, seed=self._seed, meter=meter, log=log)
            self._n_episodes += 1
            self._episode = episode
            self._driver = Driver(
                self._strategy,
                self._components,
                episode,
                meter=lambda: Meter(self._budget.of("decision"), parent=meter),
                event_loop=self._event_loop,
                executor=self._executor,
            )
            self._pending = None
            state = episode.start(observation, info)
            episode.record_step(None, False, info)
            return state
        return self._arrived(observation, info, done=False)

    def _arrived(self, observation: Any, info: Mapping[str, Any], *, done: bool, reward: float | None = None) -> State:
        episode = self._episode
        assert episode is not None
        if self._pending is None:
            assert episode.state is not None
            return episode.state  # observe() was called for this step already
        committed, self._pending = self._pending, None
        state = episode.advance(committed, observation, info, done=done)
        episode.record_step(reward, done, info)
        return state

    def _required_driver(self) -> Driver:
        assert self._driver is not None
        return self._driver

    def _episode_log(self, task: str) -> EpisodeLog | None:
        if self._log is None:
            return None
        if isinstance(self._log, AnswerLog):
            return self._log.episode(digest(task, self._seed, self._n_episodes))
        assert callable(self._log)
        return self._log(task)
