"""Log-probabilities of answers, token by token, at temperature 1."""

from collections import OrderedDict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from iad_policy.models.hf.weights import HFWeights

Ids = Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class ReadPrompt:
    """A prompt that the model has read.

    Attributes:
        ids: Its tokens.
        cache: Keys and values.
        last: Log-probabilities of the next token: shape (vocabulary,).
    """

    ids: tuple[int, ...]
    cache: Any
    last: torch.Tensor


class PromptReader:
    """Reads prompts, and keeps what it has read of the beginnings that many prompts have in common.

    A beginning is read by itself the first time too, so that a prompt gives the same numbers whatever was read before.

    Args:
        weights: The model. When it is trained, `forget` has to be called.
    """

    def __init__(self, weights: HFWeights) -> None:
        self._weights = weights
        self._beginnings: OrderedDict[tuple[int, ...], Any] = OrderedDict()

    def forget(self) -> None:
        """Drop what was read."""
        self._beginnings.clear()

    def read(self, ids: Ids, n_fixed: int = 0) -> ReadPrompt:
        """Read a prompt.

        Args:
            ids: Its tokens.
            n_fixed: How many of them other prompts begin with too.

        Raises:
            ValueError: It is longer than the model's context.
        """
        refuse_long(self._weights, len(ids))
        n_fixed = n_fixed if n_fixed < len(ids) else 0
        cache = self._beginning(tuple(ids[:n_fixed])) if n_fixed else None
        seen = self._seen(ids[n_fixed:], cache)
        return ReadPrompt(tuple(ids), seen.past_key_values, seen.logits[0, -1].float().log_softmax(-1))

    def _beginning(self, ids: tuple[int, ...]) -> Any:
        if ids not in self._beginnings:
            self._beginnings[ids] = self._seen(ids, None).past_key_values
            while len(self._beginnings) > 8:
                self._beginnings.popitem(last=False)
        return deepcopy(self._beginnings[ids])

    def _seen(self, ids: Ids, cache: Any) -> Any:
        given = torch.tensor([list(ids)], device=self._weights.model.device)
        with torch.no_grad():
            return self._weights.model(input_ids=given, past_key_values=cache, use_cache=True, logits_to_keep=1)


class ReadAnswer(NamedTuple):
    """An answer that the model has read.

    Attributes:
        logprobs: Log-probability of each token: shape (tokens,).
        hidden: The last layer's state of its last token: shape (width,).
    """

    logprobs: torch.Tensor
    hidden: torch.Tensor


def read_answers(weights: HFWeights, prompt: ReadPrompt, answers: Sequence[Ids]) -> list[ReadAnswer]:
    """Read answers to a prompt."""
    found: list[ReadAnswer] = []
    # Answers to one prompt that are read together
    n_together = 16
    for first in range(0, len(answers), n_together):
        found += _read(weights, prompt, [list(one) for one in answers[first : first + n_together]])
    return found


def _read(weights: HFWeights, prompt: ReadPrompt, answers: list[list[int]]) -> list[ReadAnswer]:
    longest = max(map(len, answers))
    refuse_long(weights, len(prompt.ids) + longest)
    device = weights.model.device
    pad = weights.tokenizer.pad_token_id
    given = torch.tensor([one + [pad] * (longest - len(one)) for one in answers], device=device)
    mask = torch.tensor(
        [[1] * (len(prompt.ids) + len(one)) + [0] * (longest - len(one)) for one in answers], device=device
    )
    cache = deepcopy(prompt.cache)
    cache.batch_repeat_interleave(len(answers))
    with torch.no_grad():
        seen = weights.model(
            input_ids=given, attention_mask=mask, past_key_values=cache, use_cache=True, output_hidden_states=True
        )
    likely = seen.logits.float().log_softmax(-1)
    found = []
    for place, answer in enumerate(answers):
        later = likely[place, : len(answer) - 1].gather(1, given[place, 1 : len(answer), None])[:, 0]
        tokens = torch.cat([prompt.last[answer[0]][None], later])
        found.append(ReadAnswer(tokens.cpu(), seen.hidden_states[-1][place, len(answer) - 1].float().cpu()))
    return found


def answer_logprobs(weights: HFWeights, model: Any, prompts: Sequence[Ids], answers: Sequence[Ids]) -> torch.Tensor:
    """Return the sum of the log-probabilities of each answer's tokens, with gradients: shape (answers,).

    What is observed between is part of the prompt, so it has no gradient.

    Args:
        weights: The tokenizer's side of the model.
        model: What is asked: the model itself, or the one that a trainer wrapped.
        prompts: Tokens of each prompt.
        answers: Tokens of each answer.
    """
    longest = max(map(len, answers))
    given = padded(weights, prompts, answers)
    likely = model(**given, logits_to_keep=longest + 1).logits[:, :-1].float().log_softmax(-1)
    tokens = likely.gather(2, given["input_ids"][:, -longest:, None])[..., 0]
    of_answer = [[0.0] * (longest - len(one)) + [1.0] * len(one) for one in answers]
    return (tokens * torch.tensor(of_answer, device=tokens.device)).sum(1)


def padded(weights: HFWeights, prompts: Sequence[Ids], answers: Sequence[Ids]) -> dict[str, Any]:
    """Return what a model is given of prompts with their answers, padded on the left: all answers end at one place.

    Raises:
        ValueError: One is longer than the model's context.
    """
    whole = [[*prompt, *answer] for prompt, answer in zip(prompts, answers, strict=True)]
    widest = max(map(len, whole))
    refuse_long(weights, widest)
    pad, device = weights.tokenizer.pad_token_id, weights.model.device
    mask = torch.tensor([[0] * (widest - len(one)) + [1] * len(one) for one in whole], device=device)
    return {
        "input_ids": torch.tensor([[pad] * (widest - len(one)) + one for one in whole], device=device),
        "attention_mask": mask,
        "position_ids": (mask.cumsum(1) - 1).clamp(min=0),
        "use_cache": False,
    }


def refuse_long(weights: HFWeights, n_tokens: int) -> None:
    """Refuse what doesn't fit the context.

    Raises:
        ValueError: It is too long.
    """
    if n_tokens > weights.n_context:
        raise ValueError(
            f"expected at most {weights.n_context} tokens for hf:{weights.name}, got {n_tokens}; shorten the prompt, "
            "or take a model with a longer context"
        )
