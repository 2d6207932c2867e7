"""The solution agent: it plays gold, and makes and corrects mistakes at rates that are set.

With such an agent the result of a strategy can be computed by hand and compared with a run, and a run needs no model.
It is labelled `oracle`, like a verifier that reads gold: the driver gives it the gold, every table says so, and no
number is a fair result.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy.agents.random import RandomAgent
from iad_policy.errors import UnknownName
from iad_policy.registry import load_object
from iad_policy.registry.domain import domain_of, domains, env_id
from iad_policy.types import Candidate, Feedback, State
from iad_policy.types.information import Information
from iad_policy.types.names import NO_COMPLAINT

Gold = Callable[[State], Any]
"""Returns the right action in a state."""
Mistakes = Callable[[State, Random], Any]
"""Draws a wrong action in a state."""


class Rates(NamedTuple):
    """Error and correction rates, all in [0, 1].

    Attributes:
        epsilon: Probability that a plain proposal is a mistake.
        tau: Probability that a mistake is drawn independently. Otherwise it is the state's usual mistake.
        sigma: Probability of correcting a mistake that feedback shows as Best.
        rho: Probability of correcting that mistake if the judge's text names an error.
        beta: Probability of giving up a right action that is shown with a review.
        stubborn: Probability that a plain proposal is right or wrong as the state has it, and not drawn anew.
    """

    epsilon: float = 0.0
    tau: float = 1.0
    sigma: float = 0.0
    rho: float = 0.0
    beta: float = 0.0
    stubborn: float = 0.0


class SyntheticAgent:
    """An agent that knows gold.

    Args:
        env: The environment it acts in. It may be None if both functions are given.
        rates: The error and correction rates.
        takes_feedback: Whether it reads feedback. Otherwise every proposal is a plain one.
        gold: Returns the right action. By default it is read from the oracle.
        mistakes: Draws wrong actions. By default the environment's `Domain.mistakes`; where it has none, other
            available actions of the right one's kind, or that kind with words of the instruction in it.
    """

    information: Information = "oracle"

    def __init__(
        self,
        env: gym.Env[Any, Any] | None,
        rates: Rates,
        *,
        takes_feedback: bool = False,
        gold: Gold | None = None,
        mistakes: Mistakes | None = None,
    ) -> None:
        self.rates = rates
        self.takes_feedback = takes_feedback
        self._gold = gold or solution_of(env)
        self._wrong = mistakes_in(env) if mistakes is None else lambda state, right, rng: mistakes(state, rng)
        inner: Any = None if env is None else env.unwrapped
        self._key: Callable[[Any], Any] = getattr(inner, "action_key", str)

    @property
    def identity(self) -> str:
        """Everything its answers depend on."""
        rates = ", ".join(f"{name}={rate:g}" for name, rate in self.rates._asdict().items())
        return f"solution, {rates}{', takes feedback' if self.takes_feedback else ''}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the right action or a mistake, according to the rates."""
        right, rates = self._gold(state), self.rates
        if not self.takes_feedback or feedback is None or feedback.best is None:
            is_stubborn = rates.stubborn and rng.random() < rates.stubborn
            draws = Random(f"{state.id} errs") if is_stubborn else rng
            is_right = draws.random() >= rates.epsilon
        elif self._key(feedback.best.action) == self._key(right):
            is_right = not (feedback.critique and rng.random() < rates.beta)
        else:
            names_error = feedback.critique not in ("", NO_COMPLAINT)
            is_right = rng.random() < (rates.rho if names_error else rates.sigma)
        if is_right:
            return Candidate(right)
        draws = rng if rng.random() < rates.tau else Random(f"{state.id} usual mistake")
        n_tries = 100
        for _ in range(n_tries):
            action = self._wrong(state, right, draws)
            if self._key(action) != self._key(right):
                return Candidate(action)
        raise ValueError(
            f"expected a mistake that is not the right action {right!r:.100}, got none in {n_tries} draws; pass "
            "mistakes=..."
        )


def solution_agent(
    env: gym.Env[Any, Any] | None, rates: str = "", *, gold: Gold | None = None, mistakes: Mistakes | None = None
) -> SyntheticAgent:
    """Agent that plays the task's solution with mistakes at a rate: `solution[:<error rate>][:<rate>=<value>...]`.

    Args:
        env: The environment it acts in. See `SyntheticAgent`.
        rates: Rates as text, such as `"0.4:tau=0.5"`. The first may be the error rate alone. Of one that is given
            twice the last counts. Feedback is read if sigma, rho or beta is given.
        gold: Returns the right action. See `SyntheticAgent`.
        mistakes: Draws wrong actions. See `SyntheticAgent`.

    Raises:
        UnknownName: There is no such rate, or the environment has no known solution.
        ValueError: A rate is not a number in [0, 1].
    """
    given: dict[str, float] = {}
    for place, pair in enumerate(filter(None, rates.split(":"))):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals and place == 0:
            name, value = "epsilon", name
        if name not in Rates._fields:
            raise UnknownName("rate", name, Rates._fields)
        try:
            given[name] = float(value)
        except ValueError:
            given[name] = -1.0
        if not 0.0 <= given[name] <= 1.0:
            raise ValueError(f"expected a rate from 0 to 1, got {pair.strip()!r}; write it as {name}=0.5")
    # Rates with which feedback is read
    of_feedback = frozenset(("sigma", "rho", "beta"))
    takes_feedback = bool(of_feedback & given.keys())
    return SyntheticAgent(env, Rates(**given), takes_feedback=takes_feedback, gold=gold, mistakes=mistakes)


def solution_of(env: gym.Env[Any, Any] | None) -> Gold:
    """Return a function that reads the right action from the gold that the driver attaches to a state.

    It is the domain's `solution`; where there is none, the first action of the oracle's `solution` that was not taken
    yet, in order.

    Raises:
        UnknownName: The environment has no oracle.
    """
    path = "" if env is None else domain_of(env).solution
    if not path and not hasattr(None if env is None else env.unwrapped, "oracle"):
        known = [name for name, _ in domains()]
        name = "none" if env is None else env_id(env)
        raise UnknownName("environment with a known right action (or gold=...)", name, known)
    solve = load_object(path) if path else None

    def right(state: State) -> Any:
        if state.gold is None:
            raise ValueError("expected a state with gold, got none; the driver adds it for an agent labelled 'oracle'")
        if solve is not None:
            return solve(state, state.gold["reference"])
        solution: Sequence[Any] | None = state.gold["solution"]
        if not solution:
            raise ValueError(f"expected a task with a solution, got {state.info.get('task_id')!r}; pass gold=...")
        n_taken = 0
        for turn in state.history:
            n_taken += n_taken < len(solution) and turn.action == solution[n_taken]
        return solution[min(n_taken, len(solution) - 1)]

    return right


def mistakes_in(env: gym.Env[Any, Any] | None) -> Callable[[State, Any, Random], Any]:
    """Return what draws a wrong action in a state, given the right one: the domain's `mistakes`, or a general one.

    Raises:
        ValueError: There is no environment.
    """
    if env is None:
        raise ValueError("expected an environment to draw mistakes in, got none; pass env or mistakes=...")
    if path := domain_of(env).mistakes:
        own: Callable[[State, Any, Random], Any] = load_object(path)
        return own
    anything = RandomAgent(env)

    def of_its_kind(state: State, right: Any, rng: Random) -> Any:
        verb, bracket, _ = str(right).partition("[")
        alike = [one for one in state.info.get("available_actions", ()) if str(one).startswith(f"{verb}[")]
        closed = [one for one in alike if not one.endswith("[...]")]
        if closed and closed != [str(right)]:
            return rng.choice(closed)
        if bracket and alike and not closed:
            words = str(state.info["instruction"]).split()
            stems = [one.removesuffix("...]") for one in alike]
            stem = next((one for one in stems if str(right).startswith(one)), stems[0])
            return f"{stem}{' '.join(rng.sample(words, min(len(words), 3)))}]"
        return anything.propose(state, feedback=None, temperature=None, rng=rng).action

    return of_its_kind
