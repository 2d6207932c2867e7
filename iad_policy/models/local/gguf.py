"""Reads the metadata of a GGUF file: what a token takes in its cache, and its chat templates.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

STRING, ARRAY = 8, 9
NUMBERS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
"""Value type -> its `struct` format."""


class Gguf(NamedTuple):
    """What a file says about its model.

    Attributes:
        values: Metadata by key. Arrays are replaced by their length.
    """

    values: Mapping[str, Any]

    @property
    def chat_template(self) -> str:
        """The chat template, or ""."""
        return str(self.values.get("tokenizer.chat_template", ""))

    @property
    def chat_templates(self) -> Mapping[str, str]:
        """All chat templates by key. Some files have one of their own for prompts with tools."""
        return {key: str(value) for key, value in self.values.items() if key.startswith("tokenizer.chat_template")}

    @property
    def kv_bytes_per_token(self) -> int:
        """Memory that a token takes in the key-value cache."""
        heads = int(self._own("attention.head_count", 0))
        width = int(self._own("embedding_length", 0)) // max(1, heads)
        kv_heads = int(self._own("attention.head_count_kv", heads))
        keys, values = int(self._own("attention.key_length", width)), int(self._own("attention.value_length", width))
        return int(self._own("block_count", 0)) * kv_heads * (keys + values) * 2  # 16-bit floats

    def _own(self, name: str, default: int) -> Any:
        return self.values.get(f"{self.values.get('general.architecture', '')}.{name}", default)


def read_gguf(path: Path) -> Gguf:
    """Return the metadata of a file.

    Raises:
        ValueError: It is not a GGUF file, or it is cut short.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            if magic != b"GGUF":
                raise ValueError(
                    f"expected a GGUF file, which begins with {b'GGUF'!r}, got {path}, which begins with {magic!r}; "
                    "name a model in this format, as llama.cpp and Hugging Face offer it"
                )
            version, _, n_values = _number(file, "<I"), _number(file, "<Q"), _number(file, "<Q")
            if version not in (2, 3):
                raise ValueError(
                    f"expected a GGUF file of version 2 or 3, got version {version} in "
                    f"{path}; convert it with a current llama.cpp"
                )
            values = {}
            for _ in range(n_values):
                key = _string(file)
                values[key] = _value(file, _number(file, "<I"))
            return Gguf(values)
    except (struct.error, UnicodeDecodeError, MemoryError, OverflowError) as error:
        raise ValueError(
            f"expected a whole GGUF file, got {path}, whose header can't be read ({error}); fetch it again"
        ) from None


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == STRING:
        return _string(file)
    if kind == ARRAY:
        kind, n_items = _number(file, "<I"), _number(file, "<Q")
        if kind in NUMBERS:
            file.seek(n_items * struct.calcsize(NUMBERS[kind]), 1)
        else:
            for _ in range(n_items):
                file.seek(_number(file, "<Q"), 1) if kind == STRING else _value(file, kind)
        return n_items
    if kind not in NUMBERS:
        raise struct.error(f"a value of unknown type {kind}")
    return _number(file, NUMBERS[kind])


def _string(file: BinaryIO) -> str:
    size = _number(file, "<Q")
    text = file.read(size)
    if len(text) != size:
        raise struct.error("its end is missing")
    return text.decode()


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]
