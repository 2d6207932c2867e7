"""Which file a name of the form `local:<model>` stands for, and its hash, which identifies the model in runs."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from iad_policy.errors import UnknownName
from iad_policy.models.local.fetch import fetched
from iad_policy.models.local.gguf import Gguf, read_gguf
from iad_policy.models.local.known import KNOWN

BLOCK_BYTES = 1 << 22


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
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            found.update(block)
    with suppress(OSError):
        known.parent.mkdir(parents=True, exist_ok=True)
        part = known.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps({**hashes, name: found.hexdigest()}, indent=1))
        part.replace(known)
    return found.hexdigest()
