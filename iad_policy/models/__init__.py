"""Language models: a client is anything with a `name` and `complete`; it reports what it spends to `current_call()`.

To use another client than litellm, write a class with those two and pass the object wherever a model's name is taken.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, runtime_checkable

from iad_policy.types import NOTHING, Usage

Message = Mapping[str, Any]
"""`{"role": "system" | "user" | "assistant", "content": text, or a list of parts}`."""
Messages = Sequence[Message]
TIMEOUT_VARIABLE = "IAD_TIMEOUT_S"
"""Seconds that one try of a client made by name may take; it changes no answer, so no run is known by it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer.

    Attributes:
        text: May be empty.
        usage: Tokens, and dollars where the price is known; reported to the current call already.
        logprobs: Of the answer's tokens, if they were asked for and given.
        starts: Where in the text each of these tokens begins, in characters; None where they don't spell the text.
        finish_reason: `stop`, `length` ..., as the provider says it.
    """

    text: str
    usage: Usage = NOTHING
    logprobs: tuple[float, ...] | None = None
    finish_reason: str = "stop"
    starts: tuple[int, ...] | None = None


@runtime_checkable
class LanguageModel(Protocol):
    """Completes messages, and reports the usage to `iad_policy.models.call_context.current_call()`.

    An optional mapping `settings` holds whatever else changes its answers (endpoint, extra sampling parameters).
    """

    @property
    def name(self) -> str:
        """Names it in logs, caches and reports."""
        ...

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer; without temperature or limit the provider's own apply.

        Raises:
            ModelError: It could not answer; `kind` says why.
        """
        ...


def load_model(spec: str | LanguageModel, **sampling: Any) -> LanguageModel:
    """Return a model.

    Args:
        spec: A litellm name (`"gpt-4o-mini"`, `"ollama/qwen3"`, `"hosted_vllm/<model>"`), or an object with `complete`.
            Equal names give the same client, so its limit on parallel calls holds for an agent and a judge together.
            A `litellm:` before it, as agents and roles have it, is no part of the name.
        sampling: Of a client made by name: `top_p=`, `logprobs=True`. Other sampling is another client.

    Raises:
        MissingExtra: litellm, through which models are asked by name, is not installed.
        ValueError: An empty name.
        TypeError: Neither a name nor a model, or sampling for one that is made already.
    """
    if isinstance(spec, str):
        spec = spec.removeprefix("litellm:")
        if not spec:
            raise ValueError(
                "expected a model's name, as in litellm:gpt-4o-mini or judge:gpt-4o-mini, got none; add it"
            )
        return _named(spec, tuple(sorted(sampling.items())))
    if not isinstance(spec, LanguageModel):
        raise TypeError(f"expected a model's name or an object with name and complete(), got {spec!r:.200}")
    if sampling:
        raise TypeError(
            f"expected a model's name with {', '.join(sampling)}, got the client {spec.name}; give it them itself"
        )
    return spec


def settings_of(model: LanguageModel) -> Mapping[str, Any]:
    """Return what, beside its name, changes a model's answers; empty for a client that doesn't say."""
    settings: Mapping[str, Any] = getattr(model, "settings", {})
    return settings


def identity_of(model: LanguageModel) -> str:
    """Return a model's name and settings as one text, for the key of an episode."""
    settings = ",".join(f"{key}={value}" for key, value in sorted(settings_of(model).items()) if value is not None)
    return f"{model.name}({settings})"


@cache
def _named(name: str, sampling: tuple[tuple[str, Any], ...]) -> LanguageModel:
    from iad_policy.models.litellm import LiteLLMModel

    given = os.environ.get(TIMEOUT_VARIABLE)
    try:
        limit: dict[str, Any] = {"timeout_s": float(given)} if given else {}
    except ValueError:
        raise ValueError(
            f"expected seconds in {TIMEOUT_VARIABLE}, got {given!r}; write {TIMEOUT_VARIABLE}=600"
        ) from None
    return LiteLLMModel(name, **limit, **dict(sampling))
