"""Measures a simulator's fidelity: compares its outcomes with real ones, per action and over several steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from iad_policy.agents import load_agent
from iad_policy.errors import ModelError
from iad_policy.report.statistics import Interval, mean_interval, wilson
from iad_policy.simulators import load_simulator
from iad_policy.simulators.recorded import Kind, begun, proposals, provoked, stepped
from iad_policy.simulators.retrieval import HashedNgrams, TextEmbedder
from iad_policy.types import Agent, Outcome
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.outcome_types import is_failure, type_of
from iad_policy.types.texts import shown
from iad_policy.world import World, adapt
from iad_policy.world.simulator import Simulator

NO_ANSWER = "no answer"
"""The type of what a model shows that does not answer in the asked form."""


class FidelityCheck(NamedTuple):
    """One action's real outcome and the one that the simulator showed.

    Attributes:
        real: Type of the real outcome.
        shown: Type of the simulated outcome; `NO_ANSWER` if there is none.
        texts: Both observations as text, the real one first.
        failed: Whether the action failed, really and as it is shown.
    """

    real: str
    shown: str
    texts: tuple[str, str]
    failed: tuple[bool, bool]

    @property
    def is_exact(self) -> bool:
        """Whether the very text is shown. White space around it does not count."""
        return self.texts[0].strip() == self.texts[1].strip()


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
        unanswered: Share of them to which a model gave no answer in the asked form.
        similarity: Mean cosine similarity of shown and real observations.
        similarity_95: Bootstrap interval of the similarity.
        high_fidelity: Share of outcomes with a similarity above 0.95 (ARTIS: HF ratio).
        high_fidelity_95: Wilson's interval of that share.
        exact: Share of outcomes whose very text is shown.
        exact_95: Wilson's interval of that share.
        recall: Real outcome type -> its recall. Here and for failures, actions that are made to fail count too, because
            failures are rare otherwise.
        failure_recall: Share of real failures that are shown with their own type, or None without failures. A
            language model predicts no types besides `invalid`.
        error_recall: Share of the actions that really fail which are shown to fail; None without any.
        error_precision: Share of the actions shown to fail which really fail; None without any.
        exact_failures: Share of the actions that really fail whose very text is shown; None without any.
        same_after: Number of simulated steps -> share of states that match the real one in text and end, if the
            simulator starts that many steps earlier and takes the same actions.
    """

    simulator: str
    encoder: str
    n_tasks: int
    n: int
    unanswered: float
    similarity: float
    similarity_95: Interval
    high_fidelity: float
    high_fidelity_95: Interval
    exact: float
    exact_95: Interval
    recall: Mapping[str, Recall]
    failure_recall: float | None
    error_recall: float | None
    error_precision: float | None
    exact_failures: float | None
    same_after: Mapping[int, float]


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

    In every real state of an episode, up to two proposals of the agent are compared. What is said of failures also uses
    three actions that should fail: `iad_policy.simulators.recorded.provoked`. The real outcome comes from a fork of the
    environment, so it equals a step except for randomness.

    Args:
        env: The environment, on tasks that the simulator has not learned from.
        simulator: A simulator or its name, as for `IADPolicyWrapper`.
        agent: An agent or its name. The default is the environment's own.
        tasks: Task ids, or the number of tasks from the start of the split. For an environment without task ids it is
            the number of seeds.
        steps: Numbers of simulated steps after which states are compared.
        encoder: Text encoder that measures similarity. The default is hashed character n-grams.
        seed: Seed of the agent.

    Raises:
        ValueError: There was no outcome to compare.
    """
    world, simulator, embedder = adapt(env), load_simulator(simulator, env), encoder or HashedNgrams()
    agent = load_agent(agent, env)
    known = getattr(env.unwrapped, "task_ids", None)
    chosen: Sequence[Any] = tasks if not isinstance(tasks, int) else known[:tasks] if known else range(tasks)
    compared: list[FidelityCheck] = []
    wrong: list[FidelityCheck] = []
    kinds: Counter[Kind] = Counter()
    same_after: dict[int, list[bool]] = {step: [] for step in steps}
    for task in chosen:
        own_seed = seed_of("fidelity", str(task), seed)
        places: list[_Place] = []
        state = begun(env, world, task if known else None, own_seed % 2**31)
        while not state.done:
            state = replace(state, id=digest(own_seed, len(places)))
            rng = Random(seed_of(own_seed, len(places)))
            proposed = proposals(world, agent, state, 2, name=f"fidelity:{own_seed}", rng=rng)
            different = list({world.key(action): action for action in proposed}.values())
            actions = different or [world.legal_action(state.info, rng.getrandbits(32))]
            here = _Place(world.snapshot(), simulator.begin(world, state), actions[0])
            compared += [_compared(world, simulator, here, action) for action in actions]
            failing = [action for action, _ in provoked(env, world, state, actions, kinds, 3)]
            wrong += [_compared(world, simulator, here, action) for action in failing]
            places.append(here)
            state = stepped(env, world, state, actions[0])
        for at, here in enumerate(places):
            real, simulated = here.real, here.shown
            for step, later in enumerate(places[at : at + max(steps, default=0)], start=1):
                really = world.simulate(real, later.action, 0)
                seen = _simulated(world, simulator, simulated, later.action)
                real, simulated = really.token, seen.token
                if step in same_after:
                    same_after[step].append(_text(really) == _text(seen) and really.done == seen.done)
    if not compared:
        raise ValueError("expected at least one task to compare outcomes on, got none; name tasks")
    every = [*compared, *wrong]
    similarities = [_similarity(embedder, *one.texts) for one in compared]
    n_high = sum(value > 0.95 for value in similarities)
    failures = [one for one in every if is_failure(one.real)]
    failed, shown_failed = ([one for one in every if one.failed[which]] for which in (0, 1))
    n_told, n_exact = sum(all(one.failed) for one in every), sum(one.is_exact for one in compared)
    return Fidelity(
        simulator=simulator.identity,
        encoder=embedder.name,
        n_tasks=len(chosen),
        n=len(compared),
        unanswered=sum(one.shown == NO_ANSWER for one in compared) / len(compared),
        similarity=float(np.mean(similarities)),
        similarity_95=mean_interval(similarities),
        high_fidelity=n_high / len(similarities),
        high_fidelity_95=wilson(n_high, len(similarities)),
        exact=n_exact / len(compared),
        exact_95=wilson(n_exact, len(compared)),
        recall={kind: _recall(kind, every) for kind in sorted({one.real for one in every})},
        failure_recall=sum(one.real == one.shown for one in failures) / len(failures) if failures else None,
        error_recall=n_told / len(failed) if failed else None,
        error_precision=n_told / len(shown_failed) if shown_failed else None,
        exact_failures=sum(one.is_exact for one in failed) / len(failed) if failed else None,
        same_after={step: float(np.mean(same)) for step, same in same_after.items() if same},
    )


class _Place(NamedTuple):
    """A real state: its tokens of the environment and of the simulator, and the action that was taken there."""

    real: Any
    shown: Any
    action: Any


def _simulated(world: World, simulator: Simulator, token: Any, action: Any) -> Outcome:
    """Return the simulator's outcome. A model that does not answer in the asked form shows nothing, which is wrong."""
    try:
        return simulator.simulate(world, token, action, 0)
    except ModelError as error:
        if error.kind != "malformed":
            raise
        return Outcome(token, "", {"facts": {"findings": ({"severity": "error", "code": NO_ANSWER},)}}, False, "")


def _compared(world: World, simulator: Simulator, here: _Place, action: Any) -> FidelityCheck:
    real, seen = world.simulate(here.real, action, 0), _simulated(world, simulator, here.shown, action)
    failed = bool(real.failure), bool(seen.failure)
    texts = shown(real.observation), shown(seen.observation)
    return FidelityCheck(type_of(real.info, real.done), type_of(seen.info, seen.done), texts, failed)


def _text(outcome: Outcome) -> str:
    return shown(outcome.observation).strip()


def _recall(kind: str, compared: Sequence[FidelityCheck]) -> Recall:
    real = [one for one in compared if one.real == kind]
    n_right, n_shown = sum(one.shown == kind for one in real), sum(one.shown == kind for one in compared)
    return Recall(len(real), n_right / len(real), wilson(n_right, len(real)), n_right / n_shown if n_shown else None)


def _similarity(embedder: TextEmbedder, one: str, other: str) -> float:
    if one == other:
        return 1.0
    rows = embedder.encode([one, other])
    return float(min(rows[0] @ rows[1], 1.0))
