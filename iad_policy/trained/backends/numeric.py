"""Policies and value models on features, in numpy: a linear one, and one with a hidden layer.

A policy is the softmax of the scores of the actions that the features offer. `iad_policy.learn.backends.numeric` trains
them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from iad_policy.trained.attempts import AttemptFeatures
from iad_policy.trained.features import Features, StateFeatures, load_features, offers_actions
from iad_policy.trained.heads import Array, Head
from iad_policy.trained.outcomes import OutcomeFeatures
from iad_policy.trained.rows import Row
from iad_policy.types import Candidate, State
from iad_policy.types.hashing import digest

N_HIDDEN = 32
WEIGHTS = "weights.npz"
LEAST_TEMPERATURE = 1e-3
"""Temperatures below it are greedy."""
Parameters = dict[str, Array]
Kind: TypeAlias = Callable[[], "type[FeatureModel]"]
Places: TypeAlias = "np.ndarray[Any, np.dtype[np.intp]]"


class Scorer(Protocol):
    """A function from features to scores, with its gradient."""

    def start(self, n_features: int, rng: np.random.Generator) -> Parameters:
        """Return the parameters before training. All scores are 0."""
        ...

    def scores(self, parameters: Parameters, x: Array) -> Array:
        """Return the scores of rows of features: shape (rows,)."""
        ...

    def gradient(self, parameters: Parameters, x: Array, slopes: Array) -> Parameters:
        """Return the gradient of the sum of slopes times scores."""
        ...


class Linear:
    """A weight for each feature, and a constant."""

    def start(self, n_features: int, rng: np.random.Generator) -> Parameters:
        """Return zeros."""
        return {"weights": np.zeros(n_features), "constant": np.zeros(1)}

    def scores(self, parameters: Parameters, x: Array) -> Array:
        """Return x w + c."""
        scored: Array = x @ parameters["weights"] + parameters["constant"][0]
        return scored

    def gradient(self, parameters: Parameters, x: Array, slopes: Array) -> Parameters:
        """Return the gradients of both."""
        return {"weights": slopes @ x, "constant": slopes.sum(keepdims=True)}


class Mlp:
    """One hidden layer of 32 with tanh."""

    def start(self, n_features: int, rng: np.random.Generator) -> Parameters:
        """Return small random numbers for the hidden layer, and zeros for the output."""
        spread = 1 / np.sqrt(max(1, n_features))
        return {
            "hidden": rng.normal(0, spread, (n_features, N_HIDDEN)),
            "shift": np.zeros(N_HIDDEN),
            "weights": np.zeros(N_HIDDEN),
            "constant": np.zeros(1),
        }

    def scores(self, parameters: Parameters, x: Array) -> Array:
        """Return the output for each row."""
        hidden = np.tanh(x @ parameters["hidden"] + parameters["shift"])
        scored: Array = hidden @ parameters["weights"] + parameters["constant"][0]
        return scored

    def gradient(self, parameters: Parameters, x: Array, slopes: Array) -> Parameters:
        """Return the gradients of all parameters."""
        hidden = np.tanh(x @ parameters["hidden"] + parameters["shift"])
        back = slopes[:, None] * parameters["weights"] * (1 - hidden**2)
        return {
            "hidden": x.T @ back,
            "shift": back.sum(0),
            "weights": slopes @ hidden,
            "constant": slopes.sum(keepdims=True),
        }


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBatch:
    """Rows as features. Rows of one state share its actions, which stand one state after the other.

    Attributes:
        x: Features of all actions: shape (actions, features).
        starts: Where each state's actions begin.
        taken: Where each row's own action is.
    """

    x: Array
    starts: Places
    taken: Places

    def __len__(self) -> int:
        return len(self.taken)

    @property
    def owners(self) -> Places:
        """The state of each action."""
        sizes = np.diff(np.append(self.starts, len(self.x)))
        return np.repeat(np.arange(len(self.starts)), sizes)


class FeatureModel:
    """A policy or a value model on an environment's features. It is a `Backend`.

    Args:
        name: Name of the backend.
        features: The environment's features.
        scorer: What turns features into scores.
        head: What the scores are for.
        seed: Seed of the parameters before training.
    """

    def __init__(self, name: str, features: Features, scorer: Scorer, head: Head, *, seed: int = 0) -> None:
        self.name = name
        self.features = features
        self._scorer = scorer
        self._head = head
        self._parameters = scorer.start(len(features.names), np.random.default_rng(seed))
        self._last: _Likely | None = None

    @property
    def identity(self) -> str:
        """The features, and a hash of the parameters."""
        return f"{self.name} {self.features.identity} {digest(self._parameters)}"

    @property
    def options(self) -> Mapping[str, Any]:
        """The types of outcomes of a simulator. Others need no options."""
        return {"types": list(self.features.types)} if isinstance(self.features, OutcomeFeatures) else {}

    def batch(self, rows: Sequence[Row]) -> FeatureBatch:
        """Return rows as features. An action that is not offered joins those that are."""
        parts, starts, taken, size = list(_none(self.features)), list[int](), list[int](), 0
        known: dict[Any, tuple[int, list[Any]]] = {}
        for row in rows:
            name = (row.state.id or id(row.state), None if self._head == "policy" else row.action)
            first, actions = known.get(name, (0, []))
            if row.action not in actions:
                actions = list(self.features.actions(row.state)) if self._head == "policy" else [row.action]
                if row.action in actions:
                    known[name] = size, actions
                else:
                    actions.append(row.action)
                parts.append(self.features.rows(row.state, actions))
                starts.append(size)
                first, size = size, size + len(actions)
            taken.append(first + actions.index(row.action))
        return FeatureBatch(np.concatenate(parts), np.array(starts, np.intp), np.array(taken, np.intp))

    def outputs(self, batch: FeatureBatch) -> Array:
        """Return the log-probability of each row's action, or its value."""
        outputs: Array = self._likely(batch)[batch.taken]
        return outputs

    def reference(self, batch: FeatureBatch) -> Array:
        """Return the log-probabilities of all actions of the batch's states."""
        return self._likely(batch)

    def divergence(self, batch: FeatureBatch, reference: Array) -> float:
        """Return the mean of KL(this policy || the one of the reference) over the states of a batch."""
        mine = self._likely(batch)
        return float(np.add.reduceat(np.exp(mine) * (mine - reference), batch.starts).mean())

    def sample(self, state: State, *, temperature: float, rng: Random, avoid: Sequence[Any] = ()) -> Candidate:
        """Return an action drawn by softmax(scores / temperature), with its log-probability at temperature 1.

        Actions to avoid are left out, unless there are no others.
        """
        actions = list(self.features.actions(state))
        scores = self.scores(state, actions)
        top = float(scores.max())
        likely = scores - top - math.log(float(np.exp(scores - top).sum()))
        others = [place for place, action in enumerate(actions) if action not in avoid] if avoid else ()
        places = np.array(others or range(len(actions)))
        among = scores[places]
        if temperature < LEAST_TEMPERATURE:
            place = places[int(among.argmax())]
        else:
            odds = np.exp((among - among.max()) / temperature).cumsum()
            place = places[min(int(np.searchsorted(odds, rng.random() * odds[-1], "right")), len(odds) - 1)]
        return Candidate(actions[place], logprobs=(float(likely[place]),))

    def values(self, state: State, actions: Sequence[Any]) -> Array:
        """Return the values of actions in a state."""
        return self.scores(state, actions)

    def scores(self, state: State, actions: Sequence[Any]) -> Array:
        """Return the scores of actions in a state: a policy's before the softmax, or values."""
        return self._scorer.scores(self._parameters, self.features.rows(state, actions))

    def load(self, folder: Path) -> None:
        """Read the parameters of a trained model."""
        with np.load(folder / WEIGHTS) as file:
            for name, one in self._parameters.items():
                one[...] = file[f"parameter.{name}"]
        self._last = None

    def _likely(self, batch: FeatureBatch) -> Array:
        """Return the log-probabilities of all actions of a batch, or their values. The last ones are kept."""
        if self._last is None or self._last.batch is not batch:
            self._last = _Likely(batch, self._computed(batch))
        return self._last.values

    def _computed(self, batch: FeatureBatch) -> Array:
        scores = self._scorer.scores(self._parameters, batch.x)
        if self._head != "policy" or not len(batch):
            return scores
        owners = batch.owners
        scores = scores - np.maximum.reduceat(scores, batch.starts)[owners]
        likely: Array = scores - np.log(np.add.reduceat(np.exp(scores), batch.starts))[owners]
        return likely


class _Likely(NamedTuple):
    """What was computed last: the loss and the KL of an epoch are of the same parameters."""

    batch: FeatureBatch
    values: Array


def _none(features: Features) -> Iterator[Array]:
    yield np.zeros((0, len(features.names)))


def _features(env: str, head: Head) -> Features:
    """Return the features of actions, or of attempts where these are judged.

    Raises:
        ValueError: It is for a policy, and the features offer no actions to choose from.
    """
    own = load_features(env)
    if head == "policy" and not offers_actions(own):
        raise ValueError(
            f"expected an environment whose features offer actions to choose from, got {env}, where an agent writes "
            "them; train a language model: --backend hf:<model>"
        )
    return AttemptFeatures(own) if head == "attempt" else own


def _own() -> type[FeatureModel]:
    return FeatureModel


def linear(env: str, head: Head, *, kind: Kind = _own, **options: Any) -> FeatureModel:
    """Return a linear model on an environment's features."""
    return kind()("linear", _features(env, head), Linear(), head, **options)


def mlp(env: str, head: Head, *, kind: Kind = _own, **options: Any) -> FeatureModel:
    """Return a model with a hidden layer on an environment's features."""
    return kind()("mlp", _features(env, head), Mlp(), head, **options)


def linear_states(env: str, head: Head, *, kind: Kind = _own, **options: Any) -> FeatureModel:
    """Return a linear model on the features of states."""
    return kind()("linear-states", StateFeatures(load_features(env)), Linear(), head, **options)


def mlp_states(env: str, head: Head, *, kind: Kind = _own, **options: Any) -> FeatureModel:
    """Return a model with a hidden layer on the features of states."""
    return kind()("mlp-states", StateFeatures(load_features(env)), Mlp(), head, **options)


def outcomes(env: str, head: Head, types: Sequence[str] = (), *, kind: Kind = _own, **options: Any) -> FeatureModel:
    """Return a linear model of the types of outcomes."""
    return kind()("outcomes", OutcomeFeatures(types), Linear(), head, **options)
