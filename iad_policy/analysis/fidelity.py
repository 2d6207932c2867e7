"""How true a simulator is: what it shows beside what really happens, action by action and over several steps."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from iad_policy.agents import load_agent
from iad_policy.analysis.statistics import Interval, bootstrap_mean, wilson
from iad_policy.env_defaults import defaults_of
from iad_policy.hashing import digest, seed_of
from iad_policy.models.call_context import Call, use_call
from iad_policy.prompts.rendering import shown
from iad_policy.simulators import Simulator, load_simulator
from iad_policy.simulators.embedding import HashedNgrams, TextEmbedder
from iad_policy.simulators.outcome_types import is_failure, type_of
from iad_policy.simulators.typos import with_typos
from iad_policy.types import Agent, PublicInfo, State, Turn
from iad_policy.world import World, adapt

HIGH_FIDELITY = 0.95
"""An outcome more similar than this to the real one counts as true (ARTIS, HF ratio)."""
N_PROPOSALS = 2


class FidelityCheck(NamedTuple):
    """One action's real outcome and the one that was shown.

    Attributes:
        real: Its type.
        shown: The type shown.
        texts: Both observations as text, the real one first.
    """

    real: str
    shown: str
    texts: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Recall:
    """Of one outcome type: how many real outcomes were shown as that type, and how many that were shown were real."""

    n: int
    recall: float
    recall_95: Interval
    precision: float | None


@dataclass(frozen=True, slots=True)
class Fidelity:
    """A simulator's report.

    Attributes:
        simulator: Which one.
        encoder: What similarity was measured with.
        n_tasks: Tasks played.
        n: Actions compared, of the agent's proposals alone.
        similarity: Mean cosine of the observations shown and real; with a bootstrap interval.
        high_fidelity: Share above 0.95 (ARTIS: HF ratio); with Wilson's interval.
        recall: By real outcome type; here garbled proposals count too, or failures would hardly occur.
        failure_recall: Share of all real failures that are shown as their own class of failure.
        same_after: By number of steps: the share of states whose key and end are those of the real one, when the
            simulator was begun that many steps before and given the same actions.
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
        """Return the report as JSON has it."""
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
    """Play tasks, and compare what the simulator shows of each action with what really happens.

    In every real state of an episode that the agent plays, up to two proposals of the agent are compared, and, for the
    recall alone, the first one garbled so that it mostly fails. "Real" is the environment's own fork, which is what a
    step gives but for its randomness.

    Args:
        env: The environment, on tasks that the simulator has not learned from.
        simulator: As for `IADPolicyWrapper`.
        agent: Plays; by default the environment's rule-based agent.
        tasks: Task ids, or how many from the start of the split (of an environment without ids: how many seeds).
        steps: After how many simulated steps states are compared.
        encoder: Says how alike two observations are; hashed character n-grams by default.
        seed: Of the agent.

    Raises:
        ValueError: Nothing was compared.
    """
    world, tried, coder = adapt(env), load_simulator(simulator, env), encoder or HashedNgrams()
    player = load_agent(agent if agent is not None else defaults_of(env).agent, env)
    known = getattr(env.unwrapped, "task_ids", None)
    chosen: Sequence[Any] = tasks if not isinstance(tasks, int) else known[:tasks] if known else range(tasks)
    found = _Found([], [], {step: [] for step in steps})
    for task in chosen:
        play = _Play(env, world, task if known else None, seed_of("fidelity", str(task), seed))
        proposals: list[list[Any]] = []
        for state in play.states(proposals):
            proposals.append(play.proposed(player, state))
        # Once more from the same start: now it is known in every state what will be done next.
        for at, state in enumerate(play.states(proposals)):
            found.take(world, tried, state, proposals[at:])
    return _report(tried, coder, found, n_tasks=len(chosen))


class _Play:
    """One episode that can be played twice alike."""

    def __init__(self, env: gym.Env[Any, Any], world: World, task: Any, seed: int) -> None:
        self._env = env
        self._world = world
        self._task = task
        self._seed = seed

    def states(self, proposals: Sequence[Sequence[Any]]) -> Iterator[State]:
        """Yield every real state; the first proposal for it is done when the next one is asked for."""
        options = None if self._task is None else {"task_id": self._task}
        observation, info = self._env.reset(seed=self._seed % 2**31, options=options)
        self._world.begin(observation)
        public = PublicInfo(info, self._world.gold_keys)
        state = State(observation, public, steps_left=self._world.max_steps, id=digest(self._seed, 0))
        while not state.done:
            yield state
            action = proposals[len(state.history)][0]
            observation, _, terminated, truncated, info = self._env.step(action)
            self._world.committed(action)
            state = State(
                observation,
                PublicInfo(info, self._world.gold_keys),
                history=(*state.history, Turn(state.observation, action, state.info)),
                steps_left=state.steps_left - 1,
                done=terminated or truncated,
                id=digest(self._seed, len(state.history) + 1),
            )

    def proposed(self, player: Agent, state: State) -> list[Any]:
        """Return the agent's different proposals; where none is an action, the first legal one."""
        rng = Random(seed_of(self._seed, len(state.history)))
        actions = []
        for place in range(N_PROPOSALS):
            with use_call(Call(f"fidelity:{self._seed}", place, rng.getrandbits(64))):
                own = Random(rng.getrandbits(64))
                actions.append(player.propose(state, feedback=None, temperature=None, rng=own).action)
        usable = {self._world.key(action): action for action in actions if not self._world.complaint(action)}
        return list(usable.values()) or [self._world.legal_action(state.info, rng.getrandbits(32))]


class _Found(NamedTuple):
    """What was compared."""

    proposed: list[FidelityCheck]
    garbled: list[FidelityCheck]
    same_after: dict[int, list[bool]]

    def take(self, world: World, tried: Simulator, state: State, ahead: Sequence[Sequence[Any]]) -> None:
        """Compare in a real state: its proposals, the first one garbled, and the steps that are taken from it."""
        tokens = world.snapshot(), tried.begin(world, state)
        self.proposed.extend(_compared(world, tried, tokens, action) for action in ahead[0])
        self.garbled.extend(_compared(world, tried, tokens, action) for action in with_typos(ahead[0][0]))
        real, shown = tokens
        for step in range(1, min(len(ahead), max(self.same_after, default=0)) + 1):
            action = ahead[step - 1][0]
            truly, imagined = world.simulate(real, action, 0), tried.simulate(world, shown, action, 0)
            real, shown = truly.token, imagined.token
            if step in self.same_after:
                self.same_after[step].append(truly.key == imagined.key and truly.done == imagined.done)


def _compared(world: World, tried: Simulator, tokens: tuple[Any, Any], action: Any) -> FidelityCheck:
    real, imagined = world.simulate(tokens[0], action, 0), tried.simulate(world, tokens[1], action, 0)
    texts = shown(real.observation), shown(imagined.observation)
    return FidelityCheck(type_of(real.info, real.done), type_of(imagined.info, imagined.done), texts)


def _report(tried: Simulator, coder: TextEmbedder, found: _Found, *, n_tasks: int) -> Fidelity:
    proposed, every = found.proposed, [*found.proposed, *found.garbled]
    if not proposed:
        raise ValueError("expected at least one task to compare outcomes on, got none; name tasks")
    alike = [_similarity(coder, *one.texts) for one in proposed]
    n_high = sum(value > HIGH_FIDELITY for value in alike)
    failures = [one for one in every if is_failure(one.real)]
    return Fidelity(
        simulator=tried.identity,
        encoder=coder.name,
        n_tasks=n_tasks,
        n=len(proposed),
        similarity=float(np.mean(alike)),
        similarity_95=bootstrap_mean(alike),
        high_fidelity=n_high / len(alike),
        high_fidelity_95=wilson(n_high, len(alike)),
        recall={kind: _recall(kind, every) for kind in sorted({one.real for one in every})},
        failure_recall=sum(one.real == one.shown for one in failures) / len(failures) if failures else None,
        same_after={step: float(np.mean(same)) for step, same in found.same_after.items() if same},
    )


def _recall(kind: str, compared: Sequence[FidelityCheck]) -> Recall:
    real = [one for one in compared if one.real == kind]
    n_right, n_shown = sum(one.shown == kind for one in real), sum(one.shown == kind for one in compared)
    return Recall(len(real), n_right / len(real), wilson(n_right, len(real)), n_right / n_shown if n_shown else None)


def _similarity(coder: TextEmbedder, one: str, other: str) -> float:
    if one == other:
        return 1.0
    rows = coder.encode([one, other])
    return float(min(rows[0] @ rows[1], 1.0))
