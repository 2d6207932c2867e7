"""Ways in which the files of a run get damaged, and which episodes each of them touches."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

LINES = ("answers.jsonl", "episodes.jsonl")
ODD = (b"[1]", b"null", b"7", b"{}", b'"text"', b'{"key": "x"}', b'{"episode": [], "kind": {}}')
REQUIRED = {"episode", "item", "question", "kind", "action", "key", "score", "observation", "info", "done", "candidate"}
"""Fields of a log's line without which it can't be read. Without another one it reads as one that never had it."""


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def a_file(folder: Path, random: Random) -> Path:
    """One of the files of lines, or a blob."""
    return random.choice([*(folder / name for name in LINES), random.choice(sorted((folder / "blobs").iterdir()))])


def zeroed(line: bytes, random: Random) -> bytes:
    start = random.randrange(len(line))
    end = random.randint(start + 1, len(line))
    return line[:start] + bytes(end - start) + line[end:]


LINE_CHANGES: dict[str, Callable[[bytes, Random], bytes]] = {
    "cut": lambda line, random: line[: random.randrange(len(line))] + random.choice([b"", b"\n"]),
    "zeroed": zeroed,
    "turned": lambda line, random: line[(place := random.randrange(1, len(line))) :] + line[:place],
    "in latin 1": lambda line, random: line[: (at := random.randrange(len(line)))] + b"d\xe9j\xe0" + line[at:],
    "nested": lambda line, random: b"[" * random.choice([500, 5000, 200_000]) + b"\n",
    "of another kind": lambda line, random: random.choice(ODD) + b"\n",
}
"""What happens to one line of a file, or to a whole blob."""


def in_a_line(change: Callable[[bytes, Random], bytes]) -> Callable[[Path, Random], None]:
    def damage(folder: Path, random: Random) -> None:
        path = a_file(folder, random)
        lines = lines_of(path)
        place = random.randrange(len(lines))
        lines[place] = change(lines[place], random)
        path.write_bytes(b"".join(lines))

    return damage


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
    names = record.keys() & REQUIRED if path.name == "answers.jsonl" else {"key", "env", "task_id", "seed"}
    del record[random.choice(sorted(names - {"key"} if record.get("kind") == "outcome" else names))]
    lines[place] = f"{json.dumps(record)}\n".encode()
    path.write_bytes(b"".join(lines))


def lost(folder: Path, random: Random) -> None:
    """A blob is missing or empty."""
    blob = random.choice(sorted((folder / "blobs").iterdir()))
    blob.unlink()
    if random.random() < 0.5:
        blob.touch()


DAMAGES: dict[str, Callable[[Path, Random], None]] = {
    **{name: in_a_line(change) for name, change in LINE_CHANGES.items()},
    **{damage.__name__: damage for damage in (shortened, swapped, duplicated, lacking, lost)},
}


def touched(whole: Path, damaged: Path) -> set[str]:
    """The keys of the episodes of which a line or a blob is not as it was."""
    keys = set()
    for name, part in zip(LINES, ("episode", "key"), strict=True):
        missing = Counter(lines_of(whole / name)) - Counter(lines_of(damaged / name))
        keys |= {json.loads(line)[part] for line in missing}
    here = {blob.name: blob.read_bytes() for blob in (damaged / "blobs").iterdir()}
    changed = [blob.stem.encode() for blob in (whole / "blobs").iterdir() if here.get(blob.name) != blob.read_bytes()]
    lines = [line for line in lines_of(whole / "answers.jsonl") if any(name in line for name in changed)]
    return keys | {json.loads(line)["episode"] for line in lines}
