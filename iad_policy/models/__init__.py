"""Language models: a client is any object with `name` and `complete`. It reports its usage to `current_call()`.

To use another client than litellm, write a class with these two and pass an object of it instead of a model's name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from iad_policy.types import NOTHING, Usage
from iad_policy.types.hashing import digest
from iad_policy.types.secrets import without_secrets

Message = Mapping[str, Any]
"""A message: `{"role": "system" | "user" | "assistant", "content": text, or a list of parts}`.

The first message of a prompt may have `tools`, a list of functions that the model may call, in OpenAI's form. A message
of the assistant may have `tool_calls` in that form, and `{"role": "tool", "tool_call_id", "name", "content"}` answers
each of them. `iad_policy.models.tools` says how calls come back.
"""
Messages = Sequence[Message]
TIMEOUT_VARIABLE = "IAD_TIMEOUT_S"
"""Variable with the seconds per try of a client created by name. It changes no answer, so no run key contains it."""


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer.

    Attributes:
        text: The answer's text, which may be empty. Calls of functions are its last lines, and reasoning that the
            server returned apart is before it in the tags `<think>` and `</think>`.
        usage: Tokens, and dollars if the price is known. It is already reported to the current call.
        logprobs: Log-probabilities of the answer's tokens, if they were requested and returned.
        starts: Position in the text where each of these tokens begins, in characters. None if they don't spell the
            text.
        finish_reason: The provider's reason for the end, such as `stop`, `tool_calls` or `length`.
        logprob_kind: Whether the log-probabilities are the model's own, `model`, or those after temperature and
            truncation, `sampled`; "" if that is not known.
        cached_tokens: Tokens of the prompt that the server had in its cache; None if it didn't say.
    """

    text: str
    usage: Usage = NOTHING
    logprobs: tuple[float, ...] | None = None
    finish_reason: str = "stop"
    starts: tuple[int, ...] | None = None
    logprob_kind: str = ""
    cached_tokens: int | None = None


@runtime_checkable
class LanguageModel(Protocol):
    """Completes messages, and reports the usage to `iad_policy.types.call_context.current_call()`.

    An optional mapping `settings` holds everything else that changes its answers (endpoint, sampling parameters).
    """

    @property
    def name(self) -> str:
        """Name in logs, caches and reports."""
        ...

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer. Without a temperature or a limit, the provider's defaults apply.

        Raises:
            ModelError: The model could not answer. Its `kind` says why.
        """
        ...


def text_of(content: object) -> str:
    """Return the text of a message's content. In a list of parts, it is that of the text parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else []
    return "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and "text" in part)


def settings_of(model: LanguageModel) -> Mapping[str, Any]:
    """Return everything but the name that changes a model's answers, without secrets.

    It is empty for a client without settings.
    """
    settings: Mapping[str, Any] = without_secrets(getattr(model, "settings", {}))
    return settings


def allow_parallel(model: LanguageModel, n: int) -> None:
    """Let at least `n` calls of a model run in parallel, if the client itself limits them."""
    rate_limit = getattr(model, "rate_limit", None)
    if rate_limit is not None:
        rate_limit.raise_limit(n)


def release(model: LanguageModel) -> None:
    """Let a client end what it started itself, such as a server. When it is asked again, it starts that again."""
    end = getattr(model, "release", None)
    if end is not None:
        end()


def identity_of(model: LanguageModel) -> str:
    """Return a model's name and settings as one text, for the key of an episode."""
    settings = ",".join(f"{key}={value}" for key, value in sorted(settings_of(model).items()) if value is not None)
    return f"{model.name}({settings})"


def question_of(model: LanguageModel, messages: Messages, temperature: float | None, max_tokens: int | None) -> str:
    """Return a digest of everything that a model is asked, and of the model."""
    return digest(model.name, settings_of(model), list(messages), temperature, max_tokens)
