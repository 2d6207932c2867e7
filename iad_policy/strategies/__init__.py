"""Strategies: how a method decides, one file each, as generators without I/O. See `iad_policy.requests`.

To add one: write its file, and name it in `STRATEGIES`; your own is `module:function`, see docs/add-a-strategy.md.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import Any, Concatenate, ParamSpec

from iad_policy.errors import UnknownName
from iad_policy.feedback import load_feedback
from iad_policy.names import load_object, load_own
from iad_policy.requests import Asking, Commit
from iad_policy.strategies.stop import load_stop
from iad_policy.types import Candidate, State

STRATEGIES: Mapping[str, str] = {
    "single": "iad_policy.strategies.single:single",
    "bon": "iad_policy.strategies.bon:bon",
    "bon-sc": "iad_policy.strategies.bon_sc:bon_sc",
    "iad": "iad_policy.strategies.iad:iad",
    "chains": "iad_policy.strategies.chains:chains",
}
"""Name -> "module:function"."""

P = ParamSpec("P")
Strategy = Callable[..., Asking[None]]


def per_step(
    decide: Callable[Concatenate[State, P], Asking[Candidate]],
) -> Callable[Concatenate[State, P], Asking[None]]:
    """Lift a method that decides one step at a time to one that runs through the episode."""

    def episode(here: State, /, *args: P.args, **options: P.kwargs) -> Asking[None]:
        while not here.done:
            here = yield from Commit((yield from decide(here, *args, **options)))

    update_wrapper(episode, decide)
    return episode


def load_strategy(strategy: str | Strategy, **options: Any) -> Callable[[State], Asking[None]]:
    """Return a strategy, by name, as `module:function` or as a generator function, ready to be given its first state.

    `n` is passed on if the strategy has it: `single` has not. `feedback` and `stop` may be given by name.

    Raises:
        UnknownName: No such strategy, feedback form or stop rule.
        ValueError: An option that it does not have, or `n` below 1.
    """
    if isinstance(strategy, str):
        strategy = find_strategy(strategy)
    known = options_of(strategy)
    if "n" not in known:
        options.pop("n", None)
    elif not isinstance(options.get("n", 1), int) or options.get("n", 1) < 1:
        raise ValueError(f"expected n, the proposals per decision, to be an integer of 1 or more, got {options['n']!r}")
    for option in options:
        if option not in known:
            raise UnknownName("option of the strategy", option, known)
    for option, load in (("feedback", load_feedback), ("stop", load_stop)):
        if isinstance(options.get(option), str):
            options[option] = load(options[option])
    return partial(strategy, **options)


def find_strategy(name: str) -> Strategy:
    """Return a strategy by its name, or the function that `module:function` names.

    Raises:
        UnknownName: No such strategy, module or function.
        TypeError: What is named can't be a strategy.
    """
    if name in STRATEGIES:
        return load_object(STRATEGIES[name])  # type: ignore[no-any-return]
    own = load_own("strategy", name, STRATEGIES)
    if not callable(own) or not inspect.signature(own).parameters:
        raise TypeError(
            f"expected a strategy, a generator function f(here, *, ...), got {name}, {own!r:.100}; see "
            "docs/add-a-strategy.md"
        )
    return own  # type: ignore[no-any-return]


def options_of(strategy: Strategy) -> dict[str, Any]:
    """Return a strategy's options with their defaults."""
    parameters = list(inspect.signature(strategy).parameters.values())[1:]
    return {parameter.name: parameter.default for parameter in parameters}
