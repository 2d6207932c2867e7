"""A model in this process as a client."""

from collections import OrderedDict
from collections.abc import Mapping
from copy import deepcopy
from threading import Lock
from typing import Any

import torch

from iad_policy.errors import ModelError
from iad_policy.models import Completion, Messages, question_of
from iad_policy.models.hf.likelihood import PromptReader, ReadPrompt
from iad_policy.models.hf.weights import HFWeights
from iad_policy.types import Usage
from iad_policy.types.call_context import current_call
from iad_policy.types.hashing import seed_of
from iad_policy.types.names import CUT_OFF


class HFModel:
    """A model that transformers runs in this process. It answers one question after another.

    The seed of a sample follows from the question, the task and the run's seed. Log-probabilities are the model's own,
    before temperature and truncation, with the token that ends the answer.

    Args:
        weights: The model.
        top_p: Nucleus sampling; 1 keeps all tokens.
        logprobs: Whether to return the log-probabilities of the answer's tokens.
        thinking: Whether the model thinks before it answers, if its chat template has the option `enable_thinking`.
            None leaves it to the template.
        adapter: What was trained on top of the model, as a text for its identity; "" for nothing.
    """

    def __init__(
        self,
        weights: HFWeights,
        *,
        top_p: float = 1.0,
        logprobs: bool = True,
        thinking: bool | None = None,
        adapter: str = "",
    ) -> None:
        self.name = f"hf:{weights.name}"
        self.weights = weights
        self._top_p = top_p
        self._logprobs = logprobs
        self._thinking = thinking
        self._adapter = adapter
        self._lock = Lock()
        self._reader = PromptReader(weights)
        self._kept: OrderedDict[tuple[int, ...], ReadPrompt] = OrderedDict()

    @property
    def settings(self) -> Mapping[str, Any]:
        """The weights' hash, what was trained on top of them, and the sampling parameters."""
        return {
            "weights": self.weights.identity,
            "adapter": self._adapter or None,
            "top_p": self._top_p,
            "logprobs": self._logprobs or None,
            **({} if self._thinking is None else {"thinking": self._thinking}),
        }

    def complete(
        self, messages: Messages, *, temperature: float | None = None, max_tokens: int | None = None
    ) -> Completion:
        """Return the answer. See `LanguageModel.complete`.

        Raises:
            ModelError: The prompt is too long, or has tools and the chat template has no place for them.
        """
        call = current_call()
        id = question_of(self, messages, temperature, max_tokens)
        with call.drawing(id) as draw:
            seed = seed_of(call.stream, id, call.sample_index, draw) % 2**63
        ids = self.weights.prompt_ids(messages, self._thinking)
        heat = 1.0 if temperature is None else temperature
        with self._lock:
            try:
                prompt, n_cached = self._read(ids, self.weights.n_fixed(messages, self._thinking))
            except ValueError as error:
                raise ModelError(str(error), kind="context") from error
            room = self.weights.n_context - len(ids)
            tokens, likely, finish = self._sampled(prompt, heat, min(max_tokens or 256, room), seed)
        usage = Usage(prompt_tokens=len(ids), completion_tokens=len(tokens))
        call.report(usage)
        text = self.weights.text(tokens[:-1] if finish == "stop" else tokens)
        logprobs = tuple(likely) if self._logprobs else None
        kind = "model" if self._logprobs else ""
        return Completion(text, usage, logprobs, finish, logprob_kind=kind, cached_tokens=n_cached)

    def _read(self, ids: list[int], n_fixed: int) -> tuple[ReadPrompt, int]:
        """Return a prompt that is read, and how many of its tokens were known."""
        known = self._kept.pop(tuple(ids), None)
        prompt = known or self._reader.read(ids, n_fixed)
        self._kept[prompt.ids] = prompt
        while len(self._kept) > 4:  # samples of a question ask for the same prompt
            self._kept.popitem(last=False)
        return prompt, 0 if known is None else len(ids)

    def _sampled(
        self, prompt: ReadPrompt, temperature: float, max_tokens: int, seed: int
    ) -> tuple[list[int], list[float], str]:
        draw = torch.Generator().manual_seed(seed)
        cache, last, tokens, likely = deepcopy(prompt.cache), prompt.last.cpu(), list[int](), list[float]()
        device = self.weights.model.device
        while True:
            token = _drawn(last, temperature, self._top_p, draw)
            tokens.append(token)
            likely.append(float(last[token]))
            if token in self.weights.ends:
                return tokens, likely, "stop"
            if len(tokens) >= max_tokens:
                return tokens, likely, CUT_OFF
            current_call().refuse_if_stopped()
            given = torch.tensor([[token]], device=device)
            with torch.no_grad():
                seen = self.weights.model(input_ids=given, past_key_values=cache, use_cache=True)
            last = seen.logits[0, -1].float().log_softmax(-1).cpu()


def _drawn(logprobs: torch.Tensor, temperature: float, top_p: float, draw: torch.Generator) -> int:
    # Temperatures below it are greedy
    if temperature < 1e-3:
        return int(logprobs.argmax())
    odds = (logprobs / temperature).softmax(-1)
    if top_p < 1:
        ordered, places = odds.sort(descending=True)
        ordered[ordered.cumsum(0) - ordered >= top_p] = 0
        odds = torch.zeros_like(odds).scatter(0, places, ordered)
    return int(torch.multinomial(odds, 1, generator=draw))
