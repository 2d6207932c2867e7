"""What a run is: everything that its answers depend on, as it was asked for."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from iad_policy.budget import Budget
from iad_policy.digest import digest
from iad_policy.errors import UnknownName
from iad_policy.feedback import load_feedback
from iad_policy.simulators import PERFECT
from iad_policy.strategies import STRATEGIES, load_strategy, options_of
from iad_policy.strategies.stop import load_stop

DEFAULT_STRATEGIES = ("single", "bon-sc", "iad")
DEFAULT_BASELINE = "bon-sc"
REFERENCE = "single"
FREE = frozenset({"threads", "cache", "data_dir", "run_budget"})
"""Parts that change no answer, so that they may change from one run of a command to the next."""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration of a comparison.

    Attributes:
        env: The environment's id.
        agent: The agent's name.
        verifier: The verifier's name; "" for none.
        strategies: Names, in the order of the table.
        env_args: Further arguments of `gym.make`.
        data_dir: The environment's data folder; None for the default. Data are told apart by content, not place.
        n: Proposals per decision, for strategies that have it.
        tasks: How many, from the start of the split; fewer where it has fewer.
        split: The split, where the environment has splits.
        seed: Of every sample.
        baseline: The strategy that others are compared with; "" for `bon-sc` where it runs, else the first.
        roles: Who plays single roles, by name, such as `{"evaluator": "litellm:<model>"}`.
        simulator: What answers simulations and previews.
        feedback: A feedback form's name, for strategies that have it; None for the strategy's own.
        stop: A stop rule's name, likewise.
        delta: What a new candidate must score above the incumbent, likewise.
        temperature: Of proposals; None for the agent's own.
        budget: Limits by name.
        threads: Requests answered side by side.
        cache: Whether language-model answers are cached.

    Raises:
        ValueError: A name or number that makes no sense; the message says which are known.
    """

    env: str
    agent: str
    verifier: str = ""
    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    env_args: Mapping[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    n: int = 3
    tasks: int = 100
    split: str | None = None
    seed: int = 0
    baseline: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    simulator: str = PERFECT
    feedback: str | None = None
    stop: str | None = None
    delta: float | None = None
    temperature: float | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    threads: int = 1
    cache: bool = True

    def __post_init__(self) -> None:
        for name in self.strategies:
            if name not in STRATEGIES:
                raise UnknownName("strategy", name, STRATEGIES)
        if not self.strategies or len(set(self.strategies)) < len(self.strategies):
            raise ValueError(
                f"expected strategies that differ, got {','.join(self.strategies) or 'none'}; name each once"
            )
        for name, value in (("n", self.n), ("tasks", self.tasks), ("threads", self.threads)):
            if value < 1:
                raise ValueError(f"expected {name} of 1 or more, got {value}")
        if self.seed < 0:
            raise ValueError(f"expected a seed of 0 or more, got {self.seed}")
        if self.temperature is not None and not self.temperature >= 0:
            raise ValueError(f"expected a temperature of 0 or more, got {self.temperature}")
        if self.delta is not None and not math.isfinite(self.delta):
            raise ValueError(f"expected a finite delta, got {self.delta}")
        if self.baseline and self.baseline not in self.strategies:
            raise UnknownName("baseline among the strategies", self.baseline, self.strategies)
        Budget(self.budget)
        if self.feedback is not None:
            load_feedback(self.feedback)
        if self.stop is not None:
            load_stop(self.stop)
        self._require_used()

    @property
    def compared_with(self) -> str:
        """The baseline's name."""
        return self.baseline or (DEFAULT_BASELINE if DEFAULT_BASELINE in self.strategies else self.strategies[0])

    @property
    def episode_budget(self) -> dict[str, float]:
        """The limits that an episode's course depends on: all but those of the run as a whole."""
        return {name: limit for name, limit in self.budget.items() if not name.startswith("run.")}

    def options(self, strategy: str) -> dict[str, Any]:
        """Return the options, by name, that one strategy is run with."""
        return {name: value for name, value in self._optional().items() if name in options_of(load_strategy(strategy))}

    def as_json(self) -> dict[str, Any]:
        """Return the content of `config.json`: the budget of the run as a whole stands by itself."""
        whole = {name: limit for name, limit in self.budget.items() if name.startswith("run.")}
        return {**asdict(self), "budget": self.episode_budget, "run_budget": whole}

    def name(self) -> str:
        """Return a folder name that the same command always gets, and no other."""
        fixed = {key: value for key, value in self.as_json().items() if key not in FREE}
        environment = self.env.rpartition("/")[2].rpartition("-v")[0] or self.env.rpartition("/")[2]
        return f"{environment.lower()}-{'-'.join(self.strategies[:4])}-{digest(fixed, str(self.data_dir))[:8]}"

    def equal_on(self) -> str:
        """Say on which axis the strategies' budgets are equal."""
        equal = [name for name in self.strategies if "n" in self.options(name)]
        others = [name for name in self.strategies if name not in equal]
        said = f"equal on proposals per decision: n = {self.n}" if equal else "one proposal per decision"
        if equal and others:
            said += f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} the reference with 1"
        limits = ", ".join(f"{name} <= {limit:g}" for name, limit in self.budget.items())
        return f"{said}; {limits}" if limits else said

    def _optional(self) -> dict[str, Any]:
        named = {"feedback": self.feedback, "stop": self.stop, "delta": self.delta, "temperature": self.temperature}
        return {"n": self.n} | {name: value for name, value in named.items() if value is not None}

    def _require_used(self) -> None:
        used = {name for strategy in self.strategies for name in self.options(strategy)} | {"n"}
        for name in self._optional():
            if name not in used:
                raise ValueError(
                    f"expected options of the strategies {', '.join(self.strategies)}, got {name}, which none has; "
                    "leave it out, or add a strategy"
                )
