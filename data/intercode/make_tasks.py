"""Write the bundled shell tasks and their start states; `--check` compares instead. The same bytes every time."""

import io
import json
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trees import FIRST_DAY, TREES, files_of

HERE = Path(__file__).parent
FOLDER_MODE = 0o755


def tasks_of(file_system: str) -> Iterator[dict[str, Any]]:
    """Yield a file system's tasks, easy and hard mixed as the families come."""
    families = tomllib.loads((HERE / "families.toml").read_text(encoding="utf-8"))
    instances = tomllib.loads((HERE / "instances.toml").read_text(encoding="utf-8"))[file_system]
    # Every file system begins with another way to say things.
    count = int(file_system[-1])
    for name, filled in instances.items():
        family = families[name]
        for position, values in enumerate(filled):
            says = family["says"][count % len(family["says"])]
            count += 1
            yield {
                "query": says.format(**values),
                "gold": family["gold"].format(**values),
                "difficulty": family["difficulty"],
                "split": "dev" if position and position == len(filled) - 1 else "test",
            }


def tar_of(file_system: str) -> bytes:
    """Return a start state as an uncompressed tar, whose bytes depend on no library's version."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        files = files_of(file_system)
        for folder in sorted({str(parent) for file in files for parent in Path(file.path).parents} - {"."}):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode, entry.mtime = tarfile.DIRTYPE, FOLDER_MODE, FIRST_DAY
            archive.addfile(entry)
        for file in files:
            content = file.content.encode()
            entry = tarfile.TarInfo(file.path)
            entry.size, entry.mode, entry.mtime = len(content), file.mode, file.mtime
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def outputs() -> Iterator[tuple[Path, bytes]]:
    """Yield every file with its content."""
    for file_system in TREES:
        rows = json.dumps(list(tasks_of(file_system)), indent=1, ensure_ascii=False) + "\n"
        yield HERE / f"tasks_{file_system}.json", rows.encode()
        yield HERE / f"{file_system}.tar", tar_of(file_system)


def main() -> int:
    """Write, or with `--check` return 1 where a file differs."""
    if "--check" in sys.argv[1:]:
        return int(any(path.read_bytes() != content for path, content in outputs()))
    for path, content in outputs():
        path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
