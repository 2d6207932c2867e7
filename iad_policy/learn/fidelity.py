"""Measures a simulator's fidelity: compares its outcomes with real ones, per action and over several steps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from iad_policy.agents import load_agent
from iad_policy.registry.domain import domain_of
from iad_policy.report.statistics import Interval, mean_interval, wilson
from iad_policy.simulators import load_simulator
from iad_policy.simulators.embedding import HashedNgrams, TextEmbedder
from iad_policy.simulators.typos import with_typos
from iad_policy.types import Agent, PublicInfo, State, Turn
from iad_policy.types.call_context import Call, use_call
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.information import may_read_gold
from iad_policy.types.outcome_types import is_failure, type_of
from iad_policy.types.read_only import read_only
from iad_policy.types.texts import shown
from iad_policy.world import World, adapt
from iad_policy.world.simulator import Simulator

HIGH_FIDELITY = 0.95
"""An outcome counts as faithful if its similarity to the real one is above this (ARTIS, HF ratio)."""
N_PROPOSALS = 2


class FidelityCheck(NamedTuple):
    """One action's real outcome and the one that the simulator showed.

    Attributes:
        real: Type of the real outcome.
        shown: Type of the simulated outcome.
        texts: Both observations as text, the real one first.
    """

    real: str
    shown: str
    texts: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Recall:
    """Recall and precision of one outcome type.

    Attributes:
        n: Number of real outcomes of the type.
        recall: Share of them that the simulator shows with this type.
        recall_95: Wilson's 95 % interval of the recall.
        precision: Share of outcomes shown with this type that really have it, or None if none is shown.
    """

    n: int
    recall: float
    recall_95: Interval
    precision: float | None


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The measured fidelity of a simulator.

    Attributes:
        simulator: Identity of the simulator.
        encoder: Name of the text encoder that measures similarity.
        n_tasks: Number of tasks.
        n: Number of compared actions. Only the agent's own proposals count.
        similarity: Mean cosine similarity of shown and real observations.
        similarity_95: Bootstrap interval of the similarity.
        high_fidelity: Share of outcomes with a similarity above 0.95 (ARTIS: HF ratio).
        high_fidelity_95: Wilson's interval of that share.
        recall: Real outcome type -> its recall. Proposals with typos count here, because failures are rare otherwise.
        failure_recall: Share of real failures that are shown with their own type, or None without failures.
        same_after: Number of simulated steps -> share of states that match the real one in key and end, if the
            simulator starts that many steps earlier and takes the same actions.
    """

    simulator: str
    encoder: str
    n_tasks: int
    n: int
    similarity: float
    similarity_95: Interval
    high_fidelity: float
    high_fidelity_95: Interval
    recall: Mapping[str, Recall]
    failure_recall: float | None
    same_after: Mapping[int, float]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON."""
        return asdict(self)


def fidelity(
    env: gym.Env[Any, Any],
    simulator: str | Simulator,
    *,
    agent: str | Agent | None = None,
    tasks: Sequence[str] | int = 50,
    steps: Sequence[int] = (1, 2, 3, 5),
    encoder: TextEmbedder | None = None,
    seed: int = 0,
) -> Fidelity:
    """Run tasks, and compare the simulator's outcome of each action with the real one.

    In every real state of an episode, up to two proposals of the agent are compared. The recall also uses versions of
    the first proposal with typos, which mostly fail. The real outcome comes from a fork of the environment, so it
    equals a step except for randomness.

    Args:
        env: The environment, on tasks that the simulator has not learned from.
        simulator: A simulator or its name, as for `IADPolicyWrapper`.
        agent: An agent or its name. The default is the environment's rule-based agent.
        tasks: Task ids, or the number of tasks from the start of the split. For an environment without task ids it is
            the number of seeds.
        steps: Numbers of simulated steps after which states are compared.
        encoder: Text encoder that measures similarity. The default is hashed character n-grams.
        seed: Seed of the agent.

    Raises:
        ValueError: There was no outcome to compare.
    """
    world, simulator, embedder = adapt(env), load_simulator(simulator, env), encoder or HashedNgrams()
    agent = load_agent(agent if agent is not None else domain_of(env).agent, env)
    known = getattr(env.unwrapped, "task_ids", None)
    chosen: Sequence[Any] = tasks if not isinstance(tasks, int) else known[:tasks] if known else range(tasks)
    found = _Comparisons([], [], {step: [] for step in steps})
    for task in chosen:
        episode = _Replay(env, world, task if known else None, seed_of("fidelity", str(task), seed))
        proposals: list[list[Any]] = []
        for state in episode.states(proposals):
            proposals.append(episode.proposed(agent, state))
        # Replay the episode, now with the later actions of every state known.
        for at, state in enumerate(episode.states(proposals)):
            found.take(world, simulator, state, proposals[at:])
    return _report(simulator, embedder, found, n_tasks=len(chosen))


class _Replay:
    """One episode that can be replayed with the same actions."""

    def __init__(self, env: gym.Env[Any, Any], world: World, task: Any, seed: int) -> None:
        self._env = env
        self._world = world
        self._task = task
        self._seed = seed

    def states(self, proposals: Sequence[Sequence[Any]]) -> Iterator[State]:
        """Yield every real state. The state's first proposal is executed before the next state is yielded."""
        options = None if self._task is None else {"task_id": self._task}
        observation, info = self._env.reset(seed=self._seed % 2**31, options=options)
        self._world.begin(observation)
        public = PublicInfo(info, self._world.gold_keys)
        state = State(read_only(observation), public, steps_left=self._world.max_steps, id=digest(self._seed, 0))
        while not state.done:
            yield state
            action = proposals[len(state.history)][0]
            observation, _, terminated, truncated, info = self._env.step(action)
            self._world.committed(action)
            state = State(
                read_only(observation),
                PublicInfo(info, self._world.gold_keys),
                history=(*state.history, Turn(state.observation, action, state.info)),
                steps_left=state.steps_left - 1,
                done=terminated or truncated,
                id=digest(self._seed, len(state.history) + 1),
            )

    def proposed(self, agent: Agent, state: State) -> list[Any]:
        """Return the agent's distinct valid proposals, or a legal action if there are none."""
        rng = Random(seed_of(self._seed, len(state.history)))
        if may_read_gold(agent):
            state = replace(state, gold=self._world.oracle(self._world.snapshot()))
        actions = []
        for place in range(N_PROPOSALS):
            call = Call(f"fidelity:{self._seed}", place, rng.getrandbits(64))
            with self._world.deciding(), self._world.guard(), use_call(call):
                own = Random(rng.getrandbits(64))
                actions.append(agent.propose(state, feedback=None, temperature=None, rng=own).action)
        usable = {self._world.key(action): action for action in actions if not self._world.complaint(action)}
        return list(usable.values()) or [self._world.legal_action(state.info, rng.getrandbits(32))]


class _Comparisons(NamedTuple):
    """The outcomes compared so far."""

    proposed: list[FidelityCheck]
    mistyped: list[FidelityCheck]
    same_after: dict[int, list[bool]]

    def take(self, world: World, simulator: Simulator, state: State, ahead: Sequence[Sequence[Any]]) -> None:
        """Compare the outcomes in a real state: of its proposals, of typos in the first one, and of the next steps."""
        tokens = world.snapshot(), simulator.begin(world, state)
        self.proposed.extend(_compared(world, simulator, tokens, action) for action in ahead[0])
        self.mistyped.extend(_compared(world, simulator, tokens, action) for action in with_typos(ahead[0][0]))
        real, shown = tokens
        for step in range(1, min(len(ahead), max(self.same_after, default=0)) + 1):
            action = ahead[step - 1][0]
            real_outcome, shown_outcome = world.simulate(real, action, 0), simulator.simulate(world, shown, action, 0)
            real, shown = real_outcome.token, shown_outcome.token
            if step in self.same_after:
                self.same_after[step].append(
                    real_outcome.key == shown_outcome.key and real_outcome.done == shown_outcome.done
                )


def _compared(world: World, simulator: Simulator, tokens: tuple[Any, Any], action: Any) -> FidelityCheck:
    real, shown_outcome = world.simulate(tokens[0], action, 0), simulator.simulate(world, tokens[1], action, 0)
    texts = shown(real.observation), shown(shown_outcome.observation)
    return FidelityCheck(type_of(real.info, real.done), type_of(shown_outcome.info, shown_outcome.done), texts)


def _report(simulator: Simulator, embedder: TextEmbedder, found: _Comparisons, *, n_tasks: int) -> Fidelity:
    proposed, every = found.proposed, [*found.proposed, *found.mistyped]
    if not proposed:
        raise ValueError("expected at least one task to compare outcomes on, got none; name tasks")
    similarities = [_similarity(embedder, *one.texts) for one in proposed]
    n_high = sum(value > HIGH_FIDELITY for value in similarities)
    failures = [one for one in every if is_failure(one.real)]
    return Fidelity(
        simulator=simulator.identity,
        encoder=embedder.name,
        n_tasks=n_tasks,
        n=len(proposed),
        similarity=float(np.mean(similarities)),
        similarity_95=mean_interval(similarities),
        high_fidelity=n_high / len(similarities),
        high_fidelity_95=wilson(n_high, len(similarities)),
        recall={kind: _recall(kind, every) for kind in sorted({one.real for one in every})},
        failure_recall=sum(one.real == one.shown for one in failures) / len(failures) if failures else None,
        same_after={step: float(np.mean(same)) for step, same in found.same_after.items() if same},
    )


def _recall(kind: str, compared: Sequence[FidelityCheck]) -> Recall:
    real = [one for one in compared if one.real == kind]
    n_right, n_shown = sum(one.shown == kind for one in real), sum(one.shown == kind for one in compared)
    return Recall(len(real), n_right / len(real), wilson(n_right, len(real)), n_right / n_shown if n_shown else None)


def _similarity(embedder: TextEmbedder, one: str, other: str) -> float:
    if one == other:
        return 1.0
    rows = embedder.encode([one, other])
    return float(min(rows[0] @ rows[1], 1.0))
