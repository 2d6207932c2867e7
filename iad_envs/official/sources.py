"""Reads `iad_envs/sources.toml`, the table of official data."""

import tomllib
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from iad_envs.errors import UnknownTask

TABLE = Path(__file__).parents[1] / "sources.toml"


class SourceFile(NamedTuple):
    """A file as it is downloaded.

    Attributes:
        name: Name of the file.
        urls: Addresses, mirrors in order.
        size: Number of bytes, 0 if not known.
        sha256: Hash as hex digits, "" if not known.
        save_as: Its name in the data folder.
        take: Of an archive, the files and folders ("name/") that are taken, wherever in it they are. Empty for a file
            that is no archive.
        nested: Names of archives inside it, of which the same is taken.
    """

    name: str
    urls: tuple[str, ...]
    size: int
    sha256: str
    save_as: str
    take: tuple[str, ...]
    nested: tuple[str, ...]

    @property
    def is_archive(self) -> bool:
        """Whether something is taken out of it."""
        return bool(self.take)

    @property
    def known_names(self) -> tuple[str, ...]:
        """The names under which somebody may have saved it."""
        return tuple(dict.fromkeys((self.name, self.save_as)))


class DataSource(NamedTuple):
    """An entry of the table.

    Attributes:
        name: Its name, as in `official:NAME`.
        title: What it is.
        environment: Short name of the environment that reads it, as in `data_folder`. "" if none does.
        read_by: Id of that environment, or "".
        licence: The licence, in words.
        citation: Whom to cite.
        size: The size, in words.
        read: The day on which the sources were read.
        files: What is downloaded.
        layout: What the data folder has at the end: of each row at least one pattern matches.
        also: Patterns of further files of that folder.
        max_unpacked: Largest number of bytes that archives may unpack to.
        commands: How to get it, if nothing is downloaded.
        package: Python package that has it once it is installed, or "".
        use: A command that uses it, or "".
        note: What else to know, or "".
    """

    name: str
    title: str
    environment: str
    read_by: str
    licence: str
    citation: str
    size: str
    read: date
    files: tuple[SourceFile, ...]
    layout: tuple[tuple[str, ...], ...]
    also: tuple[str, ...] = ()
    max_unpacked: int = 0
    commands: tuple[str, ...] = ()
    package: str = ""
    use: str = ""
    note: str = ""

    @property
    def patterns(self) -> tuple[str, ...]:
        """All patterns of files of the data folder."""
        return (*(pattern for row in self.layout for pattern in row), *self.also)


@lru_cache(maxsize=4)
def read_sources(table: Path = TABLE) -> Mapping[str, DataSource]:
    """Return the entries of a table, by name."""
    with table.open("rb") as file:
        return {name: _source(name, entry) for name, entry in tomllib.load(file).items()}


def source_of(name: str, sources: Mapping[str, DataSource] | None = None) -> DataSource:
    """Return the entry of a name.

    Raises:
        UnknownTask: There is no such name. The message offers the nearest ones.
    """
    known = read_sources() if sources is None else sources
    try:
        return known[name]
    except KeyError:
        raise UnknownTask("name of official data", name, known) from None


def published_data(env_id: str, version: Mapping[str, str], data_dir: str | None) -> str:
    """Return the titles and licences of official data that a run may have used; "" if its data are not official.

    Args:
        env_id: Id of its environment.
        version: Name and digest of its data, as a run records them.
        data_dir: Where they were taken from: `official:NAME`, a folder, or None.
    """
    prefix, _, name = (data_dir or "").partition(":")
    known = read_sources()
    if prefix == "official" and name in known:
        found = [known[name]]
    else:  # the folder does not say which
        found = [one for one in known.values() if one.read_by == env_id and version.get("name") == "official"]
    return " or ".join(f"{one.title}: {one.licence}" for one in found)


def _source(name: str, entry: Mapping[str, Any]) -> DataSource:
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    given["layout"] = tuple(map(tuple, entry["layout"]))
    given["files"] = tuple(
        SourceFile(
            name=file["name"],
            urls=tuple(file["urls"]),
            size=file["bytes"],
            sha256=file["sha256"],
            save_as=file.get("save_as", file["name"]),
            take=tuple(file.get("take", ())),
            nested=tuple(file.get("nested", ())),
        )
        for file in entry.get("files", ())
    )
    return DataSource(name=name, **given)
