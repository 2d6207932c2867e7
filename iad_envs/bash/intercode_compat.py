"""Reproduces the original environment's containers: quoting, `git status`, and the losses of its first reset.

The original keeps the whole file system in a git repository at `/` and resets it with `git reset --hard; git clean
-fd`. It puts every command between double quotes, and a client splits the line at blanks. All this can be computed from
the command and from the sandbox's list of changes, so git is not needed. A differential test compares `git_status`
with the real command.
"""

import os
import shlex
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from iad_envs.bash.sandbox import Change

MALFORMED = "Malformed command"
"""Output of the original for a command that can't be run, or whose output isn't UTF-8."""
TIMED_OUT = "Command timed out"

IGNORED_NAMES = frozenset(
    [
        *("bin", "boot", "dev", "etc", "home", "lib", "media", "opt", "proc", "root", "run", "sbin", "srv", "sys"),
        *("usr", "var", ".dockerenv", ".git"),
    ]
)
"""Names that the original's repository ignores at any depth, because its patterns have no slash."""

CLEANING = (
    # Folders are visited after their content, so that a folder that becomes empty is removed as well.
    "chmod u+rwx /tmp /mnt; rm -rf /tmp /mnt; find / -mindepth 1 "
    f"\\( {' -o '.join(f'-name {name}' for name in sorted(IGNORED_NAMES))} \\) -prune -o -type d -print0 "
    "| sort -rz | xargs -0r rmdir --ignore-fail-on-non-empty 2>/dev/null; true"
)
"""Commands with the effect of `git clean -fd` on a start state: `/tmp`, `/mnt` and all empty folders are removed."""


class MalformedCommand(ValueError):
    """The quotes of a command don't balance after it is put between double quotes."""


def arrives_as(command: str) -> tuple[str, ...]:
    """Return the argument list that the container receives. Inner double quotes and some backslashes are lost.

    Raises:
        MalformedCommand: The command can't be split.
    """
    try:
        return tuple(shlex.split(f'/bin/bash -c "{command.strip()}"'))
    except ValueError as error:
        raise MalformedCommand(
            f"expected quotes that still balance when the command is put between double quotes, as InterCode does, got "
            f"{command!r:.200} ({error}); use single quotes, or reward='strict'"
        ) from None


@dataclass(frozen=True, slots=True)
class GitIndex:
    """The content of git's index for a start state: every file and link that isn't ignored.

    Attributes:
        files: Tracked paths, without the first slash.
        folders: All folders that contain tracked paths, at any depth.
    """

    files: frozenset[str]
    folders: frozenset[str]

    @classmethod
    def of(cls, tree: Iterable[Change]) -> "GitIndex":
        """Return the index of a state, given all its entries."""
        files = frozenset(
            entry.path[1:] for entry in tree if _is_listed(entry.mode) and not _is_ignored(entry.path[1:])
        )
        return cls(files, frozenset(folder for file in files for folder in _parents(file)))


def git_status(index: GitIndex, changes: Iterable[Change]) -> str:
    """Return the output of `git status --short`, given all changes since the commit."""
    tracked: dict[str, str] = {}
    untracked: set[str] = set()
    for change in changes:
        path = change.path[1:]
        if path in index.files:
            if change.mode == 0 or stat.S_ISDIR(change.mode):
                tracked[path] = "D"
            elif stat.S_ISLNK(change.mode) != stat.S_ISLNK(change.was_mode):
                tracked[path] = "T"
            elif change.kind != "mode" or (change.mode ^ change.was_mode) & stat.S_IXUSR:  # git sees no other bit
                tracked[path] = "M"
        elif change.mode and _is_listed(change.mode) and not _is_ignored(path):
            # A folder without tracked files stands for all that is in it.
            above = next((folder for folder in _parents(path) if folder not in index.folders), None)
            untracked.add(path if above is None else f"{above}/")
    # If a folder replaces a tracked file, git only reports the deletion of the file.
    untracked = {path for path in untracked if path.rstrip("/") not in index.files}
    lines = [f" {tracked[path]} {_quoted(path)}" for path in sorted(tracked, key=os.fsencode)]
    lines += [f"?? {_quoted(path)}" for path in sorted(untracked, key=os.fsencode)]
    return "".join(f"{line}\n" for line in lines)


def _parents(path: str) -> Iterator[str]:
    """Yield the parent folders of a path, topmost first."""
    end = path.find("/")
    while end >= 0:
        yield path[:end]
        end = path.find("/", end + 1)


def _is_listed(mode: int) -> bool:
    """Whether git lists files of this type."""
    return stat.S_ISREG(mode) or stat.S_ISLNK(mode)


def _is_ignored(path: str) -> bool:
    return not IGNORED_NAMES.isdisjoint(path.split("/"))


def _quoted(path: str) -> str:
    """Return a path as git prints it: quoted and escaped if it contains a blank or another special character."""
    raw = os.fsencode(path)
    escapes = {byte: f"\\{byte:03o}" for byte in {*raw} if not 0x20 <= byte < 0x7F}
    escapes |= {7: "\\a", 8: "\\b", 9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    if b" " in raw or any(byte in escapes for byte in raw):
        return '"' + "".join(escapes.get(byte, chr(byte)) for byte in raw) + '"'
    return path
