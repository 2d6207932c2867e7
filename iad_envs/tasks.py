"""Where an environment's data is, and which data it is."""

import os
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from iad_envs.errors import DataNotFound

DATA_VARIABLE = "IAD_DATA"
_PACKAGE = Path(__file__).parent
_BUNDLED = (_PACKAGE / "data", _PACKAGE.parent / "data")  # in an installed wheel; in a source tree

OFFICIAL_SHA256 = {
    "items_ins_v2_1000.json": "f88a36314a397b53b3d9c3fa5878e5f7b26d35019a51ec83fbedeca61a948f6f",
    "nl2bash_fs_1.json": "60f88e1aacc7ebba535093f9890c5c33203f4e5f32958e0e94fbe90ec4f01c82",
    "nl2bash_fs_2.json": "8f4ce24e535fab782fda607e37db2ae1d6c5f99993c638d1ac0a7e0b542f633e",
    "nl2bash_fs_3.json": "a2d4ec8bc7ad69a4e2fb3eb84033994cf65ee9cfb355e3e63099df67a339b2e1",
    "nl2bash_fs_4.json": "ce41b89450f87765a02a51df259ca0c1762e8249185c022adb089147e2c16200",
}
"""Known official files by name."""


class DataVersion(NamedTuple):
    """Which data an environment runs on: results are comparable only under the same digest.

    Attributes:
        name: `bundled`, `official` (all files with a known hash have it) or `other`.
        digest: Of all data files, 16 hex digits.
        folder: Where they are.
    """

    name: str
    digest: str
    folder: str


def data_folder(environment: str, data_dir: str | Path | None = None) -> Path:
    """Return the folder of an environment's data.

    Args:
        environment: `webshop`, `bird` ...
        data_dir: That folder itself; by default `$IAD_DATA/<environment>` where it exists, else the bundled data.

    Raises:
        DataNotFound: `data_dir` is no folder, or the bundled data are missing.
    """
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
    """Return which data a folder holds, by the content of its files."""
    hashes = {path.name: _hash(path) for path in _existing(folder, files)}
    known = [name for name in hashes if OFFICIAL_SHA256.get(name)]
    if folder.parent.resolve() in [bundled.resolve() for bundled in _BUNDLED]:
        name = "bundled"
    else:
        official = known and all(hashes[file] == OFFICIAL_SHA256[file] for file in known)
        name = "official" if official else "other"
    digest = sha256(repr(sorted(hashes.items())).encode()).hexdigest()[:16]
    return DataVersion(name, digest, str(folder))


def _existing(folder: Path, patterns: Iterable[str]) -> list[Path]:
    return [path for pattern in patterns for path in sorted(folder.glob(pattern))]


def _hash(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
