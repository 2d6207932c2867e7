"""Finds an environment's data folder and identifies its version."""

import os
from collections.abc import Iterable
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from typing import NamedTuple

from iad_envs.errors import DataNotFound

DATA_VARIABLE = "IAD_DATA"
_PACKAGE = Path(__file__).parent
_BUNDLED = (_PACKAGE / "bundled", _PACKAGE.parent / "data")  # in an installed wheel; in a source tree

OFFICIAL_SHA256 = {
    "items_ins_v2_1000.json": "f88a36314a397b53b3d9c3fa5878e5f7b26d35019a51ec83fbedeca61a948f6f",
    "superhero.sqlite": "75e94a2c3236ee3bb2c01fb97a1c4b4c1c269bcefd4eab1d04be323d2d0825b1",
    "student_club.sqlite": "eb89bcfe97eefa386a27904ec5aa15159811a7eac894ec659a36e48fa9f76b77",
    "toxicology.sqlite": "35ef27ae6bdfda530e125ed369666ac0abb8bc8c0bcc0ad09407f547ecb61a93",
    "thrombosis_prediction.sqlite": "87583183c3dc472fba04de702965560a9d7c0a548836613f242317e0eeb83f00",
    "california_schools.sqlite": "c0903eec662e63068fd1d14403d3d6c1d473287fc10c4356333ea58f878db983",
    "formula_1.sqlite": "79770caf966707e35516fa566e24b40ae515c74ec1ec4631235245645b87b24d",
    "debit_card_specializing.sqlite": "b3d149ad05746dbbe5116e229e17e18f09c39db43cf117d9ef3441753608b691",
    "financial.sqlite": "d15d89cdb068a202b6f2b99342af44dffc1d52545b39ceaf62efdc0ba570101e",
    "card_games.sqlite": "c98bdb57fe7474da798b407785544b9af0daaad5d61fd21e2a73309493bc1227",
    "codebase_community.sqlite": "92101be6d2a9f6adceea59d38f6d1c556087f9eea1432432a21268cb1348036d",
    "european_football_2.sqlite": "f72f5c9b990371417288a67b27a02e601ef904d45525c2c9f7931fb01001c536",
    "nl2bash_fs_1.json": "60f88e1aacc7ebba535093f9890c5c33203f4e5f32958e0e94fbe90ec4f01c82",
    "nl2bash_fs_2.json": "8f4ce24e535fab782fda607e37db2ae1d6c5f99993c638d1ac0a7e0b542f633e",
    "nl2bash_fs_3.json": "a2d4ec8bc7ad69a4e2fb3eb84033994cf65ee9cfb355e3e63099df67a339b2e1",
    "nl2bash_fs_4.json": "ce41b89450f87765a02a51df259ca0c1762e8249185c022adb089147e2c16200",
}
"""SHA-256 hashes of the official files, by name."""


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
        data_dir: The folder itself. Default: `$IAD_DATA/<environment>` if it exists, else the bundled data.

    Raises:
        DataNotFound: `data_dir` is not a folder, or the bundled data are missing.
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
    """Return the version of the data in a folder, by the content of its files."""
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


def is_official(path: Path) -> bool:
    """Whether a file is the official file of its name. False if the name is not known."""
    return OFFICIAL_SHA256.get(path.name) == _hash(path)


def _hash(path: Path) -> str:
    with path.open("rb") as file:  # official databases are up to 600 MB large
        return file_digest(file, "sha256").hexdigest()
