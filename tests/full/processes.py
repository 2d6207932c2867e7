"""Processes of their own, examples of the documentation as users run them, and the marks of tests of packages."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def needing(*packages: str, how: str) -> list[Any]:
    """The marks of slow tests of packages: skipped where one is missing, and deaf to what those warn of."""
    missing = ", ".join(name for name in packages if find_spec(name) is None)
    absent = pytest.mark.skipif(bool(missing), reason=f"{missing} not installed: {how}")
    return [pytest.mark.slow, pytest.mark.filterwarnings("ignore"), absent]


def finished(words: Any, *, cwd: Any = ROOT, path: Any = (), timeout_s: float = 300, **variables: str) -> Any:
    """Run a command to its end. It finds the modules of this checkout, and those in the folders of `path`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, *path))), **variables}
    options: dict[str, Any] = {"cwd": cwd, "env": environment, "timeout": timeout_s, "stdin": subprocess.DEVNULL}
    return subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, **options)


def told(words: Any, **options: Any) -> str:
    """What a command prints, which must succeed."""
    done = finished(words, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def python(*words: object, **options: Any) -> str:
    """What Python prints, which must succeed."""
    return told((sys.executable, *words), **options)


def printed(code: str, **names: Any) -> list[str]:
    """What an example of a page prints, line by line; `names` gets what it defines."""
    lines: list[str] = []
    exec(compile(code, "page", "exec"), {"print": lambda *texts: lines.append(" ".join(map(str, texts))), **names})
    return lines


def examples(page: str, has: str = "", language: str = "python") -> list[str]:
    """The code blocks of a page of docs/bridges that have a text."""
    text = (ROOT / "docs" / "bridges" / page).read_text(encoding="utf-8")
    bodies: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [body for body in bodies if has in body]
