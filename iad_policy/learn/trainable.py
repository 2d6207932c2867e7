"""What can be trained, and how long it is."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from iad_policy.errors import IADError
from iad_policy.learn.examples import Examples
from iad_policy.learn.objectives import Objective, Stored
from iad_policy.trained.backends import Backend, load_backend
from iad_policy.trained.heads import Head


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long a model is fitted, and when it is stopped.

    Attributes:
        epochs: Number of passes over the examples.
        batch: Units per step: rows, or pairs. None takes all.
        max_kl: Greatest mean KL from the model before training, over the states of the examples, in nats. Training
            stops before it, and the parameters of the epoch before are kept. None does not watch. Losses and margins
            of preference training go on improving while a policy collapses, and the KL shows it.
        warmup: Share of the steps in which the rate of a language model rises. After them it falls as a cosine.
    """

    epochs: int = 200
    batch: int | None = None
    max_kl: float | None = None
    warmup: float = 0.03


@dataclass(frozen=True, slots=True)
class Fitted:
    """How training ended.

    Attributes:
        model: The model with the kept parameters.
        n_epochs: Number of epochs whose parameters were kept.
        loss: Mean loss of the last of them; None if there was none.
        kl: Its mean KL from the model before training; None if it was not watched.
        stopped: Why it ended before the last epoch; "" if it did not.
        n_left_out: Number of rows that a language model was not fitted to, as they were too long.
    """

    model: "Trainable"
    n_epochs: int = 0
    loss: float | None = None
    kl: float | None = None
    stopped: str = ""
    n_left_out: int = 0

    @property
    def ending(self) -> str:
        """The loss and what else there is to say of it, for the end of a sentence."""
        loss = "" if self.loss is None else f", loss {self.loss:.4f}"
        kl = "" if self.kl is None else f", KL from the start {self.kl:.3f} nat"
        long = f", {self.n_left_out} rows too long and left out" if self.n_left_out else ""
        return loss + kl + long + (f": {self.stopped}" if self.stopped else "")


class Trainable(Backend, Protocol):
    """A model that can be trained."""

    def schedule(self, recipe: str) -> Schedule:
        """Return how long a recipe trains, if nothing else is said."""
        ...

    def fit(self, examples: Examples, schedule: Schedule, *, folder: Path, seed: int = 0, asked: str = "") -> Fitted:
        """Change the parameters to fit examples: see `iad_policy.learn.fitting.fit`."""
        ...

    def step(self, batch: Any, objective: Objective, stored: Stored) -> float:
        """Change the parameters once, by the objective's slopes, and return the loss before."""
        ...

    def copy(self) -> "Trainable":
        """Return a model with the same parameters, to be kept as a reference."""
        ...

    def take(self, other: Any) -> None:
        """Take the parameters of another model of the same backend, and nothing of its optimiser."""
        ...

    def save(self, folder: Path) -> None:
        """Write the parameters, and what the optimiser remembers."""
        ...


class NotFinite(IADError, ArithmeticError):
    """Training ran away: the loss is no number."""


def load_trainable(backend: str, env: str, head: Head, **options: Any) -> Trainable:
    """Return an untrained model that can be trained.

    Args:
        backend: A name such as `linear`, or `hf:<model>`.
        env: The environment's id.
        head: What it is for.
        options: Options of the backend and of its training, such as `rate`.

    Raises:
        UnknownName: There is no such backend, or the environment lacks what it needs.
    """
    language = backend.partition(":")[0] == "hf"
    kind = "hf:TrainableHFBackend" if language else "numeric:TrainableFeatureModel"
    return cast(Trainable, load_backend(backend, env, head, kind=f"iad_policy.learn.backends.{kind}", **options))
