"""Which file a name stands for, and its hash."""

import hashlib
import os
from pathlib import Path

import pytest

from iad_policy.errors import UnknownName
from iad_policy.models.local.files import find_model, hash_of
from tests.iad_policy.models.local.gguf_files import LLAMA, gguf, written


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("IAD_MODELS", str(tmp_path / "models"))


def test_a_path_is_a_model(tmp_path: Path) -> None:
    path = written(tmp_path / "toy.gguf", gguf())
    found = find_model(str(path))
    assert (found.name, found.path, found.sha256) == ("toy", path, hashlib.sha256(gguf()).hexdigest())


def test_what_is_no_file_is_refused() -> None:
    with pytest.raises(UnknownName, match=r"path of a GGUF file, got 'smollm3' \(near: smollm2\)"):
        find_model("smollm3")
    with pytest.raises(UnknownName, match=r"path of a GGUF file, got 'no/such\.gguf'"):
        find_model("no/such.gguf")


def test_a_model_without_a_chat_template_is_refused(tmp_path: Path) -> None:
    values = {key: value for key, value in LLAMA.items() if key != "tokenizer.chat_template"}
    path = written(tmp_path / "base.gguf", gguf(values))
    with pytest.raises(ValueError, match=r"expected a model with a chat template, got .*; take its instruct version"):
        find_model(str(path))


def test_a_known_model_with_another_content_is_refused(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    written(tmp_path / "models" / "smollm2.gguf", gguf())
    with pytest.raises(ValueError, match=r"expected SmolLM2-135M-Instruct, Q4_1 with the SHA-256 b179c.*; delete it"):
        find_model("smollm2")


def test_a_hash_is_computed_once_per_content(tmp_path: Path) -> None:
    path, known = written(tmp_path / "m.gguf", b"first"), tmp_path / "hashes.json"
    first = hash_of(path, known)
    assert first == hashlib.sha256(b"first").hexdigest()
    known.write_text(known.read_text().replace(first, "kept"))
    assert hash_of(path, known) == "kept"
    written(path, b"other")
    os.utime(path, ns=(1, 1))
    assert hash_of(path, known) == hashlib.sha256(b"other").hexdigest()


def test_a_damaged_list_of_hashes_does_no_harm(tmp_path: Path) -> None:
    path, known = written(tmp_path / "m.gguf", b"first"), written(tmp_path / "hashes.json", b"{")
    assert hash_of(path, known) == hash_of(path, known) == hashlib.sha256(b"first").hexdigest()
