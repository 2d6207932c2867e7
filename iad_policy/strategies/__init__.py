"""Strategies: decision methods as generators without I/O, one file per method. See `iad_policy.requests`.

To add one, write its file and name it in `STRATEGIES`. Your own is `module:function`: see docs/add-a-strategy.md. If
its `n` does not count proposals per decision, or if it needs no verifier or a special one, it says so with `declares`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, update_wrapper
from typing import Any, Concatenate, Literal, ParamSpec, TypeAlias, TypeVar

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object, load_own
from iad_policy.requests import Asking, Commit
from iad_policy.strategies.building_blocks.feedback_forms import load_feedback
from iad_policy.strategies.building_blocks.stop import load_stop, reads_verdicts
from iad_policy.types import DIFFER, INSTRUCTIONS, Candidate, State, Verifier
from iad_policy.types.information import may_read_gold
from iad_policy.types.plan import load_plan

STRATEGIES: Mapping[str, str] = {
    "single": "iad_policy.strategies.single:single",
    "bon": "iad_policy.strategies.bon:bon",
    "bon-sc": "iad_policy.strategies.bon_sc:bon_sc",
    "iad": "iad_policy.strategies.iad:iad",
    "adaptive": "iad_policy.strategies.adaptive:adaptive",
    "mixed": "iad_policy.strategies.mixed:mixed",
    "ab-mcts": "iad_policy.strategies.ab_mcts:ab_mcts",
    "chains": "iad_policy.strategies.chains:chains",
    "artis": "iad_policy.strategies.artis:artis",
    "weighted-bon": "iad_policy.strategies.weighted_bon:weighted_bon",
    "self-refine": "iad_policy.strategies.self_refine:self_refine",
    "sk2code-feedback": "iad_policy.strategies.sk2code_feedback:sk2code_feedback",
    "self-debug": "iad_policy.strategies.self_debug:self_debug",
    "try-again": "iad_policy.strategies.try_again:try_again",
    "sequential-revision": "iad_policy.strategies.sequential_revision:sequential_revision",
    "iad-fb": "iad_policy.strategies.iad_fb:iad_fb",
    "q-guided": "iad_policy.strategies.q_guided:q_guided",
    "bon-episode": "iad_policy.strategies.bon_episode:bon_episode",
    "reflexion": "iad_policy.strategies.reflexion:reflexion",
    "beam": "iad_policy.strategies.beam:beam",
    "mcts": "iad_policy.strategies.mcts:mcts",
    "lats": "iad_policy.strategies.lats:lats",
    "best-first": "iad_policy.strategies.best_first:best_first",
    "q-tree": "iad_policy.strategies.reasoning_tree:q_tree",
}
"""Name -> "module:function"."""

P = ParamSpec("P")
StrategyT = TypeVar("StrategyT", bound=Callable[..., Any])
Strategy = Callable[..., Asking[None]]
Needs: TypeAlias = Literal["nothing", "verifier", "oracle"]
PROPOSALS = "proposals per decision"


@dataclass(frozen=True, slots=True)
class Declaration:
    """Facts about a method that tables and checks need.

    Attributes:
        n: The unit that `n` counts.
        n_with: The unit that `n` counts if an option is given, by the option's name.
        needs: `nothing` for a method that asks no verifier, `verifier` for one that needs one and works with any,
            `oracle` for one that is defined only with the true reward. None if it is not said: it may ask any verifier,
            and is refused without one when it asks.
        needs_unless: Options that, if one is false, make it ask no verifier.
    """

    n: str = PROPOSALS
    n_with: Mapping[str, str] = field(default_factory=dict)
    needs: Needs | None = None
    needs_unless: tuple[str, ...] = ()

    def n_means(self, options: Mapping[str, Any]) -> str:
        """Return the unit that `n` counts under the given options."""
        return next((means for option, means in self.n_with.items() if option in options), self.n)

    def needs_with(self, options: Mapping[str, Any]) -> Needs | None:
        """Return what it needs under the given options."""
        return "nothing" if any(not options.get(option, True) for option in self.needs_unless) else self.needs


def declares(
    *,
    n: str = PROPOSALS,
    n_with: Mapping[str, str] | None = None,
    needs: Needs | None = None,
    needs_unless: tuple[str, ...] = (),
) -> Callable[[StrategyT], StrategyT]:
    """Attach a `Declaration` to a strategy."""

    def declare(strategy: StrategyT) -> StrategyT:
        vars(strategy)["declaration"] = Declaration(n, n_with or {}, needs, needs_unless)
        return strategy

    return declare


def declaration_of(strategy: str | Strategy) -> Declaration:
    """Return the declaration of a strategy, given by name or as a function.

    Raises:
        UnknownName: There is no such strategy.
    """
    declared: Declaration = getattr(find_strategy(strategy), "declaration", Declaration())
    return declared


def per_step(
    decide: Callable[Concatenate[State, P], Asking[Candidate]],
) -> Callable[Concatenate[State, P], Asking[None]]:
    """Turn a method that decides one step into a strategy for the whole episode."""

    def episode(here: State, /, *args: P.args, **options: P.kwargs) -> Asking[None]:
        while not here.done:
            here = yield from Commit((yield from decide(here, *args, **options)))

    update_wrapper(episode, decide)
    return episode


def load_strategy(strategy: str | Strategy, **options: Any) -> Callable[[State], Asking[None]]:
    """Return a strategy with its options set, ready to be called with its first state.

    The strategy is a name, `module:function` or a generator function. `n` is dropped if the strategy does not take it,
    as `single`. `feedback` and `stop` may be given by name, `plan` by its file or its content.

    Raises:
        UnknownName: There is no such strategy, option, feedback form, instruction or stop rule.
        ValueError: `n` is below 1, a plan can't be read, a stop rule's number is out of range, or it reads verdicts and
            the strategy asks for none.
    """
    strategy = find_strategy(strategy)
    known = options_of(strategy)
    if "n" not in known:
        options.pop("n", None)
    elif not isinstance(options.get("n", 1), int) or options.get("n", 1) < 1:
        means = declaration_of(strategy).n_means(options)
        raise ValueError(f"expected n, the {means}, to be an integer of 1 or more, got {options['n']!r}; such as n=3")
    for option in options:
        if option not in known:
            raise UnknownName("option of the strategy", option, known)
    if isinstance(options.get("feedback"), str):
        options["feedback"] = load_feedback(options["feedback"])
    if options.get("instruct", DIFFER) not in INSTRUCTIONS:
        raise UnknownName("instruction", str(options["instruct"]), INSTRUCTIONS)
    if options.get("plan") is not None:
        options["plan"] = load_plan(options["plan"])
    if "stop" in options:
        stop = options["stop"]
        if isinstance(stop, str):
            options["stop"] = load_stop(stop)
            if reads_verdicts(stop) and declaration_of(strategy).needs_with(options) == "nothing":
                raise ValueError(
                    f"expected a stop rule without verdicts for {strategy.__name__}, which asks no verifier, got "
                    f"{stop!r}; use vote:0.95 or repeat"
                )
    return partial(strategy, **options)


def require_verifier(
    strategy: str | Strategy, verifier: Verifier | None, options: Mapping[str, Any] | None = None
) -> None:
    """Refuse a verifier that would change a method, and none for a method that needs one under the given options.

    A method that shows the true reward needs an `oracle` verifier. One that does not declare what it needs is accepted.

    Raises:
        ValueError: The strategy needs a verifier and got none, or an `oracle` verifier and got another one or none.
    """
    needs = declaration_of(strategy).needs_with(options or {})
    name = strategy if isinstance(strategy, str) else getattr(strategy, "__name__", type(strategy).__name__)
    if needs == "verifier" and verifier is None:
        raise ValueError(
            f"expected a verifier for {name}, which asks for verdicts, got none; name one: --verifier module:Class or "
            f"judge:<model> (in Python verifier=...), or proxy if the environment has one, or leave {name} out"
        )
    if needs == "oracle" and not may_read_gold(verifier):
        given = "no verifier" if verifier is None else f"one labelled {verifier.information!r}"
        raise ValueError(
            f"expected a verifier labelled 'oracle' for {name}, which shows the agent the true reward, got {given}; "
            "pass the verifier 'oracle', or use a strategy that does not need it"
        )


def find_strategy(strategy: str | Strategy) -> Strategy:
    """Return a strategy by its name, or the function that `module:function` names. A function is returned as it is.

    Raises:
        UnknownName: There is no such strategy, module or function.
        TypeError: The named object can't be a strategy.
    """
    if not isinstance(strategy, str):
        return strategy
    if strategy in STRATEGIES:
        return load_object(STRATEGIES[strategy])  # type: ignore[no-any-return]
    own = load_own("strategy", strategy, STRATEGIES, "strategies")
    if not callable(own) or not inspect.signature(own).parameters:
        raise TypeError(
            f"expected a strategy, a generator function f(here, *, ...), got {strategy}, {own!r:.100}; see "
            "docs/add-a-strategy.md"
        )
    return own  # type: ignore[no-any-return]


def options_of(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy's options with their defaults."""
    parameters = list(inspect.signature(strategy).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}
