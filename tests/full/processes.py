"""Processes of their own, and examples of the documentation as users run them."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def finished(
    words: Sequence[object],
    *,
    cwd: Path | str = ROOT,
    path: Sequence[Path] = (),
    timeout_s: float = 300,
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. It finds the modules of this checkout, and those in the folders of `path`."""
    found = os.pathsep.join(map(str, (ROOT, *path)))
    return subprocess.run(
        list(map(str, words)),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": found, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout_s,
    )


def told(words: Sequence[object], **options: Any) -> str:
    """What a command prints, which must succeed."""
    done = finished(words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def python(*words: object, **options: Any) -> str:
    """What Python prints, which must succeed."""
    return told((sys.executable, *words), **options)


def printed(code: str, **names: Any) -> list[str]:
    """What an example of a page prints, line by line; `names` gets what it defines."""
    lines: list[str] = []
    exec(compile(code, "page", "exec"), {"print": lambda *texts: lines.append(" ".join(map(str, texts))), **names})
    return lines


def wait_for(is_so: Callable[[], bool], seconds: float = 20) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def examples(page: str, has: str = "", language: str = "python") -> list[str]:
    """The code blocks of a page of docs/bridges that have a text."""
    text = (ROOT / "docs" / "bridges" / page).read_text(encoding="utf-8")
    bodies: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for body in bodies if has in body]
