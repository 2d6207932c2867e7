"""Ways in which the files of a run get damaged, and which episodes each of them touches."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

LINES = ("answers.jsonl", "episodes.jsonl")
REQUIRED = {"episode", "item", "question", "kind", "action", "key", "score", "observation", "info", "done", "candidate"}
"""Fields of a log's line without which it can't be read. Without another one it reads as one that never had it."""


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def a_file(folder: Path, random: Random) -> Path:
    """One of the files of lines, or a blob."""
    blobs = sorted((folder / "blobs").iterdir())
    return random.choice([*(folder / name for name in LINES), random.choice(blobs)])


def in_a_line(change: Callable[[bytes, Random], bytes]) -> Callable[[Path, Random], None]:
    """Damage one line of a file, or a whole blob."""

    def damage(folder: Path, random: Random) -> None:
        path = a_file(folder, random)
        lines = lines_of(path)
        place = random.randrange(len(lines))
        lines[place] = change(lines[place], random)
        path.write_bytes(b"".join(lines))

    return damage


def cut(line: bytes, random: Random) -> bytes:
    """The line stops somewhere; a line feed may follow."""
    return line[: random.randrange(len(line))] + random.choice([b"", b"\n"])


def zeroed(line: bytes, random: Random) -> bytes:
    start = random.randrange(len(line))
    end = random.randint(start + 1, len(line))
    return line[:start] + bytes(end - start) + line[end:]


def turned(line: bytes, random: Random) -> bytes:
    """Its two parts change places."""
    place = random.randrange(1, len(line))
    return line[place:] + line[:place]


def in_latin_1(line: bytes, random: Random) -> bytes:
    place = random.randrange(len(line))
    return line[:place] + "déjà".encode("latin-1") + line[place:]


def nested(line: bytes, random: Random) -> bytes:
    return b"[" * random.choice([500, 5000, 200_000]) + b"\n"


def of_another_kind(line: bytes, random: Random) -> bytes:
    """JSON, but not of such a line."""
    return (
        random.choice([b"[1]", b"null", b"7", b"{}", b'"text"', b'{"key": "x"}', b'{"episode": [], "kind": {}}'])
        + b"\n"
    )


def shortened(folder: Path, random: Random) -> None:
    """A file ends somewhere."""
    path = a_file(folder, random)
    path.write_bytes(path.read_bytes()[: random.randrange(path.stat().st_size)])


def swapped(folder: Path, random: Random) -> None:
    """Two lines or two blobs change places."""
    path = a_file(folder, random)
    if path.name not in LINES:
        other = random.choice(sorted(path.parent.iterdir()))
        one, two = path.read_bytes(), other.read_bytes()
        path.write_bytes(two)
        other.write_bytes(one)
        return
    lines = lines_of(path)
    one, two = random.randrange(len(lines)), random.randrange(len(lines))
    lines[one], lines[two] = lines[two], lines[one]
    path.write_bytes(b"".join(lines))


def duplicated(folder: Path, random: Random) -> None:
    """A line comes twice, or a blob lies under the name of another one, too."""
    path = a_file(folder, random)
    if path.name not in LINES:
        random.choice(sorted(path.parent.iterdir())).write_bytes(path.read_bytes())
        return
    lines = lines_of(path)
    lines.insert(random.randint(0, len(lines)), random.choice(lines))
    path.write_bytes(b"".join(lines))


def lacking(folder: Path, random: Random) -> None:
    """A line lacks a field."""
    path = folder / random.choice(LINES)
    lines = lines_of(path)
    place = random.randrange(len(lines))
    record = json.loads(lines[place])
    names = sorted(record.keys() & REQUIRED if path.name == "answers.jsonl" else {"key", "env", "task_id", "seed"})
    if record.get("kind") == "outcome":
        names.remove("key")
    del record[random.choice(names)]
    lines[place] = f"{json.dumps(record)}\n".encode()
    path.write_bytes(b"".join(lines))


def lost(folder: Path, random: Random) -> None:
    """A blob is missing or empty."""
    blob = random.choice(sorted((folder / "blobs").iterdir()))
    blob.unlink()
    if random.random() < 0.5:
        blob.touch()


DAMAGES: dict[str, Callable[[Path, Random], None]] = {
    **{change.__name__: in_a_line(change) for change in (cut, zeroed, turned, in_latin_1, nested, of_another_kind)},
    **{damage.__name__: damage for damage in (shortened, swapped, duplicated, lacking, lost)},
}


def touched(whole: Path, damaged: Path) -> set[str]:
    """The keys of the episodes of which a line or a blob is not as it was."""
    keys = set()
    for name, part in zip(LINES, ("episode", "key"), strict=True):
        missing = Counter(lines_of(whole / name)) - Counter(lines_of(damaged / name))
        keys |= {json.loads(line)[part] for line in missing}
    changed = [
        blob.stem.encode()
        for blob in (whole / "blobs").iterdir()
        if not (damaged / "blobs" / blob.name).exists()
        or (damaged / "blobs" / blob.name).read_bytes() != blob.read_bytes()
    ]
    for line in lines_of(whole / "answers.jsonl"):
        if any(name in line for name in changed):
            keys.add(json.loads(line)["episode"])
    return keys
