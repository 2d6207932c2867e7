"""Finds an environment's data folder and identifies its version."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from functools import cache, lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import NamedTuple

from iad_envs.errors import DataNotFound

DATA_VARIABLE = "IAD_DATA"
OFFICIAL = "official:"
"""Begins a `data_dir` that is a name of official data and no path."""
_PACKAGE = Path(__file__).parent
_BUNDLED = (_PACKAGE / "bundled", _PACKAGE.parent / "data")  # in an installed wheel; in a source tree


@cache
def official_sha256() -> Mapping[str, str]:
    """Return the SHA-256 hashes of the official files, by name, or by folder and name where two have one name."""
    found: dict[str, str] = json.loads((_PACKAGE / "official_sha256.json").read_text(encoding="utf-8"))
    return found


class DataVersion(NamedTuple):
    """The version of an environment's data. Results are comparable only if the digests are equal.

    Attributes:
        name: Kind of data: `bundled`, `official` (all files with a known hash match) or `other`.
        digest: Hash of all data files, 16 hex digits.
        folder: Folder of the data files.
    """

    name: str
    digest: str
    folder: str


def data_folder(environment: str, data_dir: str | Path | None = None) -> Path:
    """Return the folder of an environment's data.

    Args:
        environment: Short name of the environment: `webshop`, `bird` ...
        data_dir: The folder itself, or `official:NAME` for data that `iad data fetch` has brought. Default:
            `$IAD_DATA/<environment>` if it exists, else the bundled data.

    Raises:
        DataNotFound: `data_dir` is not a folder, official data are not here, or the bundled data are missing.
        ValueError: There are no official data of that name, or they are of another environment.
    """
    if isinstance(data_dir, str) and data_dir.startswith(OFFICIAL):
        from iad_envs.official.place import resolve_official

        return resolve_official(data_dir, environment)
    if data_dir is not None:
        folder = Path(data_dir)
        if not folder.is_dir():
            raise DataNotFound(
                f"expected data_dir to be a folder with {environment} data, got {folder}; check the path"
            )
        return folder
    root = os.environ.get(DATA_VARIABLE)
    candidates = [Path(root) / environment] if root else []
    candidates += [bundled / environment for bundled in _BUNDLED]
    for folder in candidates:
        if folder.is_dir():
            return folder
    tried = ", ".join(map(str, candidates))
    raise DataNotFound(f"expected {environment} data in one of {tried}, found none; set {DATA_VARIABLE} or data_dir")


@lru_cache(maxsize=16)
def data_version(folder: Path, files: tuple[str, ...]) -> DataVersion:
    """Return the version of the data in a folder, by the content of its files."""
    paths = [path for pattern in files for path in sorted(folder.glob(pattern))]
    n_paths = Counter(path.name for path in paths)
    hashes = {
        path.name if n_paths[path.name] == 1 else f"{path.parent.name}/{path.name}": sha256_of(path) for path in paths
    }
    known = official_sha256()
    with_known = [name for name in hashes if known.get(name)]
    if folder.parent.resolve() in [bundled.resolve() for bundled in _BUNDLED]:
        name = "bundled"
    else:
        official = with_known and all(hashes[file] == known[file] for file in with_known)
        name = "official" if official else "other"
    digest = sha256(repr(sorted(hashes.items())).encode()).hexdigest()[:16]
    return DataVersion(name, digest, str(folder))


def is_official(path: Path) -> bool:
    """Whether a file is the official file of its name. False if the name is not known."""
    return official_sha256().get(path.name) == sha256_of(path)


def sha256_of(path: Path) -> str:
    """Return a file's hash as hex digits."""
    with path.open("rb") as file:  # official databases are up to 600 MB large
        return file_digest(file, "sha256").hexdigest()
