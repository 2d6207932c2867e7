"""Which file a name of the form `local:<model>` stands for, and its hash, which identifies the model in runs."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from platformdirs import user_cache_path

from iad_policy.models.local.gguf import Gguf, read_gguf

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
    """Return the file of a model.

    Args:
        spec: A path of a GGUF file.

    Raises:
        ValueError: There is no such file, it is not a whole GGUF file, or it has no chat template.
    """
    path = Path(spec).expanduser()
    if not path.is_file():
        raise ValueError(f"expected a GGUF file, got {spec}, which is not there; check the path")
    gguf = read_gguf(path)
    if not gguf.chat_template:
        raise ValueError(
            f"expected a model with a chat template, got {path}, which has none (a base model?); take "
            "its instruct version"
        )
    return ModelFile(path.stem, path, hash_of(path), gguf)


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
