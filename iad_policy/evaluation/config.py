"""What a run is: everything that its answers depend on, as it was asked for."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from iad_policy.budget import Budget
from iad_policy.digest import digest
from iad_policy.errors import UnknownName
from iad_policy.strategies import declaration_of, find_strategy, load_strategy, options_of

DEFAULT_STRATEGIES = ("single", "bon-sc", "iad")
DEFAULT_BASELINE = "bon-sc"
REFERENCE = "single"
FREE = frozenset({"threads", "cache", "data_dir", "run_budget", "preset"})
"""Parts that change no answer, so that they may change from one run of a command to the next."""
NAMED = ("n", "feedback", "stop", "delta", "temperature")
"""Options of strategies that have a part of their own."""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration of a comparison.

    Attributes:
        env: The environment's id.
        agent: The agent's name.
        verifier: The verifier's name; "" for none.
        strategies: Names, in the order of the table.
        preset: Where settings came from; the settings themselves stand in the other parts.
        agent_args: Further options of the agent.
        strategy_args: Further options of the strategies: `k` of every strategy that has it, `chains.k` of one.
        env_args: Further arguments of `gym.make`.
        data_dir: The environment's data folder; None for the default. Data are told apart by content, not place.
        n: Proposals per decision, or what else a strategy declares, for strategies that have it.
        tasks: How many, from the start of the split; fewer where it has fewer. None for all.
        subset: A share of the split to draw them from, 0-1, at random by the seed; None for the whole split.
        split: The split, where the environment has splits.
        seed: Of every sample.
        baseline: The strategy that others are compared with; "" for `bon-sc` where it runs, else the first.
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
    preset: str = ""
    agent_args: Mapping[str, Any] = field(default_factory=dict)
    strategy_args: Mapping[str, Any] = field(default_factory=dict)
    env_args: Mapping[str, Any] = field(default_factory=dict)
    data_dir: str | None = None
    n: int = 3
    tasks: int | None = 100
    subset: float | None = None
    split: str | None = None
    seed: int = 0
    baseline: str = ""
    feedback: str | None = None
    stop: str | None = None
    delta: float | None = None
    temperature: float | None = None
    budget: Mapping[str, float] = field(default_factory=dict)
    threads: int = 1
    cache: bool = True

    def __post_init__(self) -> None:
        for name in self.strategies:
            find_strategy(name)
        if not self.strategies or len(set(self.strategies)) < len(self.strategies):
            raise ValueError(
                f"expected strategies that differ, got {','.join(self.strategies) or 'none'}; name each once"
            )
        for name, value in (("n", self.n), ("tasks", self.tasks), ("threads", self.threads)):
            if value is not None and value < 1:
                raise ValueError(f"expected {name} of 1 or more, got {value}")
        if self.subset is not None and not 0 < self.subset <= 1:
            raise ValueError(f"expected a subset above 0 and up to 1, a share of the split, got {self.subset}")
        if self.seed < 0:
            raise ValueError(f"expected a seed of 0 or more, got {self.seed}")
        if self.temperature is not None and not self.temperature >= 0:
            raise ValueError(f"expected a temperature of 0 or more, got {self.temperature}")
        if self.delta is not None and not math.isfinite(self.delta):
            raise ValueError(f"expected a finite delta, got {self.delta}")
        if self.baseline and self.baseline not in self.strategies:
            raise UnknownName("baseline among the strategies", self.baseline, self.strategies)
        Budget(self.budget)
        self._require_used()
        self._require_known()
        for name in self.strategies:
            load_strategy(name, **self.options(name))

    @property
    def compared_with(self) -> str:
        """The baseline's name."""
        return self.baseline or (DEFAULT_BASELINE if DEFAULT_BASELINE in self.strategies else self.strategies[0])

    @property
    def episode_budget(self) -> dict[str, float]:
        """The limits that an episode's course depends on: all but those of the run as a whole."""
        return {name: limit for name, limit in self.budget.items() if not name.startswith("run.")}

    def options(self, strategy: str) -> dict[str, Any]:
        """Return the options, by name, that one strategy is run with: what is said of it alone goes before."""
        known = options_of(find_strategy(strategy))
        own = {option: value for whose, option, value in self._strategy_args() if whose == strategy}
        shared = {option: value for whose, option, value in self._strategy_args() if not whose}
        return {name: value for name, value in (self._optional() | shared | own).items() if name in known}

    def as_json(self) -> dict[str, Any]:
        """Return the content of `config.json`: the budget of the run as a whole stands by itself."""
        whole = {name: limit for name, limit in self.budget.items() if name.startswith("run.")}
        return {**asdict(self), "budget": self.episode_budget, "run_budget": whole}

    def name(self) -> str:
        """Return a folder name that the same command always gets, and no other."""
        fixed = {key: value for key, value in self.as_json().items() if key not in FREE}
        environment = self.env.rpartition("/")[2].rpartition("-v")[0] or self.env.rpartition("/")[2]
        strategies = re.sub(r"[^\w-]+", "-", "-".join(self.strategies[:4]))
        return f"{environment.lower()}-{strategies}-{digest(fixed, str(self.data_dir))[:8]}"

    def equal_on(self) -> str:
        """Say on which axis the strategies' budgets are equal, or that they are not."""
        counted: dict[tuple[str, int], list[str]] = {}
        for name in self.strategies:
            options = self.options(name)
            if "n" in options:
                counted.setdefault((declaration_of(name).n_means(options), options["n"]), []).append(name)
        said = self._counted(counted)
        limits = ", ".join(f"{name} <= {limit:g}" for name, limit in self.budget.items())
        return f"{said}; {limits}" if limits else said

    def _counted(self, counted: Mapping[tuple[str, int], Sequence[str]]) -> str:
        """Say what n counts, given the strategies by what it counts for them and how much it is."""
        if not counted:
            return "one proposal per decision"
        others = [name for name in self.strategies if not any(name in names for names in counted.values())]
        (_, n), *rest = counted
        if not rest:
            said = f"equal on {next(iter(counted))[0]}: n = {n}"
        elif all(its == n for _, its in rest):
            meanings = "; ".join(f"{means} for {', '.join(names)}" for (means, _), names in counted.items())
            said = f"not equal: n = {n} counts {meanings}"
        else:
            meanings = "; ".join(
                f"n = {its}, {means}, for {', '.join(names)}" for (means, its), names in counted.items()
            )
            said = f"not equal: {meanings}"
        if others:
            said += f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} the reference with 1"
        return said

    def _optional(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in NAMED if getattr(self, name) is not None}

    def _strategy_args(self) -> list[tuple[str, str, Any]]:
        """Return whose option ("" for all that have it), which, and its value."""
        return [(*key.rpartition(".")[::2], value) for key, value in self.strategy_args.items()]

    def _require_used(self) -> None:
        used = {name for strategy in self.strategies for name in self.options(strategy)} | {"n"}
        for name in self._optional():
            if name not in used:
                raise ValueError(
                    f"expected options of the strategies {', '.join(self.strategies)}, got {name}, which none has; "
                    "leave it out, or add a strategy"
                )

    def _require_known(self) -> None:
        """Refuse options of the strategies that none has, or whose value is of another kind than the default's."""
        options = {name: options_of(find_strategy(name)) for name in self.strategies}
        for whose, option, value in self._strategy_args():
            if whose and whose not in options:
                raise UnknownName("strategy of this run", whose, self.strategies)
            if not whose and option in NAMED:
                raise ValueError(
                    f"expected --{option} for all strategies, or STRATEGY.{option} for one, got the strategy argument "
                    f"{option}; name the strategy, or use --{option}"
                )
            having = [whose] if whose else list(options)
            known = {name: default for strategy in having for name, default in options[strategy].items()}
            if option not in known:
                raise UnknownName(f"option of {', '.join(having)}", option, known)
            default = known[option]
            if _is_number(default) and not _is_number(value):
                raise ValueError(f"expected a number for {option}, as its default {default}, got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
