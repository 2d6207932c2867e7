"""Finds an environment's data folder and identifies its version."""

import os
from collections import Counter
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from iad_envs.errors import DataNotFound
from iad_envs.official.hashes import official_sha256, sha256_of
from iad_envs.official.place import DATA_VARIABLE, OFFICIAL, resolve_official

_PACKAGE = Path(__file__).parent
_BUNDLED = (_PACKAGE / "bundled", _PACKAGE.parent / "data")  # in an installed wheel; in a source tree


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
