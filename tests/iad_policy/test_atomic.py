"""Files of a run are written whole or not at all, and what can't be written says so; where the user's cache is."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from iad_policy.errors import StorageError
from iad_policy.run.components import CACHE_VARIABLE, cache_path
from iad_policy.types.atomic import write_atomically


def write_half(path: Path, error: BaseException) -> None:
    with write_atomically(path) as part:
        part.write_text("half")
        raise error


@pytest.mark.parametrize("is_synced", [False, True])
def test_a_file_is_replaced_when_the_block_ends_and_only_then(is_synced: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path, KeyboardInterrupt())
    with write_atomically(path, is_synced=is_synced):
        pass
    with write_atomically(path, is_synced=is_synced) as part:
        part.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_what_can_not_be_written_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing" / "a.json", tmp_path / "file" / "a.json"):
        said = f"expected to write {path}, got: (No such file|Not a directory)"
        with pytest.raises(StorageError, match=said), write_atomically(path) as part:
            part.write_text("new")
    with pytest.raises(StorageError, match="No space left on device; earlier results are kept"):
        write_half(tmp_path / "full", OSError(28, "No space left on device"))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_several_threads_may_write_one_file(tmp_path: Path) -> None:
    path, texts = tmp_path / "a.txt", [letter * 200_000 for letter in "abcd"]

    def write(text: str) -> str:
        with write_atomically(path) as part:
            part.write_text(text)
        return path.read_text()

    with ThreadPoolExecutor(len(texts)) as threads:
        assert set(threads.map(write, texts * 20)) <= set(texts)
    assert list(tmp_path.iterdir()) == [path]


def test_the_cache_can_be_named_and_is_else_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, folder in (("HOME", ""), ("XDG_CACHE_HOME", "xdg"), (CACHE_VARIABLE, "mine.sqlite")):
        monkeypatch.setenv(name, str(tmp_path / folder))
    assert cache_path() == tmp_path / "mine.sqlite"
    monkeypatch.delenv(CACHE_VARIABLE)
    assert cache_path() == tmp_path / "xdg" / "iad" / "completions.sqlite"
    monkeypatch.delenv("XDG_CACHE_HOME")
    if sys.platform == "linux":
        assert cache_path() == tmp_path / ".cache" / "iad" / "completions.sqlite"
