"""A language model of random weights, small enough to train in a test. Nothing is downloaded."""

from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SPECIAL = ("<pad>", "</s>", "<system>", "<user>", "<assistant>")
CHATML = ("<|endoftext|>", "<|im_end|>", "<|im_start|>")
QUIET: dict[str, Any] = {"logging_steps": 1, "report_to": [], "save_strategy": "no", "use_cpu": True, "bf16": False}
"""What trainers of TRL are told here."""


def byte_tokenizer(template: str = TEMPLATE, special: tuple[str, ...] = SPECIAL) -> Any:
    """A tokenizer of single bytes, built here. The first two special tokens are padding and an answer's end."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    names = (*special, *sorted(pre_tokenizers.ByteLevel.alphabet()))
    tokenizer = Tokenizer(models.BPE(vocab={name: place for place, name in enumerate(names)}, merges=[]))
    tokenizer.add_special_tokens(list(special))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    options = {"pad_token": special[0], "eos_token": special[1], "chat_template": template, "padding_side": "left"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options)


def tiny_model(seed: int = 0, *, n_layers: int = 2) -> Any:
    """Layers of random weights, 64 wide."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "num_key_value_heads": 4}
    tokens = {"vocab_size": len(byte_tokenizer()), "pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    return LlamaForCausalLM(LlamaConfig(num_hidden_layers=n_layers, max_position_embeddings=8192, **sizes, **tokens))


def tiny_folder(path: Path) -> Path:
    """Write the model and its tokenizer into a folder, and return it."""
    tiny_model().save_pretrained(path)
    byte_tokenizer().save_pretrained(path)
    return path
