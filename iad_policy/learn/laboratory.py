"""Explores, trains and measures what a paper compares, with one seed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iad_policy.evaluate import evaluate
from iad_policy.learn.experience import Experience
from iad_policy.learn.explore import chosen, explore
from iad_policy.learn.simulators import record_outcomes, train_simulator
from iad_policy.learn.train import LANGUAGE, train
from iad_policy.papers import MeasuredArm
from iad_policy.registry.domain import domain_by_id

N_TEST = 200
"""Test tasks that are measured: all of the bundled shop's."""


@dataclass(frozen=True)
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
        spent: Proposals and tokens of each measured episode, by arm.
    """

    env: str
    folder: Path
    seed: int = 0
    backend: str = "linear"
    tasks: int = N_TEST
    scale: float = 1.0
    report: Callable[[str], Any] = lambda text: None
    spent: dict[str, list[tuple[int, int]]] = field(default_factory=dict)

    @property
    def reads_text(self) -> bool:
        """Whether what is trained is a language model."""
        return self.backend.startswith(LANGUAGE)

    def explored(self, name: str, *, tasks: int, agent: str = "", **options: Any) -> Experience:
        """Explore training tasks, as `explore`."""
        return explore(
            self.env,
            self.named(agent) if agent else None,
            out=self.folder / name,
            tasks=max(2, round(self.scale * tasks)),
            seed=10_000 * (self.seed + 1),
            report=self.report,
            **options,
        )

    def trained(
        self, name: str, recipe: str, found: Experience | list[Experience] | str, *, start: str = "", **options: Any
    ) -> None:
        """Train a model, as `train`. Several experiences are taken as one."""
        train(
            recipe,
            chosen(found) if isinstance(found, list) else found,
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

    def named(self, agent: str) -> str:
        """Return an agent's name, where a policy of this folder stands for `learned:...`."""
        kind, _, inner = agent.rpartition(":")
        own = f"learned:{self.folder / inner}" if (self.folder / inner).is_dir() else inner
        return f"{kind}:{own}" if kind else own

    def measured(self, name: str, arm: MeasuredArm) -> dict[tuple[str, int], tuple[float, float]]:
        """Return the reward and the success of an arm on the test tasks, by task and seed."""
        given: dict[str, Any] = dict(arm.options)
        if arm.verifier:
            own = (self.folder / arm.verifier).is_dir()
            given["verifier"] = f"qnet:{self.folder / arm.verifier}" if own else arm.verifier
        if arm.simulator:
            own = (self.folder / arm.simulator).is_dir()
            given["simulator"] = f"learned:{self.folder / arm.simulator}" if own else arm.simulator
        if arm.evaluator:
            own = (self.folder / arm.evaluator).is_dir()
            given["roles"] = {"evaluator": f"learned:{self.folder / arm.evaluator}" if own else arm.evaluator}
        found = evaluate(
            self.env,
            [arm.strategy],
            agent=self.named(arm.agent),
            tasks=self.tasks,
            seed=self.seed,
            split=domain_by_id(self.env).tested,
            baseline=arm.strategy,
            out=self.folder / "arms" / name.replace(" ", "-"),
            **given,
        )
        (records,) = found.records.values()
        self.spent[name] = [
            (
                sum(int(own.get("proposals", 0)) for own in one.usage.values()),
                sum(int(own.get("prompt_tokens", 0) + own.get("completion_tokens", 0)) for own in one.usage.values()),
            )
            for one in records
        ]
        return {(one.task_id, one.seed): (one.reward, one.success or 0.0) for one in records}
