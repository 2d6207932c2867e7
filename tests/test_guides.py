"""Following docs/add-*.md word by word in a copy of the checkout leads where they say."""

import ast
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.iad_policy.models.local.smollm2 import smollm2

ROOT = Path(__file__).parent.parent
GUIDES = sorted((ROOT / "docs").glob("add-*.md"))
COPIED = ("iad_policy", "iad_envs", "tests")
LINKED = ("webshop_server", "data", "pyproject.toml")
IGNORED = shutil.ignore_patterns(".pytest_cache")
FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TIMEOUT_S = 110


class Reader:
    """Does what a guide says, in a folder; what it does not understand is not done, and then what follows fails."""

    def __init__(self, folder: Path, *, runs: bool) -> None:
        self.folder = folder
        self._runs = runs
        self.done: list[str] = []
        self._servers: list[subprocess.Popen[str]] = []
        self._inline: dict[str, Callable[..., None]] = {
            r"move `(\S+)` to `(\S+)`": self._move,
            r"remove `([^`]+)`\s+from `(\S+)`": self._replace,
        }
        self._with_block: dict[str, Callable[..., None]] = {
            r"Write `(\S+)`:$": self._write,
            r"replace\s+`([^`]+)` in\s+`(\S+)` by:$": self._replace,
            r"Add to `(\w+)` in\s+`(\S+)`:$": self._add_line,
            r"Add to `(\S+\.py)`:$": self._append,
        }

    def follow(self, text: str) -> None:
        """Do all of a guide, in order."""
        place = 0
        for fence in FENCED.finditer(text):
            said = text[place : fence.start()].strip()
            place = fence.end()
            for pattern, act in self._inline.items():
                for match in re.finditer(pattern, said):
                    act(*match.groups())
            language, block = fence.groups()
            if language == "sh":
                for line in block.splitlines():
                    words = shlex.split(line)
                    self._start(words[:-1]) if words[-1] == "&" else self._run(words)
                continue
            for pattern, act in self._with_block.items():
                if match := re.search(pattern, said):
                    act(*match.groups(), block)
                    break
            else:
                self._run(["python", "-c", block])

    def _write(self, path: str, block: str, done: str = "write {}") -> None:
        ast.parse(block if path.endswith(".py") else "")
        (self.folder / path).write_text(block, encoding="utf-8")
        self.done.append(done.format(path))

    def _move(self, old: str, new: str) -> None:
        shutil.move(self.folder / old, self.folder / new)
        self.done.append(f"move {old}")

    def _replace(self, line: str, path: str, block: str = "") -> None:
        text = (self.folder / path).read_text(encoding="utf-8")
        assert text.count(f"{line}\n") == 1, f"{line} in {path}"
        self._write(path, text.replace(f"{line}\n", block), "replace in {}")

    def _add_line(self, table: str, path: str, block: str) -> None:
        text = (self.folder / path).read_text(encoding="utf-8")
        (opening,) = re.finditer(rf"^{table}\b.*[{{\[(]\n", text, re.MULTILINE)
        self._write(path, text[: opening.end()] + block + text[opening.end() :], f"add to {table}")

    def _append(self, path: str, block: str) -> None:
        self._write(path, (self.folder / path).read_text(encoding="utf-8") + block, "add to {}")

    @property
    def _at_home(self) -> dict[str, Any]:
        """Options of a process: as if the copy were what is installed."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {"cwd": self.folder, "env": {**os.environ, "PATH": path, "PYTHONPATH": str(self.folder)}, "text": True}

    def _start(self, words: list[str]) -> None:
        """Start a server, which `close` ends."""
        self.done.append(" ".join(words[:3]))
        server = subprocess.Popen(words, stdout=subprocess.PIPE, **self._at_home)
        self._servers.append(server)
        assert server.stdout is not None
        assert any("Ctrl-C" in line for line in server.stdout)

    def close(self) -> None:
        """End the servers."""
        for server in self._servers:
            server.terminate()
            server.communicate(timeout=20)

    def _run(self, words: list[str]) -> None:
        self.done.append(" ".join(words[:3]))
        if not self._runs:
            return
        told = {"input": "leave[now]\n", "capture_output": True, "timeout": TIMEOUT_S}
        done = subprocess.run(words, check=False, **told, **self._at_home)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.stem)
@pytest.mark.parametrize("runs", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["written", "run"])
@pytest.mark.timeout(300)  # a guide's commands take half a minute of CPU, beside the other tests
def test_following_a_guide_word_by_word_leads_where_it_says(guide: Path, tmp_path: Path, runs: bool) -> None:
    """In `make test` the files are only written, in a copy of what a guide may change, beside links to the rest."""
    for name in COPIED:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=IGNORED)
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    text = guide.read_text(encoding="utf-8")
    reader = Reader(tmp_path, runs=runs)
    reader.follow(text)
    assert reader.done[0].startswith("write")
    assert sum(step.startswith("move") for step in reader.done) == 1
    assert reader.done[-1].startswith("python -m pytest")
    changed = [step for step in reader.done if not step.startswith(("write", "move", "python", "iad"))]
    assert any(step.startswith("add to") for step in changed)
    if guide.stem == "add-an-environment":  # less than 60 lines, and one line elsewhere
        blocks = FENCED.findall(text)
        code = next(block for language, block in blocks if language == "python")
        assert code.startswith('"""')
        assert len(code.splitlines()) < 60
        assert changed == ["replace in iad_envs/lamp.py", "add to ENTRY_POINTS"]
        assert all(block.count("\n") == 1 for language, block in blocks if language == "text")


@pytest.mark.slow
@pytest.mark.alone
def test_an_agent_of_ones_own_is_compared_word_by_word_with_a_model_that_is_served(tmp_path: Path) -> None:
    """The pilot takes two tasks: sixty would take this model a quarter of an hour."""
    smollm2()  # skips where it is not
    text = (ROOT / "docs/compare-my-agent.md").read_text(encoding="utf-8")
    assert text.count("--tasks 60") == 1
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = str(found.getsockname()[1])
    reader = Reader(tmp_path, runs=True)
    try:
        reader.follow(text.replace("--tasks 60", "--tasks 2").replace("8099", port))
    finally:
        reader.close()
    assert reader.done[:2] == ["iad serve --model", "write my_agent.py"]
    for name in ("first", "pilot"):
        summary = json.loads((tmp_path / "runs" / name / "summary.json").read_text())
        assert summary["is_complete"]
        assert summary["alarms"] == []
        assert all(one["tokens"] > 0 for one in summary["strategies"].values())
