"""The backend of language models, if the packages that train them are there."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from iad_policy.models.hf import require_packages
from iad_policy.trained.heads import Head

if TYPE_CHECKING:
    from iad_policy.trained.backends.hf import HFBackend


def _own() -> "type[HFBackend]":
    from iad_policy.trained.backends.hf import HFBackend

    return HFBackend


def language_model(
    env: str, head: Head, spec: str = "", *, kind: "Callable[[], type[HFBackend]]" = _own, **options: Any
) -> "HFBackend":
    """Return a language model with a head or adapters: `hf:<model>`. See `HFBackend`.

    Raises:
        MissingExtra: A package is not installed.
        ValueError: There is no such model, transformers can't load it, or it is to judge attempts.
    """
    if head == "attempt":
        raise ValueError(
            f"expected the backend linear or mlp for an evaluator of attempts, got hf:{spec}; pass one of the two, or "
            "name a language model as the role: --role evaluator=litellm:<model>"
        )
    require_packages()
    return kind()(env, head, spec, **options)
