"""Makes clients of language models from names."""

import os
from functools import cache
from typing import Any

from iad_policy.models import TIMEOUT_VARIABLE, LanguageModel


def load_model(spec: str | LanguageModel, **sampling: Any) -> LanguageModel:
    """Return a model.

    Args:
        spec: A litellm name (`"gpt-4o-mini"`, `"ollama/qwen3"`, `"hosted_vllm/<model>"`), `local:` and a model on this
            machine (`"local:smollm2"`, `"local:path/to/model.gguf"`), `hf:` and a model of the package transformers
            (`"hf:smollm2"`, `"hf:path/to/folder"`), or an object with `complete`. Equal names give
            the same client, so an agent and a judge share its limit on parallel calls. A prefix `litellm:`, as in names
            of agents and roles, is dropped.
        sampling: Sampling options of a client created by name: `top_p=`, `logprobs=True`. Other options give another
            client.

    Raises:
        MissingExtra: The package litellm is not installed, for `local:` the package xllamacpp, or for `hf:` one of the
            extra training.
        ValueError: The name is empty, or there is no such file, or it can't be used.
        TypeError: It is neither a name nor a model, or sampling options were given for an existing client.
    """
    if isinstance(spec, str):
        spec = spec.removeprefix("litellm:")
        if not spec:
            raise ValueError(
                "expected a model's name, as in litellm:gpt-4o-mini or judge:gpt-4o-mini, got none; add it"
            )
        return _named(spec, tuple(sorted(sampling.items())))
    if not isinstance(spec, LanguageModel):
        raise TypeError(f"expected a model's name or an object with name and complete(), got {spec!r:.200}; add them")
    if sampling:
        raise TypeError(
            f"expected a model's name with {', '.join(sampling)}, got the client {spec.name}; set them in the client"
        )
    return spec


@cache
def _named(name: str, sampling: tuple[tuple[str, Any], ...]) -> LanguageModel:
    given = os.environ.get(TIMEOUT_VARIABLE)
    try:
        limit: dict[str, Any] = {"timeout_s": float(given)} if given else {}
    except ValueError:
        raise ValueError(
            f"expected seconds in {TIMEOUT_VARIABLE}, got {given!r}; write {TIMEOUT_VARIABLE}=600"
        ) from None
    kind, _, file = name.partition(":")
    if kind == "local":
        from iad_policy.models.local import local_model

        return local_model(file, **limit, **dict(sampling))
    if kind == "hf":
        from iad_policy.models.hf import hf_model

        return hf_model(file, **dict(sampling))  # in this thread, so without a limit
    from iad_policy.models.litellm import LiteLLMModel

    return LiteLLMModel(name, **limit, **dict(sampling))
