"""Takes files out of ZIP archives that nobody here has seen, and refuses what could do harm."""

import errno
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory

from iad_envs.official.errors import ArchiveError, FetchError

Free = Callable[[Path], int]
"""Function that returns the number of free bytes where a path is."""


def free_bytes(path: Path) -> int:
    """Return the number of free bytes on the disk of a folder."""
    return shutil.disk_usage(path).free


def require_space(folder: Path, needed: int, free: Free = free_bytes) -> None:
    """Refuse to begin what does not fit on the disk.

    Raises:
        FetchError: There are fewer free bytes than needed.
    """
    there = free(folder)
    if there < needed:
        raise FetchError(
            f"expected {needed / 1e9:.1f} GB of free disk for {folder}, got {there / 1e9:.1f} GB; free some space, or "
            "name a folder on another disk with IAD_OFFICIAL"
        )


class Unpacker:
    """Unpacks archives into one folder, up to a number of bytes together.

    Args:
        folder: The folder.
        take: Files (patterns of their names, put into the folder itself) and folders ("name/", which keep what is below
            them) that are taken, wherever in an archive they are.
        nested: Names of archives inside, which are unpacked in the same way.
        limit: Largest number of bytes.
        free: Function that returns the number of free bytes on a folder's disk.
    """

    def __init__(
        self, folder: Path, take: Sequence[str], *, nested: Sequence[str] = (), limit: int, free: Free = free_bytes
    ) -> None:
        self._folder = folder
        self._take = tuple(take)
        self._nested = frozenset(nested)
        self._limit = limit
        self._left = limit
        self._free = free

    def unpack(self, archive: Path) -> None:
        """Unpack an archive.

        Raises:
            ArchiveError: It is no ZIP archive or is damaged, a member would lie outside of the folder or is a link, two
                members have one place, or there is too much to unpack.
            FetchError: The disk has no room for it.
        """
        damage = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, UnicodeError, ValueError)
        try:
            with zipfile.ZipFile(archive) as opened:
                wanted = list(self._wanted(opened, archive.name))
                if sum(member.file_size for member, _ in wanted) > self._left:
                    raise self._too_much(archive.name)
                require_space(self._folder, sum(member.file_size for member, _ in wanted), self._free)
                for member, place in wanted:
                    if place is None:
                        with TemporaryDirectory(dir=self._folder.parent) as beside:
                            inner = Path(beside) / PurePosixPath(member.filename).name
                            self._copy(opened, member, inner)
                            self.unpack(inner)
                        continue
                    target = self._folder / place
                    if target.exists():
                        raise ArchiveError(f"expected one member of {archive.name} for {place}, got two")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    self._copy(opened, member, target)
        except (*damage, NotImplementedError, RuntimeError) as error:  # the last two: another compression; a password
            raise _damaged(archive, error) from error
        except OSError as error:
            if error.errno == errno.EINVAL:  # a member that would begin before the file does
                raise _damaged(archive, error) from error
            raise

    def _wanted(self, opened: zipfile.ZipFile, name: str) -> Iterator[tuple[zipfile.ZipInfo, Path | None]]:
        """Yield the members that are taken, with their places; None for an archive inside.

        An archive is refused for one harmful member, taken or not: nobody makes such an archive by mistake.
        """
        members = opened.infolist()
        if len(members) > 200_000:
            raise ArchiveError(f"expected at most 200,000 members in {name}, got {len(members):,}")
        for member in members:
            path, given = PurePosixPath(member.filename), repr(member.filename)
            if (
                path.is_absolute()
                or PureWindowsPath(member.filename).anchor
                or ".." in path.parts
                or "\\" in member.filename
            ):
                raise ArchiveError(f"expected members of {name} inside of it, got {given}; nothing was unpacked")
            if stat.S_ISLNK(member.external_attr >> 16):
                raise ArchiveError(f"expected files in {name}, got the link {given}; nothing was unpacked")
            litter = {"__MACOSX", ".DS_Store", "Thumbs.db"}  # that systems leave in archives
            if member.is_dir() or not path.parts or path.name.startswith("._") or litter & set(path.parts):
                continue
            if path.name in self._nested:
                yield member, None
            elif place := self._place(path.parts):
                yield member, place

    def _place(self, parts: tuple[str, ...]) -> Path | None:
        for one in self._take:
            if one.endswith("/"):
                if one[:-1] in parts[:-1]:
                    return Path(*parts[parts.index(one[:-1]) :])
            elif fnmatchcase(parts[-1], one):
                return Path(parts[-1])
        return None

    def _copy(self, opened: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path) -> None:
        """Copy a member. It is counted as it is read, because an archive may say anything about sizes."""
        with opened.open(member) as source, target.open("xb") as file:
            while chunk := source.read(1 << 20):
                self._left -= len(chunk)
                if self._left < 0:
                    raise self._too_much(member.filename)
                file.write(chunk)

    def _too_much(self, name: str) -> ArchiveError:
        return ArchiveError(f"expected at most {self._limit / 1e9:.1f} GB to unpack, got more in {name}")


def _damaged(archive: Path, error: Exception) -> ArchiveError:
    return ArchiveError(f"expected the ZIP archive {archive.name} to be whole, got: {error}")
