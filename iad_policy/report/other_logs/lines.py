"""Reads files of JSON lines that others wrote, and says of each line that is none where it is."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def objects(path: Path, problems: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the JSON objects of a file with the numbers of their lines. Empty lines are passed over."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                content = json.loads(line)
            except (ValueError, RecursionError) as error:
                problems.append(f"{path}, line {number}: expected a JSON object, got {error!s:.100}")
                continue
            if isinstance(content, dict):
                yield number, content
            else:
                problems.append(f"{path}, line {number}: expected a JSON object, got {type(content).__name__}")


def numbered() -> Callable[[str], str]:
    """Return a function that counts how often it was given each text: "1", "2" ..."""
    counts: dict[str, int] = {}

    def number(text: str) -> str:
        counts[text] = counts.get(text, 0) + 1
        return str(counts[text])

    return number
