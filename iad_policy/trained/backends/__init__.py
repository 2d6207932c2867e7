"""Backends hold a model's parameters and apply them. To add one, write its file and name it in `BACKENDS`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, Protocol

from iad_policy.errors import UnknownName
from iad_policy.registry import load_object
from iad_policy.trained.heads import Array, Head
from iad_policy.trained.rows import Row
from iad_policy.types import Candidate, State

BACKENDS: Mapping[str, str] = {
    **dict.fromkeys(
        ("linear", "mlp", "linear-states", "outcomes", "mlp-states"), "iad_policy.trained.backends.numeric:numeric"
    ),
    "hf": "iad_policy.trained.backends.language:language_model",
}
"""Name -> "module:factory". A factory is called with the whole name, the environment's id, the head and options. The
option `kind` names another class to make as "module:class": one that can be trained.

The backends `...-states` see the state alone. They are for the value model of PPO. `outcomes` is that of simulators.
"""


class Backend(Protocol):
    """A model that was trained, or is to be.

    Attributes:
        name: Name of the backend, as in `BACKENDS`, with its argument.
        identity: A text that changes whenever the parameters do.
    """

    name: str

    @property
    def identity(self) -> str:
        """A text that changes whenever an output does."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """The options that another backend needs to read the same parameters."""
        ...

    def batch(self, rows: Sequence[Row]) -> Any:
        """Return rows in the backend's own form."""
        ...

    def outputs(self, batch: Any) -> Array:
        """Return log pi(a|s) of each row at temperature 1, or its value."""
        ...

    def sample(self, state: State, *, temperature: float, rng: Random, avoid: Sequence[Any] = ()) -> Candidate:
        """Return an action of the policy, with its log-probability at temperature 1.

        Args:
            state: The state.
            temperature: Temperature; below 0.001 it is greedy.
            rng: For the draw.
            avoid: Actions that are left out, unless there are no others.
        """
        ...

    def values(self, state: State, actions: Sequence[Any]) -> Array:
        """Return a value model's values of actions in a state."""
        ...

    def reference(self, batch: Any) -> Any:
        """Return what `divergence` has to know of this policy."""
        ...

    def divergence(self, batch: Any, reference: Any) -> float:
        """Return the mean KL from the policy that made the reference, over the states of a batch, in nats."""
        ...

    def load(self, folder: Path) -> None:
        """Read the parameters of a trained model."""
        ...


def load_backend(backend: str, env: str, head: Head, **options: Any) -> Backend:
    """Return an untrained model.

    Args:
        backend: A name such as `linear`, or `hf:<model>`.
        env: The environment's id.
        head: What it is for.
        options: Options of the backend, such as `rate`.

    Raises:
        UnknownName: There is no such backend, or the environment lacks what it needs.
    """
    name, _, argument = backend.partition(":")
    if name not in BACKENDS or (argument and name != "hf"):
        raise UnknownName("backend", backend, BACKENDS)
    made: Backend = load_object(BACKENDS[name])(backend, env, head, **options)
    return made
