"""A simulator with a configurable error rate: an error shows the outcome of another action."""

from collections.abc import Iterator, Mapping
from itertools import islice
from random import Random
from typing import Any, NamedTuple

import gymnasium as gym

from iad_policy.errors import UnknownName
from iad_policy.registry.domain import domain_of
from iad_policy.simulators.recorded import with_typos
from iad_policy.types import Outcome, State
from iad_policy.types.hashing import digest, seed_of
from iad_policy.types.outcome_types import END, SUCCESS, is_failure, type_of
from iad_policy.world import World

FAILURE = "failure"


class _Token(NamedTuple):
    """Position of a simulation: the environment's token, the name of the path there, and what is shown."""

    inner: Any
    name: str
    info: Mapping[str, Any]
    done: bool


class NoisySimulator:
    """A fork of the environment that shows an outcome of another type with a chosen probability.

    The other outcome is that of another action, complete with observation, info, done and the state from which the
    simulation continues, so later steps are consistent with it. The other actions are those available, the
    environment's stand-ins, and the action itself with typos. They are tried in a random order. The first outcome of
    another type is used, else the first that differs at all, else the true outcome. Errors depend only on the state,
    the action and the draw, so the simulator is pure.

    Args:
        env: The environment. It is not used here, as every simulation is given its world.
        fidelity: The probability of a true outcome, 0-1: one number for all, as in `noisy:0.8`, or one per outcome
            type, as in `noisy:success=0.9,failure=0.5,end=1`. `failure` covers all failure classes that are not named.
            Types that are not named have 1.
    """

    is_perfect = False

    def __init__(self, env: gym.Env[Any, Any] | None = None, fidelity: float | str | Mapping[str, float] = "") -> None:
        self._fidelity = _read(fidelity)
        rates = ",".join(f"{kind}={value:g}" if kind else f"{value:g}" for kind, value in self._fidelity.items())
        self.identity = f"noisy:{rates}"

    def begin(self, world: World, state: State) -> _Token:
        """Return a token of the real state."""
        return _Token(world.snapshot(), state.id or digest(state.observation), state.info, state.done)

    def simulate(self, world: World, token: _Token, action: Any, draw: int) -> Outcome:
        """Return the true outcome, or that of another action."""
        outcome = world.simulate(token.inner, action, draw)
        name, kind = digest(token.name, world.key(action), draw), type_of(outcome.info, outcome.done)
        known = kind if kind in self._fidelity or not is_failure(kind) else FAILURE
        rng = Random(seed_of("noisy", name))
        if not token.done and rng.random() >= self._fidelity.get(known, self._fidelity.get("", 1.0)):
            differing = None
            for other in islice(_others(world, token.info, action, rng), 12):
                shown = world.simulate(token.inner, other, draw)
                if type_of(shown.info, shown.done) != kind:
                    differing = shown
                    break
                if differing is None and shown.key != outcome.key:
                    differing = shown
            outcome = differing or outcome
        return outcome._replace(token=_Token(outcome.token, name, outcome.info, outcome.done))


def _others(world: World, info: Mapping[str, Any], action: Any, rng: Random) -> Iterator[Any]:
    """Yield the other actions that are tried, in a random order."""
    listed = world.available(info)
    if not listed:
        drawable = {key: info[key] for key in ("action_mask",) if key in info}
        listed = [world.legal_action(drawable, rng.getrandbits(32)) for _ in range(4)]
    others = [*listed, *domain_of(world.env).stand_ins, *with_typos(action)]
    rng.shuffle(others)
    own = world.key(action)
    yield from (other for other in others if world.key(other) != own)


def _read(fidelity: float | str | Mapping[str, float]) -> dict[str, float]:
    """Return the fidelity by type. The key "" is the default for all other types."""
    if isinstance(fidelity, str) and "=" in fidelity:
        pairs = [pair.partition("=") for pair in fidelity.split(",")]
        fidelity = {kind.strip(): _number(value) for kind, _, value in pairs}
    elif not isinstance(fidelity, Mapping):
        fidelity = {"": _number(fidelity)}
    for kind, value in fidelity.items():
        if not 0.0 <= value <= 1.0:
            raise ValueError(
                f"expected a fidelity of 0 to 1{kind and ' for ' + kind}, got {value:g}; write it as noisy:0.8"
            )
    return dict(fidelity)


def _number(text: float | str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UnknownName("fidelity", str(text), ["0.8", f"{SUCCESS}=0.9,{FAILURE}=0.5,{END}=1"]) from None
