"""Texts and figures that tests hold to files in `snapshots/`.

`IAD_WRITE_SNAPSHOTS=1 pytest FILE` writes them anew: look at the difference.
"""

import difflib
import json
import os
import re
from io import StringIO
from pathlib import Path
from typing import Any

from rich.console import Console

FOLDER = Path(__file__).parent / "snapshots"
WRITES = bool(os.environ.get("IAD_WRITE_SNAPSHOTS"))


def printed(shown: Any, width: int = 100) -> str:
    """What a terminal of a width shows."""
    console = Console(width=width, file=StringIO(), record=True)
    console.print(shown)
    return console.export_text()


def require_snapshot(name: str, shown: Any) -> None:
    """Hold a text, or a value as JSON, to its file, but for the spaces at the ends of lines and the last digits."""
    text = shown if isinstance(shown, str) else json.dumps(rounded(shown), indent=1, ensure_ascii=False)
    text = re.sub(r"\d+\.\d{7,}", lambda number: f"{float(number[0]):.6g}", text)
    text = "\n".join(line.rstrip() for line in text.rstrip().split("\n")) + "\n"
    if WRITES:
        (FOLDER / name).write_text(text, encoding="utf-8")
    known = (FOLDER / name).read_text(encoding="utf-8")
    changed = difflib.unified_diff(known.splitlines(), text.splitlines(), name, "now", n=1, lineterm="")
    assert text == known, "\n".join(changed)


def rounded(value: Any, n_digits: int = 6) -> Any:
    """A value as JSON has it, its numbers with so many digits after the point, without what no two runs share."""
    if isinstance(value, float):
        return round(value, n_digits)
    if isinstance(value, dict):
        own = {str(name): one for name, one in value.items() if name not in ("seconds", "wall_s", "iad_version")}
        return {name: rounded(one, n_digits) for name, one in own.items()}
    return [rounded(one, n_digits) for one in value] if isinstance(value, list | tuple) else value
