"""Explores, trains and measures what a paper compares, with one seed."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from iad_policy.evaluation import evaluate
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import explore
from iad_policy.learn.recipes.bc import BehaviourCloning
from iad_policy.learn.simulators import record_outcomes, train_simulator
from iad_policy.learn.train import LANGUAGE, train
from iad_policy.ledger.episode_record import EpisodeRecord
from iad_policy.papers import MeasuredArm
from iad_policy.registry.domain import domain_by_id

N_TEST = 200
"""Test tasks that are measured: all of the bundled shop's."""


@dataclass
class SeededLaboratory:
    """Explores, trains and measures with one seed, in a folder. Every stage resumes and is not repeated.

    Attributes:
        env: The environment's id.
        folder: The folder of this seed.
        seed: The seed.
        backend: What is trained.
        tasks: Number of test tasks that are measured.
        scale: Share of the training tasks that stages explore, for short runs.
        report: Function that is told how it goes.
        agent: The agent of arms that name none; by default the environment's own.
        given_simulator: The simulator of arms that need a given one.
    """

    env: str
    folder: Path
    seed: int = 0
    backend: str = "linear"
    tasks: int = N_TEST
    scale: float = 1.0
    report: Callable[[str], Any] = lambda text: None
    agent: str | None = None
    given_simulator: str | None = None

    def __post_init__(self) -> None:
        self.reads_text = self.backend.startswith(LANGUAGE)

    def explored(self, name: str, *, tasks: int, agent: str = "", **options: Any) -> Experience:
        """Explore training tasks, as `explore`."""
        return explore(
            self.env,
            self._named("learned", agent) or None,
            out=self.folder / name,
            tasks=max(2, round(self.scale * tasks)),
            seed=10_000 * (self.seed + 1),
            report=self.report,
            **options,
        )

    def demonstrations(self, found: Experience, n: int) -> Experience:
        """Return n successful episodes, drawn by the seed, or all if there are fewer."""
        return found.only(BehaviourCloning(demos=n).chosen(found, np.random.default_rng(self.seed)))

    def trained(
        self, name: str, recipe: str, found: Experience | list[Experience] | str, *, start: str = "", **options: Any
    ) -> None:
        """Train a model, as `train`. Several experiences are taken as one."""
        train(
            recipe,
            Experience.joined(found) if isinstance(found, list) else found,
            out=self.folder / name,
            start=self.folder / start if start else None,
            seed=self.seed,
            report=self.report,
            **{"backend": self.backend, **options},
        )

    def simulator(self, name: str, outcomes: str, *, tasks: int, **options: Any) -> None:
        """Train a simulator on recorded outcomes, which are recorded first."""
        path = self.folder / outcomes
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            record_outcomes(self.env, path, tasks=max(2, round(self.scale * tasks)), seed=self.seed, report=self.report)
        train_simulator(path, self.env, out=self.folder / name, seed=self.seed, report=self.report, **options)

    def measured(self, name: str, arm: MeasuredArm) -> list[EpisodeRecord]:
        """Return the episodes of an arm on the test tasks."""
        given: dict[str, Any] = dict(arm.options)
        if arm.verifier:
            given["verifier"] = self._named("qnet", arm.verifier)
        if arm.simulator:
            given["simulator"] = self._named("learned", arm.simulator)
        if arm.needs_simulator:
            given["simulator"] = self.given_simulator
        if arm.evaluator:
            given["roles"] = {"evaluator": self._named("learned", arm.evaluator)}
        found = evaluate(
            self.env,
            [arm.strategy],
            agent=self._named("learned", arm.agent) if arm.agent else self.agent,
            tasks=self.tasks,
            seed=self.seed,
            split=domain_by_id(self.env).tested,
            baseline=arm.strategy,
            out=self.folder / "arms" / name.replace(" ", "-"),
            **given,
        )
        (records,) = found.records.values()
        return list(records)

    def _named(self, kind: str, name: str) -> str:
        """Return a component's name; that of a model of this folder as `kind:folder`, also inside another one."""
        outer, colon, inner = name.rpartition(":")
        own = bool(inner) and (self.folder / inner).is_dir()
        return f"{outer}{colon}{kind}:{self.folder / inner}" if own else name
