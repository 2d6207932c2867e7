"""The backend of language models, if the packages that train them are there."""

from typing import TYPE_CHECKING, Any

from iad_policy.models.hf import require_packages
from iad_policy.registry import load_object
from iad_policy.trained.heads import Head

if TYPE_CHECKING:
    from iad_policy.trained.backends.hf import HFBackend


def language_model(
    name: str, env: str, head: Head, *, kind: str = "iad_policy.trained.backends.hf:HFBackend", **options: Any
) -> "HFBackend":
    """Return a language model with a head or adapters: `hf:<model>`. See `HFBackend`.

    Raises:
        MissingExtra: A package is not installed.
        ValueError: There is no such model, transformers can't load it, or it is to judge attempts.
    """
    spec = name.partition(":")[2]
    if head == "attempt":
        raise ValueError(
            f"expected the backend linear or mlp for an evaluator of attempts, got hf:{spec}; pass one of the two, or "
            "name a language model as the role: --role evaluator=litellm:<model>"
        )
    require_packages()
    made: HFBackend = load_object(kind)(env, head, spec, **options)
    return made
