"""Language models on this machine: a GGUF file, served by llama.cpp in a process of its own that the run starts."""

from importlib.util import find_spec
from typing import Any

from iad_policy.errors import MissingExtra
from iad_policy.models.local.client import LocalModel
from iad_policy.models.local.files import ModelFile, find_model

__all__ = ["LocalModel", "ModelFile", "find_model", "local_model"]

PACKAGE = "xllamacpp"
EXTRA = "local"


def local_model(spec: str, **options: Any) -> LocalModel:
    """Return the client of a model on this machine.

    Args:
        spec: What stands after `local:`.
        options: Options of `LocalModel`.

    Raises:
        MissingExtra: The package with llama.cpp is not installed.
        ValueError: The model's file can't be used.
    """
    if find_spec(PACKAGE) is None:
        raise MissingExtra(PACKAGE, EXTRA)
    return LocalModel(find_model(spec), **options)
