"""Synthetic agents: they know the right action, and make and correct mistakes at configurable rates.

With such agents the result of a strategy can be computed by hand and compared with a run. They are labelled `oracle`,
like a verifier that reads gold: the driver gives them the gold, every table says so, and no number is a fair result.
"""

from collections.abc import Callable
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

MAX_TRIES = 100

Gold = Callable[[State], Any]
"""Returns the right action in a state."""
Mistakes = Callable[[State, Random], Any]
"""Draws a wrong action in a state."""


class Rates(NamedTuple):
    """Error and correction rates of a synthetic agent, all in [0, 1].

    Attributes:
        epsilon: Probability that a plain proposal is a mistake.
        tau: Probability that a mistake is drawn independently. Otherwise it is the state's usual mistake.
        sigma: Probability of correcting a mistake that feedback shows as Best.
        rho: Probability of correcting that mistake if the judge's text names an error.
        beta: Probability of giving up a right action that is shown with a review.
    """

    epsilon: float = 0.5
    tau: float = 1.0
    sigma: float = 0.0
    rho: float = 0.0
    beta: float = 0.0


class SyntheticAgent:
    """An agent that knows gold.

    Args:
        env: The environment it acts in. It may be None if both functions are given.
        rates: The error and correction rates.
        ignores_feedback: Whether every proposal is a plain one.
        is_stubborn: Whether plain proposals are right or wrong per state, not per proposal.
        gold: Returns the right action. By default it is read from the environment's reference.
        mistakes: Draws wrong actions. By default they are other available actions of the right one's kind, or that
            kind with words of the instruction in it.
    """

    information: Information = "oracle"

    def __init__(
        self,
        env: gym.Env[Any, Any] | None,
        rates: Rates,
        *,
        ignores_feedback: bool = False,
        is_stubborn: bool = False,
        gold: Gold | None = None,
        mistakes: Mistakes | None = None,
    ) -> None:
        self.rates = rates
        self.takes_feedback = not ignores_feedback
        self._is_stubborn = is_stubborn
        self._gold = gold or reference_action(env)
        self._mistakes = mistakes or _Confusion(env, self._gold)
        inner: Any = None if env is None else env.unwrapped
        self._key: Callable[[Any], Any] = getattr(inner, "action_key", str)

    @property
    def identity(self) -> str:
        """Everything its answers depend on."""
        kind = "stubborn" if self._is_stubborn else "mending" if self.takes_feedback else "noisy"
        # Keys of recorded episodes contain this text, so the older words stay: an "instrument" is a synthetic agent, a
        # "mending" one corrects its mistakes.
        return f"{kind} instrument, {', '.join(f'{name}={rate:g}' for name, rate in self.rates._asdict().items())}"

    def propose(self, state: State, *, feedback: Feedback | None, temperature: float | None, rng: Random) -> Candidate:
        """Return the right action or a mistake, according to the rates."""
        right = self._gold(state)
        if not self.takes_feedback or feedback is None or feedback.best is None:
            draws = Random(f"{state.id} errs") if self._is_stubborn else rng
            is_right = draws.random() >= self.rates.epsilon
        elif self._key(feedback.best.action) == self._key(right):
            is_right = not (feedback.critique and rng.random() < self.rates.beta)
        else:
            names_error = feedback.critique not in ("", NO_COMPLAINT)
            is_right = rng.random() < (self.rates.rho if names_error else self.rates.sigma)
        return Candidate(right if is_right else self._mistake(state, right, rng))

    def _mistake(self, state: State, right: Any, rng: Random) -> Any:
        draws = rng if rng.random() < self.rates.tau else Random(f"{state.id} usual mistake")
        for _ in range(MAX_TRIES):
            action = self._mistakes(state, draws)
            if self._key(action) != self._key(right):
                return action
        raise ValueError(
            f"expected a mistake that is not the right action {right!r:.100}, got none in {MAX_TRIES} draws; pass "
            "mistakes=..."
        )


def noisy_oracle(env: gym.Env[Any, Any] | None, rates: str = "", **given: Any) -> SyntheticAgent:
    """Synthetic agent that ignores feedback: right with probability 1 - epsilon, mistakes vary with tau.

    Args:
        env: The environment it acts in. See `SyntheticAgent`.
        rates: Rates as text, such as `"epsilon=0.4:tau=0.5"`.
        given: The functions `gold` and `mistakes` of `SyntheticAgent`.
    """
    return SyntheticAgent(env, _rates(rates, Rates()), ignores_feedback=True, **given)


def feedback_responsive(env: gym.Env[Any, Any] | None, rates: str = "", **given: Any) -> SyntheticAgent:
    """Synthetic agent that corrects a mistake shown as Best with probability sigma, or rho if judge text names it.

    The arguments are those of `noisy_oracle`.
    """
    return SyntheticAgent(env, _rates(rates, Rates(sigma=0.3, rho=0.6)), **given)


def stubborn(env: gym.Env[Any, Any] | None, rates: str = "", **given: Any) -> SyntheticAgent:
    """Synthetic agent that repeats the same right or wrong answer until feedback changes it.

    The arguments are those of `noisy_oracle`.
    """
    return SyntheticAgent(env, _rates(rates, Rates(tau=0.0, sigma=0.3, rho=0.6)), is_stubborn=True, **given)


def over_reflector(env: gym.Env[Any, Any] | None, rates: str = "", **given: Any) -> SyntheticAgent:
    """Synthetic agent that corrects mistakes, and gives up a right answer with probability beta when it is reviewed.

    The arguments are those of `noisy_oracle`.
    """
    return SyntheticAgent(env, _rates(rates, Rates(sigma=0.3, rho=0.6, beta=0.5)), **given)


def _rates(text: str, default: Rates) -> Rates:
    """Read `name=value` pairs.

    Raises:
        UnknownName: There is no such rate.
        ValueError: A rate is not a number in [0, 1].
    """
    rates = default
    for pair in filter(None, text.split(":")):
        name, _, value = (part.strip() for part in pair.partition("="))
        if name not in Rates._fields:
            raise UnknownName("rate", name, Rates._fields)
        try:
            rate = float(value)
        except ValueError:
            rate = -1.0
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"expected a rate from 0 to 1, got {pair.strip()!r}; write it as {name}=0.5")
        rates = rates._replace(**{name: rate})
    return rates


def reference_action(env: gym.Env[Any, Any] | None) -> Gold:
    """Return a function that reads the right action from the gold that the driver attaches to a state.

    Raises:
        UnknownName: The environment has no known right action.
    """
    path = "" if env is None else domain_of(env).solution
    if not path:
        known = [name for name, own in domains() if own.solution]
        name = "none" if env is None else env_id(env)
        raise UnknownName("environment with a known right action (or gold=...)", name, known)
    solve = load_object(path)

    def right(state: State) -> Any:
        if state.gold is None:
            raise ValueError("expected a state with gold, got none; the driver adds it for an agent labelled 'oracle'")
        return solve(state, state.gold["reference"])

    return right


class _Confusion:
    """Wrong actions of the same kind as the right one.

    Args:
        env: The environment in which the actions are taken.
        gold: Returns the right action.
    """

    def __init__(self, env: gym.Env[Any, Any] | None, gold: Gold) -> None:
        if env is None:
            raise ValueError("expected an environment to draw mistakes in, got none; pass env or mistakes=...")
        self._gold = gold
        self._any = RandomAgent(env)

    def __call__(self, state: State, rng: Random) -> Any:
        gold = str(self._gold(state))
        verb, bracket, _ = gold.partition("[")
        alike = [one for one in state.info.get("available_actions", ()) if str(one).startswith(f"{verb}[")]
        closed = [one for one in alike if not one.endswith("[...]")]
        if closed and closed != [gold]:
            return rng.choice(closed)
        if bracket and alike and not closed:
            words = str(state.info["instruction"]).split()
            stems = [one.removesuffix("...]") for one in alike]
            stem = next((one for one in stems if gold.startswith(one)), stems[0])
            return f"{stem}{' '.join(rng.sample(words, min(len(words), 3)))}]"
        return self._any.propose(state, feedback=None, temperature=None, rng=rng).action
