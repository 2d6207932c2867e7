"""Trains the numeric backends. Their slopes are exact, and a model trains in seconds on one processor core."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from iad_policy.learn.examples import Examples
from iad_policy.learn.fitting import fit
from iad_policy.learn.objectives import Objective, Stored
from iad_policy.learn.trainable import Fitted, NotFinite, Schedule
from iad_policy.trained.backends.numeric import WEIGHTS, FeatureBatch, FeatureModel, Parameters, Scorer
from iad_policy.trained.features import Features
from iad_policy.trained.heads import Array, Head
from iad_policy.trained.models import SIMULATOR

SCHEDULES: Mapping[str, Schedule] = {
    "bc": Schedule(epochs=200),
    "rft": Schedule(epochs=200),
    "dpo": Schedule(epochs=100, max_kl=0.5),
    "eto": Schedule(epochs=100, max_kl=0.5),
    "qnet": Schedule(epochs=300),
    "evaluator": Schedule(epochs=100),
    SIMULATOR: Schedule(epochs=150),
}
"""How long each recipe trains, if nothing else is said."""


class TrainableFeatureModel(FeatureModel):
    """A `FeatureModel` that Adam trains. It is a `Trainable`.

    Args:
        name: Name of the backend.
        features: The environment's features.
        scorer: What turns features into scores.
        head: What the scores are for.
        rate: Learning rate.
        entropy: Weight of the policy's entropy, which is added to what is maximised.
        seed: Seed of the parameters before training.
    """

    def __init__(
        self,
        name: str,
        features: Features,
        scorer: Scorer,
        head: Head,
        *,
        rate: float = 0.02,
        entropy: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(name, features, scorer, head, seed=seed)
        self.rate = rate
        self.entropy = entropy
        self._first = {name: np.zeros_like(one) for name, one in self._parameters.items()}
        self._second = {name: np.zeros_like(one) for name, one in self._parameters.items()}
        self._n_steps = 0

    def schedule(self, recipe: str) -> Schedule:
        """Return how long a recipe trains, if nothing else is said."""
        return SCHEDULES.get(recipe, Schedule())

    def fit(self, examples: Examples, schedule: Schedule, *, folder: Path, seed: int = 0, asked: str = "") -> Fitted:
        """Change the parameters to fit examples: see `fitting.fit`."""
        return fit(self, examples, schedule, folder=folder, seed=seed, asked=asked)

    def step(self, batch: FeatureBatch, objective: Objective, stored: Stored) -> float:
        """Take a step of Adam, and return the loss before it.

        Raises:
            NotFinite: The loss or a slope is no number. The parameters are as they were.
        """
        likely = self._likely(batch)
        loss, slopes = objective(likely[batch.taken], stored)
        back: Array = np.asarray(np.bincount(batch.taken, slopes, len(batch.x)), np.float64)
        if self._head == "policy":
            owners, p = batch.owners, np.exp(likely)
            back -= p * np.add.reduceat(back, batch.starts)[owners]
            if self.entropy:
                entropy = -np.add.reduceat(p * likely, batch.starts)
                back += self.entropy * p * (likely + entropy[owners]) / len(batch.starts)
                loss -= self.entropy * float(entropy.mean())
        gradient = self._scorer.gradient(self._parameters, batch.x, back)
        if not np.isfinite(loss) or not all(np.isfinite(one).all() for one in gradient.values()):
            raise NotFinite(
                f"expected a loss that is a number, got {loss} at step {self._n_steps}; use a smaller rate than "
                f"{self.rate:g}"
            )
        self._move(gradient)
        return float(loss)

    def copy(self) -> "TrainableFeatureModel":
        """Return a model with the same parameters."""
        self._last = None
        return deepcopy(self)

    def take(self, other: Any) -> None:
        """Take the parameters of another model, and nothing of its optimiser."""
        self._parameters = {name: one.copy() for name, one in other._parameters.items()}
        self._last = None

    def save(self, folder: Path) -> None:
        """Write the parameters and Adam's memory into a file."""
        arrays: dict[str, Any] = {f"{kind}.{name}": one for kind, name, one in self._arrays()}
        with (folder / WEIGHTS).open("wb") as file:
            np.savez(file, n_steps=self._n_steps, **arrays)

    def load(self, folder: Path) -> None:
        """Read what `save` wrote."""
        with np.load(folder / WEIGHTS) as file:
            self._n_steps = int(file["n_steps"])
            for kind, name, one in self._arrays():
                one[...] = file[f"{kind}.{name}"]
        self._last = None

    def _arrays(self) -> Iterator[tuple[str, str, Array]]:
        kinds: Mapping[str, Parameters] = {
            "parameter": self._parameters,
            "first": self._first,
            "second": self._second,
        }
        for kind, arrays in kinds.items():
            for name, one in arrays.items():
                yield kind, name, one

    def _move(self, gradient: Parameters) -> None:
        self._n_steps += 1
        self._last = None
        for name, slope in gradient.items():
            first, second = self._first[name], self._second[name]
            # Adam (arXiv 1412.6980) with its own settings.
            first += (1 - 0.9) * (slope - first)
            second += (1 - 0.999) * (slope**2 - second)
            mean = first / (1 - 0.9**self._n_steps)
            spread = np.sqrt(second / (1 - 0.999**self._n_steps))
            self._parameters[name] -= self.rate * mean / (spread + 1e-8)
