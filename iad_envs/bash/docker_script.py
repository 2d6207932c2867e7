"""Shell scripts that run inside a container, and parsers for their output."""

import os
import stat
from hashlib import blake2b
from typing import NamedTuple

from iad_envs.bash.sandbox import Change

STDIN = "/run/iad/stdin"
"""File in the container that holds a command's standard input."""

RUN = (
    "bash",
    "-c",
    r"""
cwd=$1 time=$3 kept=$4 shell=$5 io=/run/iad
oldpwd=$2
shift 5
until cd -- "$cwd" 2>/dev/null; do cwd=$(dirname -- "$cwd"); done
export PWD=$cwd OLDPWD=$oldpwd
[ "$oldpwd" ] || unset OLDPWD
[ -e $io/stdin ] || : >$io/stdin
: >$io/report
printf '%s\n' 'trap '\''printf "%s\0%s\0" "$PWD" "$OLDPWD" >/run/iad/report'\'' EXIT' 'unset BASH_ENV' >$io/setup
[ "$shell" ] && export BASH_ENV=$io/setup
timeout -s KILL "$time" "$@" <$io/stdin >$io/output 2>&1
code=$?
unset BASH_ENV
rm -f $io/stdin
size=$(stat -c %s $io/output)
set -- /proc/[0-9]*
printf '%s %s %s\0' "$code" "$size" $(($# - 3))
if [ -s $io/report ]; then cat $io/report; else printf '\0\0'; fi
if [ "$size" -le $((2 * kept)) ]; then cat $io/output; else head -c "$kept" $io/output; tail -c "$kept" $io/output; fi
rm -f $io/output
""",
    "bash",
)
"""Command line that runs a shell command inside the container.

Append: folder, previous folder, seconds, bytes to keep of head and tail each, "1" for a shell or "", and the
command's words.
"""

TREE = (
    "bash",
    "-c",
    r"""
skip=(-path /proc -o -path /dev -o -path /sys -o -path /usr -o -path /run/iad)
find "$1" \( "${skip[@]}" \) -prune -o -type f -print0 | xargs -0 -r b2sum -z -l 256 --
printf -- '-\0'
find "$1" \( "${skip[@]}" \) -prune -o ! -path / -printf '%p\0%y\0%m\0%s\0%l\0'
""",
    "bash",
)
"""Command line that lists a tree. Append the path to list."""


class Report(NamedTuple):
    """The parsed report of a command."""

    exit_code: int
    size: int
    background: int
    cwd: str
    oldpwd: str
    output: bytes


def parse_report(printed: bytes) -> Report:
    """Parse the output of `RUN`."""
    numbers, cwd, oldpwd, output = printed.split(b"\0", 3)
    code, size, background = map(int, numbers.split())
    return Report(code, size, max(0, background), os.fsdecode(cwd), os.fsdecode(oldpwd), output)


def parse_tree(printed: bytes) -> tuple[Change, ...]:
    """Parse the output of `TREE`."""
    fields = printed.split(b"\0")
    end = fields.index(b"-")
    types = {"f": stat.S_IFREG, "d": stat.S_IFDIR, "l": stat.S_IFLNK, "p": stat.S_IFIFO, "s": stat.S_IFSOCK,
             "c": stat.S_IFCHR, "b": stat.S_IFBLK}  # fmt: skip
    digests = {path: digest.decode() for digest, _, path in (line.partition(b"  ") for line in fields[:end])}
    rows = []
    listing = iter(fields[end + 1 :])
    for path, kind, mode, size, link in zip(listing, listing, listing, listing, listing, strict=False):
        digest = digests.get(path, "") if kind == b"f" else ""
        if kind == b"l":
            digest = blake2b(link, digest_size=32).hexdigest()
        number = types[kind.decode()] | int(mode, 8)
        rows.append(Change(os.fsdecode(path), "added", number, int(size) if kind == b"f" else 0, digest, 0))
    return tuple(sorted(rows))
