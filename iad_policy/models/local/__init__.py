"""Language models on this machine: a GGUF file, served by llama.cpp in a process of its own that the run starts."""

import os
from importlib.util import find_spec
from typing import Any

from iad_policy.errors import MissingExtra
from iad_policy.models.local.client import CONTEXT_VARIABLE, THREADS_VARIABLE, LocalModel
from iad_policy.models.local.files import ModelFile, find_model

__all__ = ["LocalModel", "ModelFile", "find_model", "local_model"]

PACKAGE = "xllamacpp"
EXTRA = "local"


def local_model(spec: str, **options: Any) -> LocalModel:
    """Return the client of a model on this machine.

    Args:
        spec: What stands after `local:`: a known name, or the path of a GGUF file.
        options: Options of `LocalModel`.

    Raises:
        MissingExtra: The package with llama.cpp is not installed.
        UnknownName: It is neither a known name nor a file.
        ValueError: The model's file can't be used or fetched, or a variable is not a number.
    """
    if find_spec(PACKAGE) is None:
        raise MissingExtra(PACKAGE, EXTRA)
    for name, variable in (("n_context", CONTEXT_VARIABLE), ("n_threads", THREADS_VARIABLE)):
        given = os.environ.get(variable)
        if given:
            if not given.isdecimal() or int(given) < 1:
                raise ValueError(f"expected a whole number above 0 in {variable}, got {given!r}; write {variable}=4")
            options = {name: int(given), **options}
    return LocalModel(find_model(spec), **options)
