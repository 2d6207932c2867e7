"""Metadata of GGUF files."""

import struct
from pathlib import Path

import pytest

from iad_policy.models.local.gguf import read_gguf
from tests.iad_policy.models.local.gguf_files import LLAMA, gguf, written


def test_a_file_tells_what_it_is(tmp_path: Path) -> None:
    found = read_gguf(written(tmp_path / "m.gguf", gguf()))
    assert found.chat_template == "{{ messages }}"
    assert found.kv_bytes_per_token == 30 * 3 * (64 + 64) * 2
    assert found.values["tokenizer.ggml.tokens"] == 3  # a list of a vocabulary's size is not kept


def test_keys_may_be_longer_than_the_width_says(tmp_path: Path) -> None:
    values = {**LLAMA, "llama.attention.key_length": 128, "llama.attention.value_length": 32}
    assert read_gguf(written(tmp_path / "m.gguf", gguf(values))).kv_bytes_per_token == 30 * 3 * (128 + 32) * 2


def test_a_base_model_has_no_chat_template(tmp_path: Path) -> None:
    values = {key: value for key, value in LLAMA.items() if key != "tokenizer.chat_template"}
    assert read_gguf(written(tmp_path / "m.gguf", gguf(values))).chat_template == ""


@pytest.mark.parametrize("size", [5, 12, 30, 100, 200])
def test_a_file_that_is_cut_short_is_refused(tmp_path: Path, size: int) -> None:
    path = written(tmp_path / "m.gguf", gguf()[:size])
    with pytest.raises(ValueError, match=r"expected a whole GGUF file, got .*m\.gguf.*; fetch it again"):
        read_gguf(path)


def test_lengths_that_no_file_has_are_refused(tmp_path: Path) -> None:
    content = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**63)
    with pytest.raises(ValueError, match="expected a whole GGUF file"):
        read_gguf(written(tmp_path / "m.gguf", content))


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected a GGUF file, which begins with b'GGUF', got .* b'PK"):
        read_gguf(written(tmp_path / "m.gguf", gguf(magic=b"PK\x03\x04")))
    with pytest.raises(ValueError, match=r"expected a GGUF file of version 2 or 3, got version 1"):
        read_gguf(written(tmp_path / "m.gguf", gguf(version=1)))
