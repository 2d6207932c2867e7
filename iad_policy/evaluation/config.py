"""What a run is: everything that its answers depend on, as it was asked for."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar

from iad_policy.budget import Budget
from iad_policy.errors import UnknownName
from iad_policy.hashing import digest
from iad_policy.requests import Asking
from iad_policy.simulators import PERFECT
from iad_policy.strategies import STRATEGIES, Strategy, declaration_of, find_strategy, load_strategy, options_of
from iad_policy.types import State

DEFAULT_STRATEGIES = ("single", "bon-sc", "iad")
DEFAULT_BASELINE = "bon-sc"
REFERENCE = "single"
THREADS = "threads"
FREE = frozenset(
    {"threads", "workers", "engine", "cache", "data_dir", "run_budget", "preset", "notes", "max_steps", "discrete"}
)
"""Parts that change no answer, so that they may change from one run of a command to the next; the last two follow from
the environment and its arguments."""
NAMED = ("feedback", "stop", "delta", "temperature")
"""Options of strategies that have a part of their own; so has `n`."""

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
        preset: Where settings came from; the settings themselves stand in the other parts.
        notes: What is printed with the run, such as which settings a paper states.
        agent_args: Further options of the agents.
        strategy_args: Further options of the strategies: `k` of every strategy that has it, `chains.k` of one.
        env_args: Further arguments of `gym.make`.
        data_dir: The environment's data folder; None for the default. Data are told apart by content, not place.
        n: Proposals per decision, or what else a strategy declares, for strategies that have it.
        tasks: How many, from the start of the split; fewer where it has fewer. None for all.
        subset: A share of the split to draw them from, 0-1, at random by the first seed; None for the whole split.
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
        engine: What runs them side by side.
        cache: Whether language-model answers are cached.
        own: Strategies, agents and verifiers that are objects, by the name that they have here.

    Raises:
        ValueError: A name or number that makes no sense; the message says which are known.
    """

    env: str
    agent: str | tuple[str, ...]
    verifier: str = ""
    strategies: tuple[str, ...] = DEFAULT_STRATEGIES
    preset: str = ""
    notes: tuple[str, ...] = ()
    agent_args: Mapping[str, Any] = field(default_factory=dict)
    strategy_args: Mapping[str, Any] = field(default_factory=dict)
    env_args: Mapping[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    n: int | tuple[int, ...] = 3
    tasks: int | None = 100
    subset: float | None = None
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
    engine: str = THREADS
    cache: bool = True
    own: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in self.strategies:
            self.strategy(name)
        several = {"strategies": self.strategies, "agents": self.agents, "n": self.ns, "seeds": self.seeds}
        for name, values in several.items():
            if not values or len(set(values)) < len(values):
                said = ",".join(map(str, values)) or "none"
                raise ValueError(f"expected {name} that differ, got {said}; name each once")
        for name, value in (("n", min(self.ns)), ("tasks", self.tasks), *self._parallel()):
            if value is not None and value < 1:
                raise ValueError(f"expected {name} of 1 or more, got {value}")
        if self.subset is not None and not 0 < self.subset <= 1:
            raise ValueError(f"expected a subset above 0 and up to 1, a share of the split, got {self.subset}")
        if min(self.seeds) < 0:
            raise ValueError(f"expected a seed of 0 or more, got {min(self.seeds)}")
        if self.temperature is not None and not self.temperature >= 0:
            raise ValueError(f"expected a temperature of 0 or more, got {self.temperature}")
        if self.delta is not None and not math.isfinite(self.delta):
            raise ValueError(f"expected a finite delta, got {self.delta}")
        if self.baseline and self.baseline not in self.strategies:
            raise UnknownName("baseline among the strategies", self.baseline, self.strategies)
        Budget(self.budget)
        self._require_used()
        self._require_known()
        for arm in self.arms:
            load_strategy(self.strategy(arm.strategy), **self.options(arm.strategy, arm.n))

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
            for n in self.ns_of(strategy)
        )

    def has_n(self, strategy: str) -> bool:
        """Say whether a strategy takes a number of proposals per decision."""
        return "n" in options_of(self.strategy(strategy))

    def strategy(self, name: str) -> Strategy:
        """Return a strategy, by its name."""
        return find_strategy(self.own.get(name, name))

    def ns_of(self, strategy: str) -> tuple[int, ...]:
        """Return with how many proposals per decision a strategy is run; 1 for one that does not have them."""
        if not self.has_n(strategy):
            return (1,)
        return _several(self.strategy_args.get(f"{strategy}.n", self.n))

    def label(self, arm: Arm) -> str:
        """Return the name of an arm's row: as much of it as tells it apart."""
        n = f" n={arm.n}" if len(self.ns_of(arm.strategy)) > 1 else ""
        agent = f" {arm.agent}" if len(self.agents) > 1 else ""
        return f"{arm.strategy}{n}{agent}"

    def baseline_of(self, arm: Arm) -> Arm | None:
        """Return the arm that another one is compared with: the same agent, as many proposals; None for a baseline."""
        if arm.strategy == self.compared_with:
            return None
        ns = self.ns_of(self.compared_with)
        is_among = self.has_n(arm.strategy) and arm.n in ns
        return Arm(arm.agent, self.compared_with, arm.n if is_among else max(ns))

    @property
    def compared_with(self) -> str:
        """The baseline's name."""
        return self.baseline or (DEFAULT_BASELINE if DEFAULT_BASELINE in self.strategies else self.strategies[0])

    @property
    def episode_budget(self) -> dict[str, float]:
        """The limits that an episode's course depends on: all but those of the run as a whole."""
        return {name: limit for name, limit in self.budget.items() if not name.startswith("run.")}

    def options(self, strategy: str, n: int | None = None) -> dict[str, Any]:
        """Return the options, by name, that one strategy is run with, with `n` proposals per decision.

        What is said of it alone goes before what is said of all.
        """
        known = options_of(self.strategy(strategy))
        args = [(*key.rpartition(".")[::2], value) for key, value in self.strategy_args.items()]
        own = {option: value for whose, option, value in args if whose == strategy}
        shared = {option: value for whose, option, value in args if not whose}
        given = self._optional() | shared | own | {"n": self.ns_of(strategy)[0] if n is None else n}
        return {name: value for name, value in given.items() if name in known}

    def as_json(self) -> dict[str, Any]:
        """Return the content of `config.json`: the budget of the run as a whole stands by itself."""
        whole = {name: limit for name, limit in self.budget.items() if name.startswith("run.")}
        parts = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "own"}
        mappings = {name: dict(parts[name]) for name in ("agent_args", "strategy_args", "env_args")}
        return {**parts, **mappings, "budget": self.episode_budget, "run_budget": whole}

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> "RunConfig":
        """Return the configuration that a `config.json` holds; a strategy of one's own is in it by name only."""
        known = [part.name for part in fields(cls)]
        parts = {name: value for name, value in recorded.items() if name in known}
        for name in ("agent", "strategies", "n", "seed", "notes"):
            if isinstance(parts.get(name), list):
                parts[name] = tuple(parts[name])
        absent = {name: _absent for name in parts.get("strategies", ()) if name not in STRATEGIES}
        budget = {**parts.get("budget", {}), **recorded.get("run_budget", {})}
        return cls(**{**parts, "budget": budget, "own": absent})

    def name(self) -> str:
        """Return a folder name that the same command always gets, and no other."""
        fixed = {key: value for key, value in self.as_json().items() if key not in FREE}
        environment = self.env.rpartition("/")[2].rpartition("-v")[0] or self.env.rpartition("/")[2]
        strategies = re.sub(r"[^\w-]+", "-", "-".join(self.strategies[:4]))
        return f"{environment.lower()}-{strategies}-{digest(fixed, str(self.data_dir))[:8]}"

    def equal_on(self) -> str:
        """Say on which axis the strategies' budgets are equal, or that they are not."""
        counted: dict[tuple[str, str], list[str]] = {}
        for name in self.strategies:
            if self.has_n(name):
                means = declaration_of(self.strategy(name)).n_means(self.options(name))
                counted.setdefault((means, ", ".join(map(str, self.ns_of(name)))), []).append(name)
        said = self._counted(counted)
        limits = ", ".join(f"{name} <= {limit:g}" for name, limit in self.budget.items())
        return f"{said}; {limits}" if limits else said

    def _counted(self, counted: Mapping[tuple[str, str], Sequence[str]]) -> str:
        """Say what n counts, given the strategies by what it counts for them and how much it is."""
        if not counted:
            return "one proposal per decision"
        others = [name for name in self.strategies if not self.has_n(name)]
        (means, n), *rest = counted
        if not rest:
            said = f"equal on {means}: n = {n}"
        elif all(its == n for _, its in rest):
            meanings = "; ".join(f"{means} for {', '.join(names)}" for (means, _), names in counted.items())
            said = f"not equal: n = {n} counts {meanings}"
        else:
            groups = (f"n = {its}, {means}, for {', '.join(names)}" for (means, its), names in counted.items())
            said = f"not equal: {'; '.join(groups)}"
        if others:
            said += f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} the reference with 1"
        return said

    def _optional(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in NAMED if getattr(self, name) is not None}

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

    def _require_known(self) -> None:
        """Refuse options of the strategies that none has, or whose value is of another kind than the default's."""
        options = {name: options_of(self.strategy(name)) for name in self.strategies}
        if any(_absent is self.own.get(name) for name in self.strategies):
            return
        for key, value in self.strategy_args.items():
            whose, _, option = key.rpartition(".")
            if whose and whose not in options:
                raise UnknownName("strategy of this run", whose, self.strategies)
            if not whose and option in ("n", *NAMED):
                raise ValueError(
                    f"expected --{option} for all strategies, or STRATEGY.{option} for one, got the strategy argument "
                    f"{option}; name the strategy, or use --{option}"
                )
            having = [whose] if whose else list(options)
            known = {name: default for strategy in having for name, default in options[strategy].items()}
            if option not in known:
                raise UnknownName(f"option of {', '.join(having)}", option, known)
            if _is_number(known[option]) and not _is_number(value):
                raise ValueError(f"expected a number for {option}, as its default {known[option]}, got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _several(value: T | tuple[T, ...]) -> tuple[T, ...]:
    return value if isinstance(value, tuple) else (value,)


def _absent(here: State, *, n: int = 1, **options: Any) -> Asking[None]:
    """Stand in for a strategy of somebody's own in a run that is only read."""
    raise NotImplementedError("expected a strategy, got only its name from a recorded run; pass the strategy itself")
