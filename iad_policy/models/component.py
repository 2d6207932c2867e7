"""The base class of components that ask a language model: agents, judges, roles and simulators."""

from dataclasses import replace
from typing import Any

from iad_policy.models import Completion, LanguageModel, Messages, settings_of
from iad_policy.models.loading import load_model
from iad_policy.types import Exchange
from iad_policy.types.call_context import current_call
from iad_policy.types.names import CUT_OFF
from iad_policy.types.secrets import masked
from iad_policy.types.texts import shortened, well_formed

MAX_ANSWER = 2**19
"""Characters of the longest answer that is kept whole; the rest of a longer one is cut off, and the end says so."""


class ModelComponent:
    """A component with a language model and its sampling options.

    Args:
        model: A litellm name or an object with `complete`.
        temperature: Sampling temperature. None keeps the provider's default.
        max_tokens: Maximum length of an answer. None keeps the provider's default.
        sampling: Further options of a model given by name, such as `top_p`.
    """

    def __init__(
        self, model: str | LanguageModel, *, temperature: float | None, max_tokens: int | None, **sampling: Any
    ) -> None:
        self.model = load_model(model, **sampling)
        self._temperature = temperature
        self._max_tokens = max_tokens

    @property
    def sampling(self) -> str:
        """The sampling options as text, for the component's identity."""
        return f"temperature={self._temperature} max_tokens={self._max_tokens}"

    def complete(self, messages: Messages, temperature: float | None = None) -> Completion:
        """Return the model's answer. Without a temperature the component's own applies.

        This is the border to models: the question and the answer have no lone surrogates, and the answer no secrets of
        this process. The answer's exchange has it as the model sent it. An answer of more than `MAX_ANSWER` characters
        is cut, as one at `max_tokens` is.

        Raises:
            ModelError: The model could not answer.
        """
        temperature = self._temperature if temperature is None else temperature
        messages = well_formed(tuple(messages))
        answer = self.model.complete(messages, temperature=temperature, max_tokens=self._max_tokens)
        if len(answer.text) > MAX_ANSWER:
            text = shortened(answer.text, MAX_ANSWER)
            answer = replace(answer, text=text, finish_reason=CUT_OFF, logprobs=None, starts=None)
        sampling = {"temperature": temperature, "max_tokens": self._max_tokens, **settings_of(self.model)}
        current_call().exchanges.append(
            Exchange(
                messages,
                answer.text,
                answer.finish_reason,
                {"model": self.model.name}
                | {name: value for name, value in sampling.items() if value is not None and name != "api_base"},
                answer.logprob_kind if answer.logprobs else "",
                answer.cached_tokens,
            )
        )
        text = well_formed(masked(answer.text))
        if text is answer.text:
            return answer
        # A pair of surrogates is one character, and a secret three, so what comes after it has another place.
        return replace(answer, text=text, starts=answer.starts if len(text) == len(answer.text) else None)
