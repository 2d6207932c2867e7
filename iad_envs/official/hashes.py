"""Hashes of data files, and which files are the official ones."""

import json
from collections.abc import Mapping
from functools import cache
from hashlib import file_digest
from pathlib import Path


@cache
def official_sha256() -> Mapping[str, str]:
    """Return the SHA-256 hashes of the official files, by name, or by folder and name where two have one name."""
    path = Path(__file__).parents[1] / "official_sha256.json"
    found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    return found


def is_official(path: Path) -> bool:
    """Whether a file is the official file of its name. False if the name is not known."""
    return official_sha256().get(path.name) == sha256_of(path)


def sha256_of(path: Path) -> str:
    """Return a file's hash as hex digits."""
    with path.open("rb") as file:  # official databases are up to 600 MB large
        return file_digest(file, "sha256").hexdigest()
