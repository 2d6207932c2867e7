"""Rows 12 and 13 of the benchmark of learning: simulators that were trained, and each part of ARTIS.

The agent is rule-based and follows the plan in its notes, so these rows say nothing of language models.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from time import process_time
from typing import Any

import gymnasium as gym
from support.figures import figure
from support.learning import SHOP, compared, rewards, row

from iad_policy import evaluate
from iad_policy.learn.accuracy import accuracy
from iad_policy.learn.explore import explore
from iad_policy.learn.simulators import record_outcomes, train_simulator
from iad_policy.learn.splits import SplitError
from iad_policy.learn.train import train
from iad_policy.registry.domain import domain_by_id
from iad_policy.simulators import load_simulator
from iad_policy.simulators.learned import LearnedSimulator
from iad_policy.simulators.recorded import Recorded, record
from iad_policy.types import State
from iad_policy.types.outcome_types import is_failure, type_of

BASH = "IAD/InterCodeBash-v0"
N_RECORDED = 60
N_HELD_OUT = 30
"""Test tasks on which failures are recalled."""
N_TESTED = 200
"""Test tasks on which the parts are compared: all of the bundled shop's."""
N_REHEARSED = 40
"""Test tasks on which simulators are compared: few, as one that looks outcomes up takes up to half a second a task."""
N_ATTEMPTS = 5
TEMPERATURES = (0.0, 1.0, 3.0)
"""Of the agents whose episodes an evaluator learns from: of different skill."""
N_JUDGED = 400
ABLATIONS: Mapping[str, Mapping[str, bool]] = {
    "without_evaluation": {"evaluate": False},
    "without_summary": {"summarise": False},
    "with_neither": {"evaluate": False, "summarise": False},
}


def simulators(env: str, folder: Path) -> None:
    """Print row 12: what trained simulators recall of failures, and what rehearsing in them is worth."""
    name = f"12_{_short(env)}"
    try:
        record_outcomes(env, folder / "outcomes.jsonl", tasks=N_RECORDED)
    except SplitError as error:
        print(json.dumps({"metric": f"learning_{name}", "skipped": str(error)}), flush=True)
        return
    began = process_time()
    for driven in ("normal", "failures"):
        train_simulator(folder / "outcomes.jsonl", env, out=folder / driven, driven=driven)
    known = {
        "untrained": f"retrieval:{folder / 'outcomes.jsonl'}",
        "normal": f"learned:{folder / 'normal'}",
        "failures": f"learned:{folder / 'failures'}",
    }
    _recall(name, env, known)
    given: dict[str, Any] = {"env": env, "seed": 0, "tasks": N_REHEARSED}
    alone = rewards("plan-following", **given)
    for simulator, spelled in {**known, "perfect": "perfect"}.items():
        rehearsed = rewards("plan-following", "artis", n=N_ATTEMPTS, simulator=spelled, **given)
        row(f"{name}_artis_{simulator}_minus_single", rehearsed, alone, least=None)
    figure(f"learning_{name}_s", process_time() - began, "s CPU")


def _recall(name: str, env: str, known: Mapping[str, str]) -> None:
    """Print which share of the failures on held-out tasks is shown with its own type."""
    made = gym.make(env, split="test")
    tasks = list(made.unwrapped.task_ids)[:N_HELD_OUT]  # type: ignore[attr-defined]
    agents = (domain_by_id(env).agent, "random")
    real = [one for agent in agents for one in record(made, agent, tasks=tasks, n_episodes=1)]
    failed = [one for one in real if is_failure(type_of(one.info, one.done))]
    loaded = {own: load_simulator(spelled, made) for own, spelled in known.items()}
    is_shown = {own: [float(_shows(simulator, one)) for one in failed] for own, simulator in loaded.items()}
    made.close()
    for ours, theirs, least in (
        ("failures", "normal", 0.0),
        ("normal", "untrained", None),
        ("failures", "untrained", None),
    ):
        pairs = list(zip(is_shown[ours], is_shown[theirs], strict=True))
        compared(
            f"{name}_recall_{ours}_minus_{theirs}",
            [own - other for own, other in pairs],
            [one.task_id for one in failed],
            least=least,
            unit="share of failures",
            ours=sum(is_shown[ours]) / len(failed),
            theirs=sum(is_shown[theirs]) / len(failed),
        )


def _shows(simulator: Any, real: Recorded) -> bool:
    """Return whether a simulator shows the type of a real outcome. It sees what was seen before the action."""
    # Of the info only the keys: what stands there is what followed.
    known = {**dict.fromkeys(real.info), "step": 0, "instruction": real.instruction, "task_id": real.task_id}
    token = simulator.begin(None, State(real.observation, known))
    kind = type_of(real.info, real.done)
    if isinstance(simulator, LearnedSimulator):  # the outcome that it shows has this type: it need not be looked up
        return simulator.predicted(token, real.action) == kind
    shown = simulator.simulate(None, token, real.action, 0)
    return type_of(shown.info, shown.done) == kind


def parts(folder: Path) -> None:
    """Print row 13: the number of attempts, each part of ARTIS, and a learned evaluator, in the shop."""
    began = process_time()
    judge = _evaluator(folder)
    given: dict[str, Any] = {"seed": 0, "tasks": N_TESTED}

    def rehearsing(n: int = N_ATTEMPTS, *, roles: Any = None, **options: bool) -> Any:
        settings = {f"artis.{name}": value for name, value in options.items()}
        return rewards("plan-following", "artis", n=n, roles=roles, strategy_args=settings, **given)

    alone = rewards("plan-following", **given)
    swept = {n: rehearsing(n) for n in (1, 3, 5, 10)}
    for fewer, n in ((None, 1), (1, 3), (3, 5), (5, 10)):
        name = f"13_artis_n_{n}_minus_{'single' if fewer is None else f'n_{fewer}'}"
        row(name, swept[n], alone if fewer is None else swept[fewer], least=None)
    for name, options in ABLATIONS.items():
        row(f"13_artis_{name}_minus_single", rehearsing(**options), alone, least=None)
    learned = rehearsing(roles={"evaluator": f"learned:{judge}"})
    row("13_artis_learned_evaluator_minus_single", learned, alone, least=None)
    row("13_artis_learned_evaluator_minus_by_proxy", learned, swept[N_ATTEMPTS], least=None)
    figure("learning_13_s", process_time() - began, "s CPU")


def _evaluator(folder: Path) -> Path:
    """Train an evaluator, print how often it is right on dev tasks, and return its folder."""
    runs, dev = [], []
    for place, heat in enumerate(TEMPERATURES):
        runs.append(folder / f"train-{heat:g}")
        explore(SHOP, out=runs[-1], tasks=N_JUDGED, episodes=1, temperature=heat, seed=place)
        dev.append(folder / f"dev-{heat:g}")
        evaluate(
            SHOP, ["single"], 200, split="dev", out=dev[-1], temperature=heat, seed=place, baseline="single",
            verifier="none",
        )  # fmt: skip
    model = train("evaluator", runs, out=folder / "evaluator")
    found = accuracy(model, dev)
    compared(
        "13_evaluator_accuracy_minus_chance",
        found.differences,
        list(found.tasks),
        unit="share of attempts",
        ours=found.accuracy,
        theirs=found.chance,
    )
    return model.folder


def measure(folder: Path) -> None:
    """Print rows 12 and 13."""
    stages: Mapping[str, Callable[[Path], None]] = {
        "shop": lambda own: simulators(SHOP, own),
        "shell": lambda own: simulators(BASH, own),
        "parts": parts,
    }
    for name, stage in stages.items():
        own = folder / f"rehearsal-{name}"
        own.mkdir(parents=True)
        stage(own)


def _short(env: str) -> str:
    return {SHOP: "shop", BASH: "shell"}[env]
