"""Finds the folders of official data."""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from iad_envs.errors import DataNotFound
from iad_envs.official.sources import DataSource, source_of

DATA_VARIABLE = "IAD_DATA"
"""Variable with the folder of data, in which each environment has a folder of its own."""
OFFICIAL = "official:"
"""Begins a `data_dir` that is a name of official data and no path."""
FOLDER_VARIABLE = "IAD_OFFICIAL"
"""Variable with the folder of official data, in which each name has a folder of its own."""


def official_root(variables: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of all official data: `$IAD_OFFICIAL`, else one in the user's data folder.

    Raises:
        ValueError: It lies in `$IAD_DATA`, whose folders are the defaults of the environments.
    """
    from platformdirs import user_data_path

    named = variables.get(FOLDER_VARIABLE)
    root = Path(named).expanduser() if named else user_data_path("iad", appauthor=False) / "official"
    defaults = variables.get(DATA_VARIABLE)
    if defaults and root.resolve().is_relative_to(Path(defaults).resolve()):
        raise ValueError(
            f"expected a folder of official data outside of {DATA_VARIABLE}, whose folders environments take unasked, "
            f"got {root}; set {FOLDER_VARIABLE} to another folder"
        )
    return root


def find_official(source: DataSource, root: Path | None = None) -> Path | None:
    """Return the folder of official data that are here, or None.

    Args:
        source: Their entry of the table.
        root: Folder of all official data; by default `official_root()`.
    """
    folder = (official_root() if root is None else root) / source.name
    if folder.is_dir():
        return folder
    spec = find_spec(source.package) if source.package else None
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def resolve_official(given: str, environment: str) -> Path:
    """Return the folder that `official:NAME` means.

    Args:
        given: What was given as `data_dir`.
        environment: Short name of the environment that will read it.

    Raises:
        UnknownTask: There is no such name.
        ValueError: The data are of another environment.
        DataNotFound: They are not here. The message has the command that fetches them.
    """
    source = source_of(given.removeprefix(OFFICIAL))
    if source.environment != environment:
        whose = f"those of {source.environment}" if source.environment else "which no environment reads as they are"
        raise ValueError(f"expected official data of {environment}, got {source.name}, {whose}; see: iad data list")
    folder = find_official(source)
    if folder is None:
        raise DataNotFound(
            f"expected the official data {source.name} in {official_root() / source.name}, found none; "
            f"run: iad data fetch {source.name}"
        )
    return folder
