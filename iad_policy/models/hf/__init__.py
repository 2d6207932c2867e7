"""Language models in this process, through the package transformers: `hf:<model>`. They can be trained.

A model is the id of one on the Hugging Face hub, a folder with its files, a GGUF file, or `smollm2`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from iad_policy.errors import MissingExtra

if TYPE_CHECKING:
    from iad_policy.models.hf.client import HFModel

PACKAGES = ("torch", "transformers", "peft", "accelerate", "trl", "datasets", "gguf")


def hf_model(spec: str, **options: Any) -> "HFModel":
    """Return the client of a model in this process.

    Args:
        spec: What stands after `hf:`.
        options: Options of `HFModel`.

    Raises:
        MissingExtra: A package is not installed.
        ValueError: There is no such model, or transformers can't load it.
    """
    require_packages()
    from iad_policy.models.hf.client import HFModel
    from iad_policy.models.hf.weights import load_weights

    return HFModel(load_weights(spec), **options)


def require_packages() -> None:
    """Refuse to go on without what trains language models.

    Raises:
        MissingExtra: A package is not installed.
    """
    for package in PACKAGES:
        if find_spec(package) is None:
            raise MissingExtra(package, "training")
