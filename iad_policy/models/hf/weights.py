"""Loads a model's weights and its tokenizer: from the hub, a folder, or a GGUF file."""

import hashlib
import os
from collections.abc import Sequence
from contextlib import redirect_stderr
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from io import StringIO
from itertools import takewhile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from iad_policy.models import Messages
from iad_policy.models.local.files import KNOWN, fetched, hash_of
from iad_policy.models.tools import rendered
from iad_policy.types.hashing import digest

DTYPE_VARIABLE = "IAD_HF_DTYPE"
"""Variable with the type of the weights: `bfloat16` or `float32`. Without it, it is float32 on a processor, which is
faster on most of them, and bfloat16 on a GPU."""
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}


@dataclass(frozen=True, slots=True, eq=False)
class HFWeights:
    """A causal language model with its tokenizer.

    Attributes:
        name: What stands after `hf:`.
        model: The model, on its device.
        tokenizer: The tokenizer, with a chat template.
        ends: Ids of the tokens that end an answer. The first one is trained.
        identity: A text that changes whenever the weights do.
        fixed: How many tokens a prompt with a system message begins with whatever comes after it, by a digest of that
            message and of the template's options.
    """

    name: str
    model: Any
    tokenizer: Any
    ends: tuple[int, ...]
    identity: str
    fixed: dict[str, int] = field(default_factory=dict)

    @property
    def n_context(self) -> int:
        """Most tokens of a prompt with its answer."""
        return int(getattr(self.model.config, "max_position_embeddings", None) or 1 << 20)

    def prompt_ids(self, messages: Messages, thinking: bool | None = None) -> list[int]:
        """Return the tokens of a prompt, up to where the answer begins.

        Args:
            messages: The prompt.
            thinking: Whether the model thinks before it answers. None leaves it to the chat template.

        Raises:
            ModelError: It has tools, and the chat template has no place for them.
        """
        text = rendered(self.tokenizer, self.name, messages, thinking)
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def n_fixed(self, messages: Messages, thinking: bool | None = None) -> int:
        """Return how many tokens of a prompt are the same for every prompt with its system message and its tools."""
        first = messages[0]
        if first["role"] != "system" or not isinstance(first["content"], str):
            return 0
        key = digest(first, thinking)
        if key not in self.fixed:
            one, other = (self.prompt_ids([first, {"role": "user", "content": text}], thinking) for text in ("a", "1"))
            same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
            self.fixed[key] = len(list(same))
        return self.fixed[key]

    def answer_ids(self, text: str) -> list[int]:
        """Return the tokens of a whole answer, with the one that ends it."""
        return [*self.tokenizer(text, add_special_tokens=False)["input_ids"], self.ends[0]]

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of an answer's tokens."""
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))


def load_weights(spec: str) -> HFWeights:
    """Return a model's weights. They are loaded once per process, and nobody may change them.

    Args:
        spec: The id of a model on the hub, a folder, a GGUF file, or a name that stands for one, such as `smollm2`.

    Raises:
        ValueError: There is no such model, or transformers can't load it.
    """
    return _loaded(spec, _dtype())


def fresh_weights(spec: str) -> HFWeights:
    """Return weights that the caller may change, or put adapters on. See `load_weights`."""
    if spec in KNOWN:  # a small file whose weights take long to unpack
        known = _loaded(spec, _dtype())
        return replace(known, model=deepcopy(known.model))
    return _load(spec, _dtype())


@cache
def _loaded(spec: str, dtype: str) -> HFWeights:
    return _load(spec, dtype)


def _dtype() -> str:
    given = os.environ.get(DTYPE_VARIABLE) or ("bfloat16" if torch.cuda.is_available() else "float32")
    if given not in DTYPES:
        raise ValueError(f"expected one of {', '.join(DTYPES)} in {DTYPE_VARIABLE}, got {given!r}; choose one of them")
    return given


def _load(spec: str, dtype: str) -> HFWeights:
    if not spec:
        raise ValueError("expected a model after hf:, got none; write hf:smollm2, hf:FOLDER or hf:ORGANISATION/NAME")
    path = fetched(spec) if spec in KNOWN else Path(spec).expanduser()
    is_gguf = path.is_file()
    place = str(path.parent if is_gguf else path if path.is_dir() else spec)
    file = {"gguf_file": path.name} if is_gguf else {}
    # Packed weights can't be trained.
    unpacked = {"quantization_config": GgufConfig(dequantize=True)} if is_gguf else {}
    try:
        with redirect_stderr(StringIO()):  # which has their progress bars
            # Unless it is said, transformers asks whether to run the code that a model may bring.
            asked = {"trust_remote_code": False, **file}
            tokenizer = AutoTokenizer.from_pretrained(place, **asked)
            model = AutoModelForCausalLM.from_pretrained(place, dtype=DTYPES[dtype], **asked, **unpacked)
    except Exception as error:  # each kind of file fails in its own way
        raise ValueError(
            f"expected a model that transformers can load, got hf:{spec} ({type(error).__name__}: {error!s:.300}); "
            "name a model on the hub, a folder with config.json and weights, or a GGUF file of an architecture that it "
            "knows"
        ) from error
    if not tokenizer.chat_template:
        raise ValueError(
            f"expected a model with a chat template, got hf:{spec}, which has none (a base model?); take its instruct "
            "version"
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    if torch.cuda.is_available():
        model = model.to("cuda")
    model.eval()
    model.requires_grad_(False)
    identity = hash_of(path) if is_gguf else _identity(path, model)
    named = model.generation_config.eos_token_id
    others = named if isinstance(named, list) else [named]
    ends = tuple(dict.fromkeys(one for one in (tokenizer.eos_token_id, *others) if one is not None))
    return HFWeights(spec, model, tokenizer, ends, f"{identity} {dtype}")


def _identity(path: Path, model: Any) -> str:
    """Return a hash of a folder's weights, or the commit of a model on the hub."""
    if path.is_dir():
        found = [hash_of(one) for one in sorted(path.glob("*.safetensors")) or sorted(path.glob("*.bin"))]
        return hashlib.sha256("".join(found).encode()).hexdigest()
    return str(getattr(model.config, "_commit_hash", None) or "")
