"""What a run is: everything that its answers depend on, as it was asked for."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from iad_policy.budget import Budget
from iad_policy.digest import digest
from iad_policy.errors import UnknownName
from iad_policy.feedback import load_feedback
from iad_policy.requests import Asking
from iad_policy.simulators import PERFECT
from iad_policy.strategies import STRATEGIES, Strategy, declaration_of, load_strategy, options_of
from iad_policy.strategies.stop import load_stop
from iad_policy.types import State

DEFAULT_STRATEGIES = ("single", "bon-sc", "iad")
DEFAULT_BASELINE = "bon-sc"
REFERENCE = "single"
FREE = frozenset({"threads", "workers", "cache", "data_dir", "run_budget", "max_steps"})
"""Parts that change no answer, so that they may change from one run of a command to the next; `max_steps` follows from
the environment and its arguments."""

T = TypeVar("T")


class Arm(NamedTuple):
    """What is compared: one row of the table.

    Attributes:
        agent: The agent's name.
        strategy: The strategy's name.
        n: Proposals per decision; 1 for a strategy that does not have it.
    """

    agent: str
    strategy: str
    n: int


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration of a comparison in one environment.

    `agent`, `n` and `seed` take one value or several; every combination is run.

    Attributes:
        env: The environment's id.
        agent: The agent's name.
        verifier: The verifier's name; "" for none.
        strategies: Names, in the order of the table.
        env_args: Further arguments of `gym.make`.
        data_dir: The environment's data folder; None for the default. Data are told apart by content, not place.
        n: Proposals per decision, or what else a strategy declares, for strategies that have it.
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
        threads: Requests answered side by side within a decision.
        workers: Episodes run side by side.
        cache: Whether language-model answers are cached.
        own: Strategies, agents and verifiers that are objects, by the name that they have here.

    Raises:
        ValueError: A name or number that makes no sense; the message says which are known.
    """

    env: str
    agent: str | tuple[str, ...]
    verifier: str = ""
    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    env_args: Mapping[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    n: int | tuple[int, ...] = 3
    tasks: int = 100
    split: str | None = None
    seed: int | tuple[int, ...] = 0
    baseline: str = ""
    roles: Mapping[str, str] = field(default_factory=dict)
    simulator: str = PERFECT
    feedback: str | None = None
    stop: str | None = None
    delta: float | None = None
    temperature: float | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    threads: int = 1
    workers: int = 1
    cache: bool = True
    own: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in self.strategies:
            if name not in STRATEGIES and name not in self.own:
                raise UnknownName("strategy", name, STRATEGIES)
        several = {"strategies": self.strategies, "agents": self.agents, "n": self.ns, "seeds": self.seeds}
        for name, values in several.items():
            if not values or len(set(values)) < len(values):
                said = ",".join(map(str, values)) or "none"
                raise ValueError(f"expected {name} that differ, got {said}; name each once")
        for name, value in (("n", min(self.ns)), ("tasks", self.tasks), *self._parallel()):
            if value < 1:
                raise ValueError(f"expected {name} of 1 or more, got {value}")
        if min(self.seeds) < 0:
            raise ValueError(f"expected a seed of 0 or more, got {min(self.seeds)}")
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
    def agents(self) -> tuple[str, ...]:
        """The agents' names."""
        return _several(self.agent)

    @property
    def ns(self) -> tuple[int, ...]:
        """The numbers of proposals per decision."""
        return _several(self.n)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds."""
        return _several(self.seed)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The rows of the table: agent by agent, strategy by strategy, n by n."""
        return tuple(
            Arm(agent, strategy, n)
            for agent in self.agents
            for strategy in self.strategies
            for n in (self.ns if self.has_n(strategy) else (1,))
        )

    def has_n(self, strategy: str) -> bool:
        """Say whether a strategy takes a number of proposals per decision."""
        return "n" in options_of(self.strategy(strategy))

    def strategy(self, name: str) -> Strategy:
        """Return a strategy, by its name."""
        return load_strategy(self.own.get(name, name))

    def label(self, arm: Arm) -> str:
        """Return the name of an arm's row: as much of it as tells it apart."""
        n = f" n={arm.n}" if len(self.ns) > 1 and self.has_n(arm.strategy) else ""
        agent = f" {arm.agent}" if len(self.agents) > 1 else ""
        return f"{arm.strategy}{n}{agent}"

    def baseline_of(self, arm: Arm) -> Arm | None:
        """Return the arm that another one is compared with: the same agent, as many proposals; None for a baseline."""
        if arm.strategy == self.compared_with:
            return None
        n = arm.n if self.has_n(arm.strategy) else max(self.ns)
        return Arm(arm.agent, self.compared_with, n if self.has_n(self.compared_with) else 1)

    @property
    def compared_with(self) -> str:
        """The baseline's name."""
        return self.baseline or (DEFAULT_BASELINE if DEFAULT_BASELINE in self.strategies else self.strategies[0])

    @property
    def episode_budget(self) -> dict[str, float]:
        """The limits that an episode's course depends on: all but those of the run as a whole."""
        return {name: limit for name, limit in self.budget.items() if not name.startswith("run.")}

    def options(self, strategy: str, n: int | None = None) -> dict[str, Any]:
        """Return the options, by name, that one strategy is run with, with `n` proposals per decision."""
        given = {"n": self.ns[0] if n is None else n, **self._optional()}
        return {name: value for name, value in given.items() if name in options_of(self.strategy(strategy))}

    def as_json(self) -> dict[str, Any]:
        """Return the content of `config.json`: the budget of the run as a whole stands by itself."""
        whole = {name: limit for name, limit in self.budget.items() if name.startswith("run.")}
        parts = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "own"}
        return {**parts, "env_args": dict(self.env_args), "budget": self.episode_budget, "run_budget": whole}

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> "RunConfig":
        """Return the configuration that a `config.json` holds; a strategy of one's own is in it by name only."""
        known = [part.name for part in fields(cls)]
        parts = {name: value for name, value in recorded.items() if name in known}
        for name in ("agent", "strategies", "n", "seed"):
            if isinstance(parts.get(name), list):
                parts[name] = tuple(parts[name])
        absent = {name: _absent for name in parts.get("strategies", ()) if name not in STRATEGIES}
        budget = {**parts.get("budget", {}), **recorded.get("run_budget", {})}
        return cls(**{**parts, "budget": budget, "own": absent})

    def name(self) -> str:
        """Return a folder name that the same command always gets, and no other."""
        fixed = {key: value for key, value in self.as_json().items() if key not in FREE}
        environment = self.env.rpartition("/")[2].rpartition("-v")[0] or self.env.rpartition("/")[2]
        return f"{environment.lower()}-{'-'.join(self.strategies[:4])}-{digest(fixed, str(self.data_dir))[:8]}"

    def equal_on(self) -> str:
        """Say on which axis the strategies' budgets are equal, or that they are not."""
        counted: dict[str, list[str]] = {}
        for name in self.strategies:
            if self.has_n(name):
                counted.setdefault(declaration_of(name).n_means(self.options(name)), []).append(name)
        said = self._counted(counted)
        limits = ", ".join(f"{name} <= {limit:g}" for name, limit in self.budget.items())
        return f"{said}; {limits}" if limits else said

    @property
    def _n_said(self) -> str:
        return ", ".join(map(str, self.ns))

    def _counted(self, counted: Mapping[str, Sequence[str]]) -> str:
        """Say what n counts, given the strategies by what it counts for them."""
        if not counted:
            return "one proposal per decision"
        others = [name for name in self.strategies if not any(name in names for names in counted.values())]
        if len(counted) == 1:
            said = f"equal on {next(iter(counted))}: n = {self._n_said}"
        else:
            meanings = "; ".join(f"{means} for {', '.join(names)}" for means, names in counted.items())
            said = f"not equal: n = {self._n_said} counts {meanings}"
        return (
            f"{said}; {', '.join(others)} {'is' if len(others) == 1 else 'are'} the reference with 1"
            if others
            else said
        )

    def _optional(self) -> dict[str, Any]:
        named = {"feedback": self.feedback, "stop": self.stop, "delta": self.delta, "temperature": self.temperature}
        return {name: value for name, value in named.items() if value is not None}

    def _parallel(self) -> tuple[tuple[str, int], ...]:
        return ("threads", self.threads), ("workers", self.workers)

    def _require_used(self) -> None:
        used = {name for strategy in self.strategies for name in self.options(strategy)}
        for name in self._optional():
            if name not in used:
                raise ValueError(
                    f"expected options of the strategies {', '.join(self.strategies)}, got {name}, which none has; "
                    "leave it out, or add a strategy"
                )


def _several(value: T | tuple[T, ...]) -> tuple[T, ...]:
    return value if isinstance(value, tuple) else (value,)


def _absent(here: State, *, n: int = 1, **options: Any) -> Asking[None]:
    """Stand in for a strategy of somebody's own in a run that is only read."""
    raise NotImplementedError("expected a strategy, got only its name from a recorded run; pass the strategy itself")
