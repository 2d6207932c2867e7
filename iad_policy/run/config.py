"""Defines the configuration of a run and all its options."""

import math
import re
from collections.abc import Generator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from iad_policy.budget import Budget
from iad_policy.errors import UnknownName
from iad_policy.ledger.episode_record import Arm
from iad_policy.strategies import (
    PROPOSALS,
    STRATEGIES,
    Strategy,
    declaration_of,
    find_strategy,
    load_strategy,
    options_of,
)
from iad_policy.strategies.building_blocks.stop import reads_verdicts
from iad_policy.types import State
from iad_policy.types.hashing import digest
from iad_policy.types.names import NO_VERIFIER, PERFECT
from iad_policy.types.plan import PLAN, AdaptivePlan, load_plan
from iad_policy.types.secrets import without_masks, without_secrets

DEFAULT_STRATEGIES = ("single", "bon-sc", "iad")
DEFAULT_BASELINES = ("bon-sc", "bon")
"""The baseline by default: the first of them that runs, else the first strategy."""
REFERENCE = "single"
MATCHED_AXES = ("proposals", "tokens", "calls", "usd")
"""Axes on which spending can be matched. A call is a proposal, a verdict or a text from a role."""
THREADS = "threads"
WITHOUT_N = "without_n"
"""Key of the user-defined strategies without an option n: a recorded run has their names, not their options."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOption:
    """Description of one option of a run. The command line, TOML files, presets and checks are derived from it.

    Attributes:
        help: One phrase, for the command line's help and the documentation.
        kind: Type of one value; dict for pairs KEY=VALUE.
        takes_several: Whether it takes a list. Every combination of the listed values is run.
        per_strategy: Whether strategies have an option of the same name, which a strategy argument can override.
        changes_answers: Whether answers depend on it. A run folder refuses another value of such an option.
        flag: Name on the command line without dashes, if not the field's.
        metavar: Placeholder of the value in the help.
    """

    help: str
    kind: type = str
    takes_several: bool = False
    per_strategy: bool = False
    changes_answers: bool = True
    flag: str = ""
    metavar: str = ""


def _option(default: Any, help: str, **facts: Any) -> Any:
    """Return a field of `RunConfig` with its option."""
    metadata = {"option": RunOption(help=help, **facts)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The configuration of a comparison in one environment. Every field is an option with its own description.

    `agent`, `verifier`, `n` and `seed` take one value or several and hold a tuple. Every combination is run, but a
    strategy that asks no verifier only once.

    Raises:
        ValueError: A name or number is not valid. The message lists the valid ones.
    """

    env: str = _option(MISSING, "Environment id, such as IAD/WebShop-v0.")
    agent: tuple[str, ...] = _option(
        MISSING,
        "Base agent; by default the environment's own, if it has one.",
        takes_several=True,
        metavar="NAME[,NAME...]",
    )
    verifier: tuple[str, ...] = _option(
        ("",),
        "Verifier, or none; by default the environment's proxy.",
        takes_several=True,
        metavar="NAME[,NAME...]",
    )
    strategies: tuple[str, ...] = _option(
        DEFAULT_STRATEGIES, "Strategies, in the order of the table.", takes_several=True, metavar="NAME[,NAME...]"
    )
    preset: str = _option(
        "", "Settings of a paper, such as iad/webshop; other options override them.", changes_answers=False
    )
    notes: tuple[str, ...] = ()
    """Lines that are printed with the run, such as which settings a paper states. Not an option."""
    agent_args: Mapping[str, Any] = _option({}, "Further option of the agents.", kind=dict, flag="agent-arg")
    strategy_args: Mapping[str, Any] = _option(
        {},
        "Further option of all strategies that have it, or of one.",
        kind=dict,
        flag="strategy-arg",
        metavar="[STRATEGY.]KEY=VALUE",
    )
    env_args: Mapping[str, Any] = _option({}, "Further argument of the environment.", kind=dict, flag="env-arg")
    data_dir: str | None = _option(
        None,
        "Folder with the environment's data, or official:NAME. Data are identified by content.",
        changes_answers=False,
    )
    n: tuple[int, ...] = _option(
        (3,),
        "Proposals per decision; docs/strategies.md says what else a strategy counts by it.",
        kind=int,
        takes_several=True,
        per_strategy=True,
        metavar="N[,N...]",
    )
    tasks: int | None = _option(
        100,
        "Number of tasks, from the start of the split; with a preset all of them.",
        kind=int,
        changes_answers=False,
    )
    subset: float | None = _option(None, "Share of the split to draw the tasks from, by the first seed.", kind=float)
    split: str | None = _option(None, "Split of the tasks; by default the environment's own.")
    seed: tuple[int, ...] = _option(
        (0,), "Seed of every sample.", kind=int, takes_several=True, metavar="SEED[,SEED...]"
    )
    baseline: str = _option(
        "",
        "Strategy, or row of the table, that the others are compared with; by default bon-sc, or bon, where one runs.",
        changes_answers=False,
    )
    match: str = _option(
        "",
        "Also compare at equal mean spending per episode: on proposals, or with several n on tokens, calls or usd.",
        changes_answers=False,
    )
    roles: Mapping[str, str] = _option(
        {}, "Model or component used for a role.", kind=dict, flag="role", metavar="[STRATEGY.]ROLE=COMPONENT"
    )
    simulator: str = _option(PERFECT, "Source of simulations: perfect, noisy:F, retrieval[:FILE] or llm:<model>.")
    feedback: str | None = _option(None, "Feedback form: what the agent sees before it refines.", per_strategy=True)
    instruct: str | None = _option(None, "Instruction: what it is asked to do with that.", per_strategy=True)
    stop: str | None = _option(
        None,
        "Stop rule of strategies that sample or refine: never, passed, repeat, score:X, vote:P, gain:W.",
        per_strategy=True,
    )
    delta: float | None = _option(
        None, "Margin by which a new candidate must beat the incumbent.", kind=float, per_strategy=True
    )
    temperature: float | None = _option(
        None, "Temperature of proposals; by default the agent's own.", kind=float, per_strategy=True
    )
    budget: Mapping[str, float] = _option({}, "Limit, such as decision.proposals=3.", kind=dict, metavar="LIMIT=VALUE")
    threads: int = _option(
        1, "Requests of one decision that are answered in parallel.", kind=int, changes_answers=False
    )
    workers: int = _option(1, "Episodes that run in parallel.", kind=int, changes_answers=False)
    engine: str = _option(
        THREADS, "What runs episodes in parallel: threads, or ray on a cluster.", changes_answers=False
    )
    charge_pilot: bool = _option(
        False,
        "Whether a strategy with a plan is charged what the plan's pilot spent, shared among its episodes.",
        kind=bool,
        changes_answers=False,
    )
    cache: bool = _option(True, "Whether language-model answers are cached.", kind=bool, changes_answers=False)
    allow_trained_tasks: bool = _option(
        False,
        "Whether trained components may be measured on tasks that they were trained on.",
        kind=bool,
        changes_answers=False,
    )
    keep_going: bool = _option(
        False,
        "Whether a run goes on although episodes or verdicts fail alike, one after another.",
        kind=bool,
        changes_answers=False,
    )
    accept_agent: bool = _option(
        False,
        "Whether the run goes on with recorded answers of an agent whose code was changed since; its reports say so.",
        kind=bool,
        changes_answers=False,
    )
    own: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Strategies, agents and verifiers that are objects, by their names in this run. Not an option."""

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            value = getattr(self, name)
            if option.takes_several and not isinstance(value, tuple):
                object.__setattr__(self, name, (value,))
        # A run holds its plan: the file may change or go. So answers are those of the plan's content.
        plans = {
            key: load_plan(value).as_dict()
            for key, value in self.strategy_args.items()
            if key.rpartition(".")[2] == PLAN and isinstance(value, str | Path | AdaptivePlan)
        }
        object.__setattr__(self, "strategy_args", {**self.strategy_args, **plans})
        for name in self.strategies:
            self.strategy(name)
        several = {
            "strategies": self.strategies,
            "agents": self.agent,
            "verifiers": self.verifier,
            "n": self.n,
            "seeds": self.seed,
        }
        for name, values in several.items():
            if not values or len(set(values)) < len(values):
                given = ",".join(map(str, values)) or "none"
                raise ValueError(f"expected different {name}, at least one, got {given}; name each once")
        counts = (("n", min(self.n)), ("tasks", self.tasks), ("threads", self.threads), ("workers", self.workers))
        for name, value in counts:
            if value is not None and value < 1:
                raise ValueError(f"expected {name} of 1 or more, got {value}")
        if self.subset is not None and not 0 < self.subset <= 1:
            raise ValueError(f"expected a subset above 0 and up to 1, a share of the split, got {self.subset}")
        if min(self.seed) < 0:
            raise ValueError(f"expected a seed of 0 or more, got {min(self.seed)}")
        if self.temperature is not None and not self.temperature >= 0:
            raise ValueError(f"expected a temperature of 0 or more, got {self.temperature}")
        if self.delta is not None and not math.isfinite(self.delta):
            raise ValueError(f"expected a finite delta, got {self.delta}")
        if self.baseline and self.baseline not in self.strategies and self.baseline_row is None:
            rows = [label for label in map(self.label, self.arms) if label not in self.strategies]
            raise UnknownName("baseline among the strategies and rows", self.baseline, [*self.strategies, *rows])
        if len(self.verifier) > 1 and "" in self.verifier:
            raise ValueError(
                f"expected verifiers, got {NO_VERIFIER} among several; leave it out: a strategy that asks no verifier, "
                "such as bon-sc, runs once, without"
            )
        if self.match and self.match not in MATCHED_AXES:
            raise UnknownName("axis to match", self.match, MATCHED_AXES)
        if self.charge_pilot and not self.plans:
            raise ValueError(
                "expected a strategy with a plan, whose pilot is charged, got none; give one: --strategy-arg "
                "adaptive.plan=FILE"
            )
        for plan in self.plans.values() if self.charge_pilot else ():
            plan.pilot_usage()  # refuses one that does not say
        Budget(self.budget)
        self._require_used()
        self._require_known()
        for arm in self.arms:
            load_strategy(self.strategy(arm.strategy), **self.options(arm.strategy, arm.n))

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The rows of the table, ordered by agent, then strategy, then verifier, then n."""
        return tuple(
            Arm(agent, strategy, n, verifier)
            for agent in self.agent
            for strategy in self.strategies
            for verifier in self.verifiers_of(strategy)
            for n in self.ns_of(strategy)
        )

    @property
    def plans(self) -> dict[str, AdaptivePlan]:
        """The plans of the strategies that have one."""
        found = {name: self.options(name).get(PLAN) for name in self.strategies}
        return {name: load_plan(plan) for name, plan in found.items() if plan is not None}

    def verifiers_of(self, strategy: str) -> tuple[str, ...]:
        """Return the verifiers that a strategy is run with; the first one alone for a strategy that asks none."""
        return self.verifier if self.asks_verifier(strategy) else self.verifier[:1]

    def asks_verifier(self, strategy: str) -> bool:
        """Say whether a strategy asks the verifier, with its options."""
        return declaration_of(self.strategy(strategy)).needs_with(self.options(strategy)) != "nothing"

    def has_n(self, strategy: str) -> bool:
        """Say whether a strategy takes a number of proposals per decision. With a plan it goes by the plan's."""
        return "n" in options_of(self.strategy(strategy)) and not self._has_plan(strategy)

    def _has_plan(self, strategy: str) -> bool:
        takes = PLAN in options_of(self.strategy(strategy))
        return takes and any(name in self.strategy_args for name in (PLAN, f"{strategy}.{PLAN}"))

    def strategy(self, name: str) -> Strategy:
        """Return a strategy by its name."""
        return find_strategy(self.own.get(name, name))

    def ns_of(self, strategy: str) -> tuple[int, ...]:
        """Return the values of `n` that a strategy is run with; 1 for a strategy without that option."""
        if not self.has_n(strategy):
            return (1,)
        n = self.strategy_args.get(f"{strategy}.n", self.n)
        return n if isinstance(n, tuple) else (n,)

    def label(self, arm: Arm) -> str:
        """Return the label of an arm's row, with `n`, verifier and agent only if they differ between rows."""
        n = f" n={arm.n}" if len(self.ns_of(arm.strategy)) > 1 else ""
        agent = f" {arm.agent}" if len(self.agent) > 1 else ""
        return f"{self.named_line(arm)}{n}{agent}"

    def named_line(self, arm: Arm) -> str:
        """Return the name of an arm's strategy, with its verifier if there are several."""
        several = len(self.verifiers_of(arm.strategy)) > 1
        return f"{arm.strategy} {arm.verifier or NO_VERIFIER}" if several else arm.strategy

    def baseline_of(self, arm: Arm) -> Arm | None:
        """Return the baseline of an arm; None for a baseline.

        It has the same agent, and if possible the same `n` and verifier. The baseline's own strategy with another
        verifier is compared with itself under the first one. A baseline that is a row is that of all other rows.
        """
        if self.baseline_row is not None:
            return None if arm == self.baseline_row else self.baseline_row
        verifiers = self.verifiers_of(self.compared_with)
        verifier = arm.verifier if arm.verifier in verifiers else verifiers[0]
        if arm.strategy == self.compared_with:
            return None if arm.verifier == verifiers[0] else arm._replace(verifier=verifiers[0])
        ns = self.ns_of(self.compared_with)
        is_among = self.has_n(arm.strategy) and arm.n in ns
        return Arm(arm.agent, self.compared_with, arm.n if is_among else max(ns), verifier)

    def starts_at_reference(self, strategy: str, axis: str) -> bool:
        """Say whether `single`, if it runs, is a strategy's point n = 1 on the curve of an axis.

        Where n counts proposals per decision, both then make one. Verdicts make them differ on other axes.
        """
        if axis != "proposals" or REFERENCE not in self.strategies or not self.has_n(strategy):
            return False
        return declaration_of(self.strategy(strategy)).n_means(self.options(strategy)) == PROPOSALS

    def require_curve(self, axis: str) -> None:
        """Refuse to match an axis of spending on which the baseline has a single point.

        A recorded run is still read with such a baseline, and then not compared at equal spending.

        Raises:
            ValueError: The baseline has one n.
        """
        own = self.ns_of(self.compared_with)
        if len({*own, *([1] if self.starts_at_reference(self.compared_with, axis) else ())}) > 1:
            return
        fix = "pass several: --n 1,2,4,8"
        if len(self.n) > 1:  # they were given, and this strategy has none
            others = [one for one in self.strategies if len(self.ns_of(one)) > 1]
            fix = f"name another: --baseline {others[0]}" if others else "add a strategy that has n, such as bon"
        raise ValueError(
            f"expected several n of the baseline {self.compared_with} to match {axis}, got n = {own[0]}, which is a "
            f"point and no curve; {fix}"
        )

    @property
    def baseline_row(self) -> Arm | None:
        """The row that all others are compared with, if one was named, not a strategy."""
        if self.baseline in self.strategies:
            return None
        return next((arm for arm in self.arms if self.label(arm) == self.baseline), None)

    @property
    def baseline_name(self) -> str:
        """The name of the baseline: a strategy, or a row."""
        return self.compared_with if self.baseline_row is None else self.baseline

    @property
    def compared_with(self) -> str:
        """The baseline's strategy."""
        if self.baseline_row is not None:
            return self.baseline_row.strategy
        known = (name for name in (self.baseline, *DEFAULT_BASELINES) if name in self.strategies)
        return next(known, self.strategies[0])

    @property
    def why_compared(self) -> str:
        """Why this is the baseline, in words."""
        if self.baseline:
            return "as asked"
        is_usual = self.compared_with in DEFAULT_BASELINES
        rule = "by default" if is_usual else f"the first, without {' or '.join(DEFAULT_BASELINES)}"
        return f"{rule}; another: --baseline NAME"

    @property
    def episode_budget(self) -> dict[str, float]:
        """The limits that the answers of an episode depend on: all except those of the whole run."""
        return {name: limit for name, limit in self.budget.items() if not name.startswith("run.")}

    def options(self, strategy: str, n: int | None = None) -> dict[str, Any]:
        """Return the options of one strategy by name, with `n` proposals per decision.

        A value for this strategy alone overrides the value for all. A stop rule for all that reads verdicts is none for
        a strategy that asks for none.
        """
        known = options_of(self.strategy(strategy))
        args = [(*key.rpartition(".")[::2], value) for key, value in self.strategy_args.items()]
        own = {option: value for whose, option, value in args if whose == strategy}
        shared = {option: value for whose, option, value in args if not whose}
        given = self._optional() | shared | own | {"n": self.ns_of(strategy)[0] if n is None else n}
        asks_none = declaration_of(self.strategy(strategy)).needs_with(given) == "nothing"
        if asks_none and "stop" not in own and reads_verdicts(str(given.get("stop"))):
            del given["stop"]
        return {name: value for name, value in given.items() if name in known}

    def as_json(self) -> dict[str, Any]:
        """Return the content of `config.json`, without secrets. The budget of the whole run is an entry of its own."""
        whole = {name: limit for name, limit in self.budget.items() if name.startswith("run.")}
        parts: dict[str, Any] = {part.name: getattr(self, part.name) for part in fields(self) if part.name != "own"}
        parts |= {name: without_secrets(parts[name]) for name in MAPPINGS}
        parts |= {name: one_or_all(parts[name]) for name in ("agent", "verifier", "n", "seed")}
        own = [name for name in self.strategies if name not in STRATEGIES and not self.has_n(name)]
        without_n = {WITHOUT_N: own} if own else {}
        return {**parts, "budget": self.episode_budget, "run_budget": whole, **without_n}

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> "RunConfig":
        """Return the configuration of a `config.json`. It has only the names of user-defined strategies, no secrets."""
        known = [part.name for part in fields(cls)]
        parts: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in recorded.items()
            if name in known
        }
        absent = {
            name: _absent_without_n if name in recorded.get(WITHOUT_N, ()) else _absent
            for name in parts.get("strategies", ())
            if name not in STRATEGIES
        }
        for key, value in parts.get("strategy_args", {}).items():
            if key.rpartition(".")[2] == PLAN and isinstance(value, str):  # a file, and a folder is read alone
                raise ValueError(f"expected a run's own plan, got the file {value!r:.200}; repeat the recorded command")
        parts |= {name: without_masks(parts[name]) for name in ("agent_args", "env_args") if name in parts}
        budget = {**parts.get("budget", {}), **recorded.get("run_budget", {})}
        return cls(**{**parts, "budget": budget, "own": absent})

    def name(self) -> str:
        """Return a folder name that is the same for equal configurations and different for others."""
        fixed = {key: value for key, value in self.as_json().items() if key not in FREE}
        environment = self.env.rpartition("/")[2].rpartition("-v")[0] or self.env.rpartition("/")[2]
        strategies = re.sub(r"[^\w-]+", "-", "-".join(self.strategies[:4]))
        return f"{environment.lower()}-{strategies}-{digest(fixed, str(self.data_dir))[:8]}"

    def equal_on(self) -> str:
        """Describe the axis on which the strategies' budgets are equal, or how they differ."""
        counted: dict[tuple[str, str], list[str]] = {}
        for name in self.strategies:
            if self.has_n(name):
                means = declaration_of(self.strategy(name)).n_means(self.options(name))
                counted.setdefault((means, ", ".join(map(str, self.ns_of(name)))), []).append(name)
        text = self._counted(counted)
        limits = ", ".join(f"{name} <= {limit:g}" for name, limit in self.budget.items())
        return f"{text}; {limits}" if limits else text

    def _counted(self, counted: Mapping[tuple[str, str], Sequence[str]]) -> str:
        """Describe what `n` counts, from the strategies grouped by its meaning and its values."""
        planned = [name for name in self.strategies if self._has_plan(name)]
        if not counted:
            return "n as the plan says" if planned else "one proposal per decision"
        others = [name for name in self.strategies if not self.has_n(name) and name not in planned]
        (means, n), *rest = counted
        if not rest:
            text = f"equal on {means}: n = {n}"
        elif all(its == n for _, its in rest):
            meanings = "; ".join(f"{means} for {', '.join(names)}" for (means, _), names in counted.items())
            text = f"not equal: n = {n} counts {meanings}"
        else:
            groups = (f"n = {its}, {means}, for {', '.join(names)}" for (means, its), names in counted.items())
            text = f"not equal: {'; '.join(groups)}"
        if others:
            text += f"; {', '.join(others)} {'is' if len(others) == 1 else 'are'} the reference with 1"
        return f"{text}; as the plan says for {', '.join(planned)}" if planned else text

    def _optional(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in PER_STRATEGY if name != "n" and getattr(self, name) is not None}

    def _require_used(self) -> None:
        used = {name for strategy in self.strategies for name in self.options(strategy)}
        for name in self._optional():
            if name not in used:
                raise ValueError(
                    f"expected options of the strategies {', '.join(self.strategies)}, got {name}, which none has; "
                    "leave it out, or add a strategy"
                )

    def _require_known(self) -> None:
        """Reject what no strategy of this run has, and strategy arguments whose type differs from the default's."""
        options = {name: options_of(self.strategy(name)) for name in self.strategies}
        for role in self.roles:
            whose = role.rpartition(".")[0]
            if whose and whose not in options:
                raise UnknownName("strategy of this run", whose, self.strategies)
        if any(self.own.get(name) in (_absent, _absent_without_n) for name in self.strategies):
            return
        for key, value in self.strategy_args.items():
            whose, _, option = key.rpartition(".")
            if whose and whose not in options:
                raise UnknownName("strategy of this run", whose, self.strategies)
            if not whose and option in PER_STRATEGY:
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


OPTIONS: Mapping[str, RunOption] = {
    part.name: part.metadata["option"] for part in fields(RunConfig) if "option" in part.metadata
}
"""Every option of a run by the name of its field, which is also its key in a TOML file."""
PER_STRATEGY = tuple(name for name, option in OPTIONS.items() if option.per_strategy)
"""Options that strategies have under the same name."""
MAPPINGS = tuple(name for name, option in OPTIONS.items() if option.kind is dict)
"""Options that are mappings: the command line adds to a preset's pairs."""
FREE = frozenset(
    {name for name, option in OPTIONS.items() if not option.changes_answers}
    | {"run_budget", "notes", WITHOUT_N}
    | {"max_steps", "discrete", "success_rule", "tasks_of", "gold"}  # these follow from the environment
    | {"trained_here", "accepted"}
)
"""Parts of `config.json` that may differ when a run goes on, because they change no answer."""


def one_or_all(values: tuple[T, ...]) -> T | tuple[T, ...]:
    """Return the only value of a tuple, or the tuple: the form in which runs are recorded and shown."""
    return values[0] if len(values) == 1 else values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _absent(here: State, *, n: int = 1, **options: Any) -> Generator[Any, Any, None]:
    """Replace a user-defined strategy when a recorded run is only read."""
    return _absent_without_n(here)


def _absent_without_n(here: State, **options: Any) -> Generator[Any, Any, None]:
    """Do the same for a strategy that has no option n, so that its rows are recorded with 1."""
    raise NotImplementedError("expected a strategy, got only its name from a recorded run; pass the strategy itself")
