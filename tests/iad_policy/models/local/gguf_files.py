"""Small GGUF files: a header and its metadata, without weights."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

STRING, ARRAY, UINT32, FLOAT32 = 8, 9, 4, 6
LLAMA = {
    "general.architecture": "llama",
    "llama.context_length": 8192,
    "llama.block_count": 30,
    "llama.embedding_length": 576,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "tokenizer.ggml.tokens": ["a", "bc", ""],
    "tokenizer.ggml.scores": [0.5, 1.5],
    "tokenizer.chat_template": "{{ messages }}",
}
"""What SmolLM2-135M says about its shape."""


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def packed(value: Any) -> tuple[int, bytes]:
    """A value's type and bytes."""
    if isinstance(value, str):
        return STRING, text(value)
    if isinstance(value, int):
        return UINT32, struct.pack("<I", value)
    if isinstance(value, float):
        return FLOAT32, struct.pack("<f", value)
    kind = packed(value[0])[0]
    return ARRAY, struct.pack("<IQ", kind, len(value)) + b"".join(packed(one)[1] for one in value)


def gguf(values: Mapping[str, Any] = LLAMA, *, magic: bytes = b"GGUF", version: int = 3) -> bytes:
    """A file's bytes."""
    parts = [magic, struct.pack("<IQQ", version, 0, len(values))]
    for key, value in values.items():
        kind, content = packed(value)
        parts += [text(key), struct.pack("<I", kind), content]
    return b"".join(parts)


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
